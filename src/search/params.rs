//! The parameters of the search, each declared once: default, range and meaning.

/// The declaration of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParamInfo {
    /// The name.
    pub name: &'static str,
    /// The default value.
    pub default: f32,
    /// The least value.
    pub min: f32,
    /// The greatest value.
    pub max: f32,
    /// The meaning.
    pub help: &'static str,
}

/// Why a parameter cannot be set.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ParamError {
    /// There is no parameter of this name.
    #[error("unknown search parameter \"{0}\"")]
    Unknown(String),
    /// The value is outside the range of the parameter.
    #[error("{name} must be in [{min}, {max}], got {value}")]
    OutOfRange {
        /// The name of the parameter.
        name: &'static str,
        /// The least value.
        min: f32,
        /// The greatest value.
        max: f32,
        /// The value given.
        value: f32,
    },
}

macro_rules! params {
    ($($name:ident = $default:literal in $min:literal ..= $max:literal, $help:literal;)*) => {
        /// The parameters of a search. [`Params::TABLE`] lists them.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Params {
            $(#[doc = $help] pub $name: f32,)*
        }

        impl Default for Params {
            fn default() -> Params {
                Params { $($name: $default,)* }
            }
        }

        impl Params {
            /// All parameters.
            pub const TABLE: &'static [ParamInfo] = &[$(ParamInfo {
                name: stringify!($name), default: $default, min: $min, max: $max, help: $help,
            },)*];

            /// Sets a parameter by its name.
            ///
            /// # Errors
            /// [`ParamError::Unknown`] if there is no such parameter, [`ParamError::OutOfRange`] if it does
            /// not take the value.
            pub fn set(&mut self, name: &str, value: f32) -> Result<(), ParamError> {
                match name {
                    $(stringify!($name) if ($min..=$max).contains(&value) => self.$name = value,
                    stringify!($name) => {
                        return Err(ParamError::OutOfRange {
                            name: stringify!($name), min: $min, max: $max, value,
                        });
                    })*
                    _ => return Err(ParamError::Unknown(name.to_owned())),
                }
                Ok(())
            }

            /// Returns the values of all parameters, in the order of [`Params::TABLE`].
            pub fn values(&self) -> impl Iterator<Item = (&'static str, f32)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }

            /// Returns the parameters that do not have their defaults, with their values.
            pub fn changed(&self) -> impl Iterator<Item = (&'static str, f32)> {
                let values = self.values().zip(Params::TABLE);
                values.filter(|((_, value), info)| *value != info.default).map(|(value, _)| value)
            }
        }
    };
}

/// Visits for which the expected deviation of scores stands.
const DEVIATION_PRIOR_VISITS: f32 = 2.0;

params! {
    c_puct = 1.745 in 0.0..=100.0,
        "Weight of the prior against the value in PUCT (Silver et al. 2017), at few visits.";
    c_puct_factor = 3.894 in 0.0..=100.0,
        "Growth of that weight with the logarithm of the visits (lc0's CPuctFactor).";
    c_puct_base = 38739.0 in 1.0..=1e9,
        "Number of visits at which the growth begins (lc0's CPuctBase).";
    c_puct_deviation = 0.0 in 0.0..=1.0,
        "Share of that weight that is proportional to the standard deviation of the scores below a position \
         (KataGo's cpuctUtilityStdevScale).";
    expected_deviation = 0.4 in 0.01..=1.0,
        "Standard deviation at which that share changes nothing (KataGo's cpuctUtilityStdevPrior).";
    fpu_reduction = 0.33 in -2.0..=2.0,
        "First play urgency: the value of an unvisited move is that of its parent minus this times the \
         square root of the policy already visited (lc0's FpuValue).";
    only_moves = 16.0 in 0.0..=100.0,
        "Greatest number of moves without an alternative that are played from a new position before the position \
         after them is evaluated.";
    policy_temperature = 1.0 in 0.1..=10.0,
        "Temperature of the softmax over the logits of the policy.";
    draw_score = 0.0 in -1.0..=1.0,
        "Score of a draw for the side to move at the root, and its negative for the others \
         (lc0's DrawScore).";
    lcb = 1.0 in 0.0..=10.0,
        "Number of standard deviations below the mean by which the move to play is chosen (lower \
         confidence bound, as in KataGo and Leela Zero); 0 to choose by visits.";
    proof_prior = 0.0 in 0.0..=10.0,
        "Addition to the prior of a move, divided by its proof number (the least number of positions \
         that would prove its win).";
    proof_bonus = 0.0 in 0.0..=10.0,
        "Addition to the score of a move, divided by 1 plus the binary logarithm of its proof number.";
    mate_turns = 3.0 in 0.0..=10.0,
        "Greatest number of turns of the mates that are searched for at new leaves; 0 for no mate search.";
    mate_positions = 100.0 in 1.0..=1e6,
        "Greatest number of positions of the mate search at a leaf.";
    moves_left_slope = 0.01 in 0.0..=1.0,
        "Score of one turn of game length: the winner prefers short games, the loser long ones.";
    moves_left_cap = 0.1 in 0.0..=1.0,
        "Greatest score of game length.";
    moves_left_threshold = 0.6 in 0.0..=1.0,
        "Score above which game length counts, fully at a score of 1.";
}

