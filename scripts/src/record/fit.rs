//! What scores are worth, as recorded games have it.

use menagerie::rules::{PackedMove, Side};
use menagerie::variant::Variant;

use super::{GameRecord, PlyRecord, Targets};

/// The factors of a score's log odds that are tried: from the first to the second ..
const STEEPNESS: [f64; 2] = [0.1, 10.0];
/// .. and how near the best one is found, as a share of it.
const NEAR: f64 = 1e-3;

/// A score that was told at a ply, and what the game came to for its mover: 1, 0 or -1.
struct Told {
    score: f32,
    result: f32,
}

impl Targets {
    /// The same with [`steepness`](Targets::steepness) and [`draws`](Targets::draws) as games have
    /// them: so that the scores told in them foretell their results with the least mean squared error,
    /// and as many draws as there were. Only what was played as its teacher would have is looked at.
    pub fn fitted<'a>(
        self,
        games: impl Iterator<Item = &'a GameRecord>,
        variant: &Variant,
    ) -> Targets {
        let told: Vec<Told> = games.filter_map(|game| told(game, variant)).flatten().collect();
        let steepness = steepness(&told);
        let steep = Targets { steepness, ..self };
        let even = |told: &Told| 1.0 - f64::from(steep.expected(told.score)).powi(2);
        let even: f64 = told.iter().map(even).sum();
        let drawn = told.iter().filter(|told| told.result == 0.0).count() as f64;
        let draws = if even > 0.0 { (drawn / even).min(0.5) as f32 } else { 0.0 };
        Targets { draws, ..steep }
    }
}

/// The scores of a game after its last mistake; `None` if its end is not known, or it does not replay.
fn told(game: &GameRecord, variant: &Variant) -> Option<Vec<Told>> {
    let winner = game.end?.winner;
    let clean = game.plies.iter().rposition(PlyRecord::mistaken).map_or(0, |last| last + 1);
    let mut position = game.position(variant, 0)?;
    let mut all = Vec::new();
    for (nth, ply) in game.plies.iter().enumerate() {
        let m = PackedMove(ply.played).unpack()?;
        position.admit(m);
        if let Some(score) = ply.score.filter(|_| nth >= clean) {
            let won = |winner| if Side::new(winner) == position.turn() { 1.0 } else { -1.0 };
            all.push(Told { score, result: winner.map_or(0.0, |winner| won(usize::from(winner))) });
        }
        position.play(m).then_some(())?;
    }
    Some(all)
}

/// The factor with which scores foretell results best; 1 if they tell nothing of it.
fn steepness(told: &[Told]) -> f32 {
    let error = |factor: f64| {
        let targets = Targets { steepness: factor as f32, ..Targets::default() };
        let miss = |told: &Told| f64::from(targets.expected(told.score) - told.result).powi(2);
        told.iter().map(miss).sum::<f64>()
    };
    if told.iter().all(|told| told.score == 0.0 || told.score.abs() >= 1.0) {
        return 1.0;
    }
    // Golden sections of the logarithm: the error has one valley.
    let ratio = (5.0f64.sqrt() - 1.0) / 2.0;
    let [mut low, mut high] = STEEPNESS.map(f64::ln);
    while high - low > NEAR {
        let [left, right] = [high - ratio * (high - low), low + ratio * (high - low)];
        if error(left.exp()) < error(right.exp()) { high = right } else { low = left }
    }
    ((low + high) / 2.0).exp() as f32
}
