//! Training targets: what a network learns from recorded scores and results.

use menagerie::rules::PackedMove;
use menagerie::variant::Variant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GameRecord, PlyRecord};

/// The greatest [`Targets::draws`]: with more, the probability of a loss is negative at scores near 1.
const MAX_DRAWS: f32 = 0.5;

/// Least and greatest factor on the log odds of scores that [`Targets::fitted`] tries.
const STEEPNESS_RANGE: [f64; 2] = [0.1, 10.0];
/// Relative precision of the fitted factor.
const STEEPNESS_PRECISION: f64 = 1e-3;

/// How records become targets. The default is that of self-play: the recorded policy and the results
/// of the games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Targets {
    /// Share of the recorded score, 0 to 1, in the outcome target. The rest is the result of the game. Where
    /// one of the two is unknown, the other is the whole target.
    pub score_share: f32,
    /// Label smoothing, 0 to 1. This is the share of the policy target that is spread evenly over all legal
    /// moves.
    pub smoothing: f32,
    /// Factor on the log odds of scores; fitted. It is fitted to the records and above 0: a score of `s`
    /// becomes `tanh(steepness * artanh(s))`. The scores of engines are worth more in some variants than in
    /// others.
    pub steepness: f32,
    /// Probability of a draw at score 0, 0 to 0.5; fitted. It is fitted to the records. At a score of `s` it is
    /// `draws * (1 - s * s)`; the rest is divided between win and loss so that their difference is `s`.
    pub draws: f32,
}

impl Default for Targets {
    fn default() -> Targets {
        Targets { score_share: 0.0, smoothing: 0.0, steepness: 1.0, draws: 0.0 }
    }
}

/// A value of [`Targets`] that is out of its range.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TargetsError {
    /// A share or probability.
    #[error("targets.{name} must be between 0 and {max}, got {value}")]
    Share {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f32,
        /// The greatest value that it may have.
        max: f32,
    },
    /// The factor on log odds.
    #[error("targets.steepness must be above 0, got {0}")]
    Steepness(f32),
}

impl Targets {
    /// Checks that all values are in their ranges.
    ///
    /// # Errors
    /// [`TargetsError`], which names the setting.
    pub fn check(&self) -> Result<(), TargetsError> {
        for (name, value, max) in [
            ("score_share", self.score_share, 1.0),
            ("smoothing", self.smoothing, 1.0),
            ("draws", self.draws, MAX_DRAWS),
        ] {
            if !(0.0..=max).contains(&value) {
                return Err(TargetsError::Share { name, value, max });
            }
        }
        if !(self.steepness.is_finite() && self.steepness > 0.0) {
            return Err(TargetsError::Steepness(self.steepness));
        }
        Ok(())
    }

    /// Returns the expected score of a recorded score, both -1 to 1.
    pub(crate) fn expected(&self, score: f32) -> f32 {
        let score = score.clamp(-1.0, 1.0);
        // A score of 1 stays 1: its log odds are infinite.
        (self.steepness * score.atanh()).tanh()
    }

    /// Returns the probabilities of win, loss and draw at a recorded score, -1 to 1.
    pub(super) fn wdl(&self, score: f32) -> [f32; 3] {
        wdl(self.expected(score), self.draws)
    }

    /// Returns these targets with [`steepness`](Targets::steepness) and [`draws`](Targets::draws) fitted
    /// to games: the expected scores predict the results with the least mean squared error, and the number
    /// of draws is right. Scores before a move that the reference engine did not choose are left out.
    pub fn fitted<'a>(
        self,
        games: impl Iterator<Item = &'a GameRecord>,
        variant: &Variant,
    ) -> Targets {
        let scored: Vec<ScoredPly> =
            games.filter_map(|game| scored_plies(game, variant)).flatten().collect();
        let steepness = fit_steepness(&scored);
        Targets { steepness, draws: fit_draws(&[(&scored[..], steepness)]), ..self }
    }
}