impl Params {
    /// Returns the parameters of a search without a network, which finds proofs only. Moves are chosen by
    /// visits, because the means have no information.
    pub fn without_network() -> Params {
        Params {
            proof_prior: 0.3,
            proof_bonus: 0.3,
            lcb: 0.0,
            mate_turns: 0.0,
            ..Params::default()
        }
    }

    /// Returns the parameters of a search with a sparse network, whose evaluation takes some 3 microseconds, less
    /// than a search for mates of several turns. docs/history/search.md has the matches.
    pub fn sparse() -> Params {
        Params {
            c_puct_deviation: 0.85,
            policy_temperature: 1.4,
            mate_turns: 1.0,
            ..Params::default()
        }
    }

    /// Returns `true` if the search uses proof numbers.
    pub(super) fn uses_proof_numbers(&self) -> bool {
        self.proof_prior > 0.0 || self.proof_bonus > 0.0
    }

    /// Returns the exploration constant at a node with this number of visits.
    pub(super) fn c_puct_at(&self, visits: u32) -> f32 {
        let ratio = (visits as f32 + self.c_puct_base + 1.0) / self.c_puct_base;
        self.c_puct + self.c_puct_factor * libm::logf(ratio)
    }

    /// Returns the factor of the exploration constant at a node with this number of visits, mean score and mean
    /// square of scores. [`Params::expected_deviation`] stands for [`DEVIATION_PRIOR_VISITS`] visits.
    pub(super) fn deviation_factor(&self, visits: u32, mean: f32, square: f32) -> f32 {
        let expected = self.expected_deviation;
        let visits = visits as f32;
        let total = visits + DEVIATION_PRIOR_VISITS;
        let variance = (square - mean * mean).max(0.0) * visits;
        let deviation = ((variance + expected * expected * DEVIATION_PRIOR_VISITS) / total).sqrt();
        1.0 + self.c_puct_deviation * (deviation / expected - 1.0)
    }

    /// Returns the score of game length for the mover, if a child with score `score` lasts `longer` turns
    /// more than its parent expects.
    pub(super) fn length_utility(&self, score: f32, longer: f32) -> f32 {
        let beyond = score.abs() - self.moves_left_threshold;
        if beyond <= 0.0 {
            return 0.0;
        }
        let decided = beyond / (1.0 - self.moves_left_threshold).max(1e-3);
        let cap = self.moves_left_cap;
        -score.signum() * decided.min(1.0) * (self.moves_left_slope * longer).clamp(-cap, cap)
    }
}

/// The parameters of Gumbel planning at the root.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GumbelParams {
    /// The number of moves that are considered in the first phase.
    pub considered: usize,
    /// The number of visits in self-play.
    pub visits: usize,
    /// The weight of a score against a logit is `(c_visit + greatest visits of a move) * c_scale`.
    pub c_visit: f32,
    /// See `c_visit`.
    pub c_scale: f32,
}

impl Default for GumbelParams {
    fn default() -> GumbelParams {
        GumbelParams { considered: 16, visits: 32, c_visit: 50.0, c_scale: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_can_be_set() {
        let mut params = Params::default();
        for info in Params::TABLE {
            assert_eq!(params.set(info.name, info.default), Ok(()), "{}", info.name);
            assert!(params.set(info.name, info.max * 2.0 + 1.0).is_err(), "{}", info.name);
        }
        assert_eq!(params, Params::default());
        assert_eq!(params.changed().count(), 0);
        let sparse = Params::sparse();
        for (name, value) in sparse.changed() {
            assert_eq!(params.set(name, value), Ok(()), "{name}");
        }
        assert_eq!(params, sparse);
        let mut params = Params::default();
        let unknown = params.set("nonsense", 1.0).unwrap_err();
        assert_eq!(unknown.to_string(), "unknown search parameter \"nonsense\"");
        let error = params.set("lcb", -1.0).unwrap_err();
        assert_eq!(error.to_string(), "lcb must be in [0, 10], got -1");
    }
}
