//! Positions for the calibration of quantized networks.

use menagerie::encoding::Encoding;
use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::random_starts::{self, Opening};
use crate::record::GameRecord;

/// Maximum length of a game of random play.
const MAX_RANDOM_PLIES: usize = 200;

/// Returns up to `positions` positions, spread evenly over `games`. Positions that cannot be replayed are skipped.
pub fn from_games<'a>(
    variant: &Variant,
    games: impl Iterator<Item = &'a GameRecord> + Clone,
    positions: usize,
) -> Vec<Position> {
    let plies = games.flat_map(|game| (0..game.plies.len()).map(move |nth| (game, nth)));
    let step = (plies.clone().count() / positions.max(1)).max(1);
    let found = plies.step_by(step).filter_map(|(game, nth)| game.position(variant, nth));
    found.take(positions).collect()
}

/// Returns `positions` positions of random play, which depend on the seed only.
pub fn from_random_play(variant: &Variant, positions: usize, seed: u64) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::with_capacity(positions);
    let mut moves = MoveList::new();
    while found.len() < positions {
        let mut position = random_starts::start(variant, &Opening::default(), &[], &mut rng);
        for _ in 0..MAX_RANDOM_PLIES {
            moves.clear();
            position.legal_moves(&mut moves);
            if found.len() == positions || moves.is_empty() || position.result().is_some() {
                break;
            }
            found.push(position.clone());
            if !position.play(moves[rng.random_range(0..moves.len())]) {
                break;
            }
        }
    }
    found
}

/// Returns positions as planes, `[positions, planes, height, width]`, flattened.
pub fn planes(encoding: &Encoding, positions: &[Position]) -> Vec<f32> {
    let size = encoding.shape().input();
    let mut planes = vec![0.0; positions.len() * size];
    for (position, planes) in positions.iter().zip(planes.chunks_exact_mut(size)) {
        encoding.write_planes(&position.view(), planes);
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use menagerie::variant::Catalogue;

    #[test]
    fn calibration_positions_depend_on_the_seed() {
        for name in ["3x3", "connect4", "crazyhouse"] {
            let variant = Catalogue::shipped().require(name).unwrap();
            let encoding = Encoding::of(&variant.start());
            let size = encoding.shape().input();
            let of = |seed| planes(&encoding, &from_random_play(&variant, 300, seed));
            let planes = of(1);
            assert_eq!(planes.len(), 300 * size);
            assert_eq!(planes, of(1));
            assert_ne!(planes, of(2));
            let mut distinct: Vec<_> = planes.chunks(size).map(|p| format!("{p:?}")).collect();
            distinct.sort();
            distinct.dedup();
            assert!(distinct.len() > 100, "{name}: {} distinct positions", distinct.len());
        }
    }
}