/// Returns [`Targets::draws`] with which the number of draws in games is right. Each group of games has the
/// [`steepness`](Targets::steepness) of its scores.
pub(crate) fn fitted_draws(groups: &[(&[GameRecord], f32)], variant: &Variant) -> f32 {
    let scored: Vec<(Vec<ScoredPly>, f32)> = groups
        .iter()
        .map(|&(games, steepness)| {
            let plies = games.iter().filter_map(|game| scored_plies(game, variant)).flatten();
            (plies.collect(), steepness)
        })
        .collect();
    let groups: Vec<_> = scored.iter().map(|(plies, steepness)| (&plies[..], *steepness)).collect();
    fit_draws(&groups)
}

/// Returns the probabilities of win, loss and draw at an expected score, -1 to 1, if `draws` is the probability of a
/// draw at 0.
pub(crate) fn wdl(expected: f32, draws: f32) -> [f32; 3] {
    let draw = draws * (1.0 - expected * expected);
    [(1.0 - draw + expected) / 2.0, (1.0 - draw - expected) / 2.0, draw]
}

/// A recorded score and the result of the game for the mover: 1, 0 or -1.
struct ScoredPly {
    score: f32,
    result: f32,
}

/// Returns the scores of a game after its last mistake; `None` if its end is unknown or it does not
/// replay.
fn scored_plies(game: &GameRecord, variant: &Variant) -> Option<Vec<ScoredPly>> {
    let winner = game.end?.winner.map(usize::from);
    let first = game.plies.iter().rposition(PlyRecord::mistaken).map_or(0, |last| last + 1);
    let mut position = game.position(variant, 0)?;
    let mut scored = Vec::new();
    for (nth, ply) in game.plies.iter().enumerate() {
        let m = PackedMove(ply.played).unpack()?;
        position.select_side_to_move(m);
        if let Some(score) = ply.score
            && nth >= first
        {
            let result = match winner {
                Some(winner) if winner == position.turn().index() => 1.0,
                Some(_) => -1.0,
                None => 0.0,
            };
            scored.push(ScoredPly { score, result });
        }
        position.play(m).then_some(())?;
    }
    Some(scored)
}

/// Returns the probability of a draw at score 0 with which the number of draws is right; each group of plies has the
/// factor of its scores.
fn fit_draws(groups: &[(&[ScoredPly], f32)]) -> f32 {
    let mut drawn = 0.0;
    // Draws there would be with a probability of 1.
    let mut even = 0.0;
    for &(plies, steepness) in groups {
        let targets = Targets { steepness, ..Targets::default() };
        for ply in plies {
            drawn += f64::from(u8::from(ply.result == 0.0));
            even += 1.0 - f64::from(targets.expected(ply.score)).powi(2);
        }
    }
    if even > 0.0 { (drawn / even).min(f64::from(MAX_DRAWS)) as f32 } else { 0.0 }
}

/// Returns the factor with which scores predict results best; 1 if all scores are 0 or certain.
fn fit_steepness(scored: &[ScoredPly]) -> f32 {
    let error = |factor: f64| {
        let targets = Targets { steepness: factor as f32, ..Targets::default() };
        let square = |ply: &ScoredPly| f64::from(targets.expected(ply.score) - ply.result).powi(2);
        scored.iter().map(square).sum::<f64>()
    };
    if scored.iter().all(|ply| ply.score == 0.0 || ply.score.abs() >= 1.0) {
        return 1.0;
    }
    // Golden-section search over the logarithm: the error has one minimum.
    let ratio = (5.0f64.sqrt() - 1.0) / 2.0;
    let [mut low, mut high] = STEEPNESS_RANGE.map(f64::ln);
    while high - low > STEEPNESS_PRECISION {
        let left = high - ratio * (high - low);
        let right = low + ratio * (high - low);
        if error(left.exp()) < error(right.exp()) { high = right } else { low = left }
    }
    ((low + high) / 2.0).exp() as f32
}
