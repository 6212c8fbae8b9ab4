//! The games that a network learns from at a time: the newest ones.

use std::collections::VecDeque;

use menagerie::encoding::Encoding;
use menagerie::variant::Variant;
use rand::{Rng, RngExt};

use crate::learner::Sample;
use crate::record::GameRecord;

/// The newest positions of self-play, from which samples are drawn: evenly, or within a game partly
/// by how much the search surprised the network ([`GameRecord::weights`]).
#[derive(Debug, Default)]
pub struct ReplayBuffer {
    games: VecDeque<GameRecord>,
    /// The number of positions before each game, counted from the first game ever taken in.
    before: VecDeque<u64>,
    end: u64,
    /// The share of draws that go by surprise.
    surprise: f64,
    /// The sums of the weights of each game's plies, up to each of them; of no game where draws
    /// are even.
    sums: VecDeque<Vec<f32>>,
}

impl ReplayBuffer {
    /// An empty window, with the share of a game's draws, 0 to 1, that goes by surprise.
    pub fn new(surprise: f64) -> ReplayBuffer {
        ReplayBuffer { surprise, ..ReplayBuffer::default() }
    }

    /// Takes games in at the new end.
    pub fn extend(&mut self, games: impl IntoIterator<Item = GameRecord>) {
        for game in games {
            self.before.push_back(self.end);
            self.end += game.plies.len() as u64;
            if self.surprise > 0.0 {
                self.sums.push_back(sums(&game.weights(self.surprise)));
            }
            self.games.push_back(game);
        }
    }

    /// Lets the oldest games go until at most `positions` are left, or one game.
    pub fn shrink(&mut self, positions: u64) {
        while self.games.len() > 1 && self.len() > positions {
            self.games.pop_front();
            self.before.pop_front();
            self.sums.pop_front();
        }
    }

    /// Its games, the oldest first.
    pub fn games(&self) -> impl Iterator<Item = &GameRecord> + Clone {
        self.games.iter()
    }

    /// How many positions it holds.
    pub fn len(&self) -> u64 {
        self.before.front().map_or(0, |first| self.end - first)
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A position drawn; `None` if there is none, or if its game does not replay.
    pub fn draw(
        &self,
        variant: &Variant,
        encoding: &Encoding,
        rng: &mut impl Rng,
    ) -> Option<Sample> {
        let first = *self.before.front()?;
        let at = (first < self.end).then(|| rng.random_range(first..self.end))?;
        let game = self.before.partition_point(|before| *before <= at) - 1;
        let even = (at - self.before[game]) as usize;
        let nth = match self.sums.get(game) {
            // A game's weights sum to the number of its plies, as even ones do.
            Some(sums) => pick(sums, even as f32 + rng.random::<f32>()),
            None => even,
        };
        self.games[game].sample(variant, encoding, nth)
    }
}

/// The sums of weights up to each of them.
fn sums(weights: &[f64]) -> Vec<f32> {
    let add = |sum: &mut f64, weight: &f64| {
        *sum += weight;
        Some(*sum as f32)
    };
    weights.iter().scan(0.0, add).collect()
}

/// The place at which sums first exceed `level`; the last if none does.
fn pick(sums: &[f32], level: f32) -> usize {
    sums.partition_point(|sum| *sum <= level).min(sums.len().saturating_sub(1))
}

/// How many positions a window holds once `made` have been made in all: it grows as a power of
/// them, as KataGo's does (Wu 2019, appendix C), from `least` on.
pub fn window_size(made: u64, least: u64) -> u64 {
    const ALPHA: f64 = 0.75;
    const BETA: f64 = 0.4;
    let ratio = made.max(least) as f64 / least.max(1) as f64;
    (least as f64 * (1.0 + BETA * (ratio.powf(ALPHA) - 1.0) / ALPHA)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{End, PlyRecord};

    fn game(plies: usize) -> GameRecord {
        let ply =
            PlyRecord { played: 0, policy: Vec::new(), score: None, proven: None, surprise: None };
        let end = Some(End { winner: None, turns: 0 });
        GameRecord { start: String::new(), plies: vec![ply; plies], end, ..GameRecord::default() }
    }

    #[test]
    fn the_oldest_games_go_first_and_one_stays() {
        let mut window = ReplayBuffer::default();
        window.extend([3, 5, 7].map(game));
        assert_eq!(window.len(), 15);
        window.shrink(12);
        assert_eq!(window.len(), 12);
        window.shrink(11);
        assert_eq!(window.len(), 7);
        window.shrink(0);
        assert_eq!(window.len(), 7);
        assert_eq!(ReplayBuffer::default().len(), 0);
    }

    #[test]
    fn draws_go_by_weight() {
        let sums = sums(&[0.5, 2.25, 0.0, 1.25]);
        let found: Vec<usize> = (0..16).map(|nth| pick(&sums, nth as f32 / 4.0)).collect();
        assert_eq!(found, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3]);
        assert_eq!(pick(&sums, 4.0), 3, "a rounding error beyond the last");
    }

    #[test]
    fn a_window_grows_slower_than_what_is_made() {
        assert_eq!(window_size(0, 1000), 1000);
        assert_eq!(window_size(1000, 1000), 1000);
        let sizes: Vec<_> = (1..50).map(|n| window_size(n * 1000, 1000)).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] < 1000));
    }
}
