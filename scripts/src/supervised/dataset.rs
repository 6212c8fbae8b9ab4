//! The games of a supervised run: which are learnt from, which are held back, and in what order.

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::record::GameRecord;

/// All games, cut into those to learn from and those held back.
#[derive(Debug)]
pub(super) struct Dataset {
    games: Vec<GameRecord>,
    /// Game and ply of each position to learn from.
    pub(super) learnt: Vec<(u32, u32)>,
    /// The same of those held back.
    pub(super) held_back: Vec<(u32, u32)>,
    /// The round whose order `order` has.
    round: Option<u64>,
    /// Places in `learnt`, shuffled.
    order: Vec<u32>,
}

/// One position of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    game: u32,
    /// Its ply.
    pub(super) ply: usize,
    /// Drawn by lot.
    pub(super) coin: bool,
}

/// One game of so many is held back.
const HELD_BACK: u32 = 10;

impl Dataset {
    pub(super) fn new(games: Vec<GameRecord>) -> Dataset {
        let (mut learnt, mut held_back) = (Vec::new(), Vec::new());
        for (number, game) in (0..).zip(&games) {
            let list = if is_held_back(game) { &mut held_back } else { &mut learnt };
            let teaches = |nth: &usize| {
                let ply = &game.plies[*nth];
                let known = game.end.or(ply.proven).is_some();
                known || ply.score.is_some() || !ply.policy.is_empty()
            };
            list.extend((0..game.plies.len()).filter(teaches).map(|ply| (number, ply as u32)));
        }
        let order = (0..learnt.len() as u32).collect();
        Dataset { games, learnt, held_back, round: None, order }
    }

    /// The game of a position.
    pub(super) fn game(&self, spot: &Spot) -> &GameRecord {
        &self.games[spot.game as usize]
    }

    /// The positions of a step. Each round shows all positions once, in an order of its own.
    pub(super) fn batch(&mut self, step: u64, size: usize, seed: u64) -> Vec<Spot> {
        let mut coins = ChaCha8Rng::seed_from_u64(seed ^ step.rotate_left(32));
        let length = self.learnt.len() as u64;
        let first = step * size as u64;
        let spot = |at: u64| {
            self.shuffle(at / length, seed);
            let (game, ply) = self.learnt[self.order[(at % length) as usize] as usize];
            Spot { game, ply: ply as usize, coin: coins.random() }
        };
        (first..first + size as u64).map(spot).collect()
    }

    fn shuffle(&mut self, round: u64, seed: u64) {
        if self.round != Some(round) {
            // From the same beginning, so that a round's order does not depend on those before.
            self.order.sort_unstable();
            let mut rng = ChaCha8Rng::seed_from_u64(!seed ^ round.rotate_left(32));
            self.order.shuffle(&mut rng);
            self.round = Some(round);
        }
    }

    /// At most so many of the positions held back, spread evenly over them.
    pub(super) fn held_back(&self, most: usize) -> Vec<Spot> {
        let length = self.held_back.len();
        let count = most.min(length);
        let spot = |nth: usize| {
            let (game, ply) = self.held_back[nth * length / count];
            Spot { game, ply: ply as usize, coin: false }
        };
        (0..count).map(spot).collect()
    }

    /// The games to learn from.
    pub(super) fn games_learnt(&self) -> impl Iterator<Item = &GameRecord> {
        self.games.iter().filter(|game| !is_held_back(game))
    }
}

/// Whether a game is one of those held back.
fn is_held_back(game: &GameRecord) -> bool {
    fingerprint(game).is_multiple_of(HELD_BACK)
}

/// A number that tells games apart: the checksum of start and moves. Parts of a game have one.
fn fingerprint(game: &GameRecord) -> u32 {
    if let Some(whole) = game.part_of {
        return whole;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(game.start.as_bytes());
    game.plies.iter().for_each(|ply| hasher.update(&ply.played.to_le_bytes()));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{End, PlyRecord};

    fn games() -> Vec<GameRecord> {
        let ply = |played| PlyRecord {
            played,
            policy: vec![],
            score: Some(0.0),
            proven: None,
            surprise: None,
        };
        let end = |game| Some(End { winner: (game % 4 != 0).then_some(0), turns: 0 });
        let game = |game: u16| GameRecord {
            start: format!("start {game}"),
            plies: (0..game % 5).map(ply).collect(),
            end: end(game),
            ..GameRecord::default()
        };
        (0..200).map(game).collect()
    }

    #[test]
    fn a_round_shows_each_position_once() {
        let mut data = Dataset::new(games());
        let length = data.learnt.len();
        let mut seen: Vec<_> = Vec::new();
        for step in 0..length as u64 {
            seen.extend(
                data.batch(step, 2, 5).into_iter().map(|spot| (spot.game, spot.ply as u32)),
            );
        }
        let (mut first, mut second) = (seen[..length].to_vec(), seen[length..].to_vec());
        assert_ne!(first, second);
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, data.learnt);
        assert_eq!(first, second);
        let again = Dataset::new(games()).batch(7, 2, 5);
        assert_eq!(again, data.batch(7, 2, 5));
    }

    #[test]
    fn parts_of_a_game_are_held_back_together() {
        let part = |game| GameRecord { part_of: Some(7 * (game % 20)), ..games()[4].clone() };
        let held_back: Vec<bool> = (0..40u32).map(|game| is_held_back(&part(game))).collect();
        assert_eq!(held_back[..20], held_back[20..]);
        assert!(held_back.contains(&true) && held_back.contains(&false));
    }

    #[test]
    fn what_is_held_back_is_in_the_games_themselves() {
        let data = Dataset::new(games());
        let shares =
            data.held_back.len() as f64 / (data.held_back.len() + data.learnt.len()) as f64;
        assert!((0.03..0.2).contains(&shares), "{shares}");
        let starts = |data: &Dataset| {
            let mut starts: Vec<_> =
                data.held_back.iter().map(|at| data.games[at.0 as usize].start.clone()).collect();
            starts.sort();
            starts
        };
        let mut turned = games();
        turned.reverse();
        assert_eq!(starts(&data), starts(&Dataset::new(turned)));
        assert_eq!(data.held_back(1000).len(), data.held_back.len());
        assert_eq!(data.held_back(7).len(), 7);
    }
}
