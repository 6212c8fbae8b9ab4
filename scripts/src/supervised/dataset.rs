//! The games of a supervised run: the training set, the held-out set, and the order of training.

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::record::{CheckedGame, GameRecord};

/// All games, divided into a training set and a held-out set.
#[derive(Debug)]
pub(super) struct Dataset {
    games: Vec<CheckedGame>,
    /// Game and ply of each training position.
    pub(super) training: Vec<(u32, u32)>,
    /// Game and ply of each held-out position.
    pub(super) held_out: Vec<(u32, u32)>,
    /// The epoch whose order `order` holds.
    epoch: Option<u64>,
    /// Indices into `training`, shuffled.
    order: Vec<u32>,
}

/// A position of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatasetPosition {
    game: u32,
    /// Its ply.
    pub(super) ply: usize,
    /// A random bit.
    pub(super) coin: bool,
}

/// One game in this number is held out.
const HELD_OUT_RATIO: u32 = 10;

impl Dataset {
    /// Returns the dataset of all positions that have a target.
    pub(super) fn new(games: Vec<CheckedGame>) -> Dataset {
        let mut training = Vec::new();
        let mut held_out = Vec::new();
        for (number, game) in (0..).zip(&games) {
            let game = game.record();
            let list = if is_held_out(game) { &mut held_out } else { &mut training };
            let has_target = |nth: &usize| {
                let ply = &game.plies[*nth];
                let end_known = game.end.or(ply.proven).is_some();
                end_known || ply.score.is_some() || !ply.policy.is_empty()
            };
            list.extend((0..game.plies.len()).filter(has_target).map(|ply| (number, ply as u32)));
        }
        let order = (0..training.len() as u32).collect();
        Dataset { games, training, held_out, epoch: None, order }
    }

    /// The game of a position.
    pub(super) fn game(&self, position: &DatasetPosition) -> &CheckedGame {
        &self.games[position.game as usize]
    }

    /// Returns the positions of a step. Each epoch has all training positions once, in its own order.
    pub(super) fn batch(&mut self, step: u64, size: usize, seed: u64) -> Vec<DatasetPosition> {
        let mut coins = ChaCha8Rng::seed_from_u64(seed ^ step.rotate_left(32));
        let length = self.training.len() as u64;
        let first = step * size as u64;
        let position = |at: u64| {
            self.shuffle(at / length, seed);
            let (game, ply) = self.training[self.order[(at % length) as usize] as usize];
            DatasetPosition { game, ply: ply as usize, coin: coins.random() }
        };
        (first..first + size as u64).map(position).collect()
    }

    fn shuffle(&mut self, epoch: u64, seed: u64) {
        if self.epoch != Some(epoch) {
            // Sorted first, so that the order of an epoch does not depend on those before.
            self.order.sort_unstable();
            let mut rng = ChaCha8Rng::seed_from_u64(!seed ^ epoch.rotate_left(32));
            self.order.shuffle(&mut rng);
            self.epoch = Some(epoch);
        }
    }

    /// Returns at most `max` held-out positions, evenly spaced.
    pub(super) fn held_out(&self, max: usize) -> Vec<DatasetPosition> {
        let length = self.held_out.len();
        let count = max.min(length);
        let position = |nth: usize| {
            let (game, ply) = self.held_out[nth * length / count];
            DatasetPosition { game, ply: ply as usize, coin: false }
        };
        (0..count).map(position).collect()
    }

    /// The games of the training set.
    pub(super) fn training_games(&self) -> impl Iterator<Item = &GameRecord> {
        self.games.iter().map(CheckedGame::record).filter(|game| !is_held_out(game))
    }
}

/// Returns `true` if a game is one of the held-out set.
fn is_held_out(game: &GameRecord) -> bool {
    game.fingerprint().is_multiple_of(HELD_OUT_RATIO)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use menagerie::rules::MoveList;
    use menagerie::variant::Catalogue;
    use rand::seq::IndexedRandom;

    use super::*;
    use crate::record::{End, GamePlace, PlyRecord};

    /// 200 games of zero to four random plies.
    fn records() -> Vec<GameRecord> {
        let variant = Catalogue::shipped().get("chess").expect("it is shipped");
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut legal = MoveList::new();
        let mut game = |number: u16| {
            let mut position = variant.start();
            let mut plies = Vec::new();
            for _ in 0..number % 5 {
                position.legal_moves(&mut legal);
                let m = *legal.choose(&mut rng).expect("a legal move");
                position.play_unchecked(m);
                plies.push(PlyRecord {
                    played: m.pack().0,
                    policy: vec![],
                    score: Some(0.0),
                    proven: None,
                    surprise: None,
                });
            }
            let end = Some(End { winner: (!number.is_multiple_of(4)).then_some(0), turns: 0 });
            let start = variant.start_fen().to_owned();
            GameRecord { start, plies, end, ..GameRecord::default() }
        };
        (0..200).map(&mut game).collect()
    }

    fn dataset(records: Vec<GameRecord>) -> Dataset {
        let variant = Catalogue::shipped().get("chess").expect("it is shipped");
        let check = |(number, record)| {
            let place = GamePlace { file: "some.games".into(), number };
            CheckedGame::new(Arc::clone(&variant), record, place).expect("a valid game")
        };
        Dataset::new((1..).zip(records).map(check).collect())
    }

    #[test]
    fn epoch_has_each_position_once() {
        let mut data = dataset(records());
        let length = data.training.len();
        let mut seen: Vec<_> = Vec::new();
        for step in 0..length as u64 {
            let batch = data.batch(step, 2, 5);
            seen.extend(batch.into_iter().map(|position| (position.game, position.ply as u32)));
        }
        let mut first = seen[..length].to_vec();
        let mut second = seen[length..].to_vec();
        assert_ne!(first, second);
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, data.training);
        assert_eq!(first, second);
        let again = dataset(records()).batch(7, 2, 5);
        assert_eq!(again, data.batch(7, 2, 5));
    }

    #[test]
    fn parts_of_a_game_are_held_out_together() {
        let part = |game| GameRecord { part_of: Some(7 * (game % 20)), ..records()[4].clone() };
        let held_out: Vec<bool> = (0..40u32).map(|game| is_held_out(&part(game))).collect();
        assert_eq!(held_out[..20], held_out[20..]);
        assert!(held_out.contains(&true) && held_out.contains(&false));
    }

    #[test]
    fn held_out_set_does_not_depend_on_order() {
        let data = dataset(records());
        let share = data.held_out.len() as f64 / (data.held_out.len() + data.training.len()) as f64;
        assert!((0.03..0.2).contains(&share), "{share}");
        let held_out_games = |data: &Dataset| {
            let fingerprint_of = |at: &(u32, u32)| data.games[at.0 as usize].record().fingerprint();
            let mut games: Vec<u32> = data.held_out.iter().map(fingerprint_of).collect();
            games.sort_unstable();
            games
        };
        let mut reversed = records();
        reversed.reverse();
        assert_eq!(held_out_games(&data), held_out_games(&dataset(reversed)));
        assert_eq!(data.held_out(1000).len(), data.held_out.len());
        assert_eq!(data.held_out(7).len(), 7);
    }
}
