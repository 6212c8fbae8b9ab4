//! The games that a network learns from at a time: the newest ones.

use std::collections::VecDeque;

use menagerie::encoding::Encoding;
use menagerie::variant::Variant;
use rand::{Rng, RngExt};

use crate::learner::Sample;
use crate::record::GameRecord;

/// The newest positions of self-play, from which samples are drawn evenly.
#[derive(Debug, Default)]
pub struct Window {
    games: VecDeque<GameRecord>,
    /// The number of positions before each game, counted from the first game ever taken in.
    before: VecDeque<u64>,
    end: u64,
}

impl Window {
    /// Takes games in at the new end.
    pub fn extend(&mut self, games: impl IntoIterator<Item = GameRecord>) {
        for game in games {
            self.before.push_back(self.end);
            self.end += game.plies.len() as u64;
            self.games.push_back(game);
        }
    }

    /// Lets the oldest games go until at most `positions` are left, or one game.
    pub fn shrink(&mut self, positions: u64) {
        while self.games.len() > 1 && self.len() > positions {
            self.games.pop_front();
            self.before.pop_front();
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

    /// A position drawn evenly; `None` if there is none, or if its game does not replay.
    pub fn draw(
        &self,
        variant: &Variant,
        encoding: &Encoding,
        rng: &mut impl Rng,
    ) -> Option<Sample> {
        let first = *self.before.front()?;
        let at = (first < self.end).then(|| rng.random_range(first..self.end))?;
        let game = self.before.partition_point(|before| *before <= at) - 1;
        self.games[game].sample(variant, encoding, (at - self.before[game]) as usize)
    }
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
        let ply = PlyRecord { played: 0, policy: Vec::new(), score: None, proven: None };
        let end = Some(End { winner: None, turns: 0 });
        GameRecord { start: String::new(), plies: vec![ply; plies], end }
    }

    #[test]
    fn the_oldest_games_go_first_and_one_stays() {
        let mut window = Window::default();
        window.extend([3, 5, 7].map(game));
        assert_eq!(window.len(), 15);
        window.shrink(12);
        assert_eq!(window.len(), 12);
        window.shrink(11);
        assert_eq!(window.len(), 7);
        window.shrink(0);
        assert_eq!(window.len(), 7);
        assert_eq!(Window::default().len(), 0);
    }

    #[test]
    fn a_window_grows_slower_than_what_is_made() {
        assert_eq!(window_size(0, 1000), 1000);
        assert_eq!(window_size(1000, 1000), 1000);
        let sizes: Vec<_> = (1..50).map(|n| window_size(n * 1000, 1000)).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] < 1000));
    }
}
