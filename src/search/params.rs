//! The parameters of the search, each declared once: default, range and meaning.

/// One parameter's name, default, range and meaning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParamInfo {
    /// Its name.
    pub name: &'static str,
    /// Its value unless set.
    pub default: f32,
    /// The least value it may have.
    pub min: f32,
    /// The greatest value it may have.
    pub max: f32,
    /// What it does.
    pub help: &'static str,
}

macro_rules! params {
    ($($name:ident = $default:literal in $min:literal ..= $max:literal, $help:literal;)*) => {
        /// The parameters of a search. Their table is [`Params::TABLE`].
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
            /// In words, if there is none of that name or the value is out of its range.
            pub fn set(&mut self, name: &str, value: f32) -> Result<(), String> {
                match name {
                    $(stringify!($name) if ($min..=$max).contains(&value) => self.$name = value,
                    stringify!($name) => {
                        return Err(format!("{name} is from {} to {}, not {value}", $min, $max));
                    })*
                    _ => return Err(format!("no parameter is called \"{name}\"")),
                }
                Ok(())
            }
        }
    };
}

params! {
    c_puct = 1.745 in 0.0..=100.0,
        "Weight of the prior against the value in PUCT (Silver et al. 2017), at few visits.";
    c_puct_factor = 3.894 in 0.0..=100.0,
        "How much that weight grows with the logarithm of the visits (lc0's CPuctFactor).";
    c_puct_base = 38739.0 in 1.0..=1e9,
        "The visits at which the growth sets in (lc0's CPuctBase).";
    fpu_reduction = 0.33 in -2.0..=2.0,
        "First play urgency: an unvisited move is worth its parent less this times the root of \
         the policy already visited (lc0's FpuValue).";
    policy_temperature = 1.0 in 0.1..=10.0,
        "Temperature of the softmax over the policy's logits.";
    draw_score = 0.0 in -1.0..=1.0,
        "What a draw is worth to the side to move at the root, and the opposite to the others \
         (lc0's DrawScore).";
    lcb = 1.0 in 0.0..=10.0,
        "Deviations that a move's mean is lowered by before the best is chosen (lower confidence \
         bound, as KataGo and Leela Zero choose); 0 to choose by visits.";
    proof_prior = 0.0 in 0.0..=10.0,
        "What it adds to a move's prior if one more position would prove that it wins; if it takes \
         more, so much less.";
    proof_bonus = 0.0 in 0.0..=10.0,
        "What it adds to a move's score if one more position would prove that it wins; less by \
         its binary logarithm if it takes more.";
    moves_left_slope = 0.01 in 0.0..=1.0,
        "How much a turn of length is worth: the winner likes the short way, the loser the long.";
    moves_left_cap = 0.1 in 0.0..=1.0,
        "The most that length may be worth.";
    moves_left_threshold = 0.6 in 0.0..=1.0,
        "The score from which on length counts at all, in full at a score of 1.";
}

impl Params {
    /// The parameters of a search without a network, which has nothing to go by but what it can
    /// prove: its means say nothing by which a move could be chosen against its visits.
    pub fn blind() -> Params {
        Params { proof_prior: 0.3, proof_bonus: 0.3, lcb: 0.0, ..Params::default() }
    }

    /// Returns the parameters of a search with a sparse network, whose policy is sharper than it is right:
    /// it learns only the best move of a reference engine. docs/strength.md has the matches.
    pub fn sparse() -> Params {
        Params { policy_temperature: 1.4, ..Params::default() }
    }

    /// Whether the search goes by what proofs take.
    pub(super) fn weighs_effort(&self) -> bool {
        self.proof_prior > 0.0 || self.proof_bonus > 0.0
    }

    /// `c_puct` as it is at a node of that many visits.
    pub(super) fn c_puct_at(&self, visits: u32) -> f32 {
        let ratio = (visits as f32 + self.c_puct_base + 1.0) / self.c_puct_base;
        self.c_puct + self.c_puct_factor * libm::logf(ratio)
    }

    /// What it is worth to the mover that a child lasts `longer` turns than its parent expects
    /// when it scores `score` there.
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

/// The parameters of planning at the root with Gumbel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GumbelParams {
    /// How many moves are considered at first; halved again and again.
    pub considered: usize,
    /// How many visits are spent.
    pub visits: usize,
    /// How much a score weighs against a logit (`c_visit`, beside the most visits of a move).
    pub c_visit: f32,
    /// How much a score weighs in all (`c_scale`).
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
    fn every_default_is_in_its_range_and_can_be_set() {
        let mut params = Params::default();
        for info in Params::TABLE {
            assert_eq!(params.set(info.name, info.default), Ok(()), "{}", info.name);
            assert!(params.set(info.name, info.max * 2.0 + 1.0).is_err(), "{}", info.name);
        }
        assert_eq!(params, Params::default());
        assert!(params.set("nonsense", 1.0).is_err());
    }
}
