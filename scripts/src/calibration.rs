//! Positions by which a network is quantised: planes as it will meet them.

use menagerie::encoding::Encoding;
use menagerie::rules::MoveList;
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::record::GameRecord;
use crate::starts::{self, Opening};

/// A game of random play ends after so many plies.
const LONGEST: usize = 200;

/// The planes of `positions` positions spread evenly over `games`, or of all if there are fewer;
/// `[positions, planes, height, width]`, flattened. Plies that do not replay, or that were recorded
/// without a policy, are passed over.
pub fn from_games<'a>(
    variant: &Variant,
    encoding: &Encoding,
    games: impl Iterator<Item = &'a GameRecord> + Clone,
    positions: usize,
) -> Vec<f32> {
    let plies = games.flat_map(|game| (0..game.plies.len()).map(move |nth| (game, nth)));
    let step = (plies.clone().count() / positions.max(1)).max(1);
    let samples = plies.step_by(step).filter_map(|(game, nth)| game.sample(variant, encoding, nth));
    samples.take(positions).flat_map(|sample| sample.planes).collect()
}

/// The planes of `positions` positions of random play, likewise. The same seed gives the same.
pub fn from_random_play(
    variant: &Variant,
    encoding: &Encoding,
    positions: usize,
    seed: u64,
) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let size = encoding.shape().input();
    let mut planes = Vec::with_capacity(positions * size);
    let mut moves = MoveList::new();
    while planes.len() < positions * size {
        let mut position = starts::start(variant, &Opening::default(), &mut rng);
        for _ in 0..LONGEST {
            moves.clear();
            position.legal_moves(&mut moves);
            if planes.len() == positions * size || moves.is_empty() || position.result().is_some() {
                break;
            }
            let from = planes.len();
            planes.resize(from + size, 0.0);
            encoding.write_planes(position.view(), &mut planes[from..]);
            if !position.play(moves[rng.random_range(0..moves.len())]) {
                break;
            }
        }
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use menagerie::variant::Catalogue;

    #[test]
    fn random_play_gives_as_many_positions_as_asked_for() {
        for name in ["3x3", "connect4", "crazyhouse"] {
            let variant = Catalogue::shipped().require(name).unwrap();
            let encoding = Encoding::of(&variant.start());
            let size = encoding.shape().input();
            let planes = from_random_play(&variant, &encoding, 300, 1);
            assert_eq!(planes.len(), 300 * size);
            assert_eq!(planes, from_random_play(&variant, &encoding, 300, 1));
            assert_ne!(planes, from_random_play(&variant, &encoding, 300, 2));
            let mut distinct: Vec<_> = planes.chunks(size).map(|p| format!("{p:?}")).collect();
            distinct.sort();
            distinct.dedup();
            assert!(distinct.len() > 100, "{name}: {} distinct positions", distinct.len());
        }
    }
}
