//! The replay buffer: the newest games of self-play, from which training samples are drawn.

use std::collections::VecDeque;
use std::sync::Arc;

use menagerie::encoding::Encoding;
use menagerie::variant::Variant;
use rand::{Rng, RngExt};

use crate::learner::TrainingSample;
use crate::record::{CheckedGame, GamePlace, GameRecord, InvalidGame, Sampler, Targets};

/// The newest positions of self-play in one variant. Draws are even over all positions, or, within a
/// game, weighted by policy surprise ([`GameRecord::weights`]).
#[derive(Debug)]
pub struct ReplayBuffer {
    variant: Arc<Variant>,
    games: VecDeque<CheckedGame>,
    /// The number of positions before each game, counted from the first game ever added.
    before: VecDeque<u64>,
    end: u64,
    /// Share of the draws that is weighted by surprise, 0 to 1.
    surprise: f64,
    /// The cumulative weights of the plies of each game; empty if draws are even.
    cumulative: VecDeque<Vec<f32>>,
}

/// Why no sample can be drawn.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DrawError {
    /// There are no positions.
    #[error("the games have no positions")]
    Empty,
    /// A position has no sample.
    #[error("{place}, from \"{start}\": ply {ply} has no sample in its variant")]
    Sample {
        /// Where the game is.
        place: GamePlace,
        /// The FEN of its start.
        start: String,
        /// The number of the ply, from 1.
        ply: usize,
    },
}

impl ReplayBuffer {
    /// Returns an empty buffer for games of `variant`. `surprise` is the share of the draws within a
    /// game, 0 to 1, that is weighted by surprise.
    pub fn new(variant: Arc<Variant>, surprise: f64) -> ReplayBuffer {
        ReplayBuffer {
            variant,
            games: VecDeque::new(),
            before: VecDeque::new(),
            end: 0,
            surprise,
            cumulative: VecDeque::new(),
        }
    }

    /// Adds the games of `file` as the newest ones.
    ///
    /// # Errors
    /// [`InvalidGame`] for the first invalid one; those before it are added.
    pub fn extend(
        &mut self,
        file: &str,
        games: impl IntoIterator<Item = GameRecord>,
    ) -> Result<(), InvalidGame> {
        let file: Arc<str> = file.into();
        for (number, game) in (1..).zip(games) {
            let place = GamePlace { file: Arc::clone(&file), number };
            let game = CheckedGame::new(Arc::clone(&self.variant), game, place)?;
            self.before.push_back(self.end);
            self.end += game.record().plies.len() as u64;
            if self.surprise > 0.0 {
                self.cumulative.push_back(cumulative(&game.record().weights(self.surprise)));
            }
            self.games.push_back(game);
        }
        Ok(())
    }

    /// Removes the oldest games until at most `positions` are left, or one game.
    pub fn shrink(&mut self, positions: u64) {
        while self.games.len() > 1 && self.len() > positions {
            self.games.pop_front();
            self.before.pop_front();
            self.cumulative.pop_front();
        }
    }

    /// The games, oldest first.
    pub fn games(&self) -> impl Iterator<Item = &GameRecord> + Clone {
        self.games.iter().map(CheckedGame::record)
    }

    /// The number of positions.
    pub fn len(&self) -> u64 {
        self.before.front().map_or(0, |first| self.end - first)
    }

    /// Returns `true` if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sample of a random position.
    ///
    /// # Errors
    /// [`DrawError`].
    pub fn draw(
        &self,
        encoding: &Encoding,
        rng: &mut impl Rng,
    ) -> Result<TrainingSample, DrawError> {
        if self.is_empty() {
            return Err(DrawError::Empty);
        }
        let drawn = rng.random_range(self.end - self.len()..self.end);
        let game = self.before.partition_point(|before| *before <= drawn) - 1;
        let even = (drawn - self.before[game]) as usize;
        let nth = match self.cumulative.get(game) {
            // The weights of a game sum to the number of its plies.
            Some(cumulative) => pick(cumulative, even as f32 + rng.random::<f32>()),
            None => even,
        };
        let sampler = Sampler { variant: &self.variant, encoding, targets: Targets::default() };
        let game = &self.games[game];
        sampler.sample_checked(game, nth, false).ok_or_else(|| DrawError::Sample {
            place: game.place().clone(),
            start: game.record().start.clone(),
            ply: nth + 1,
        })
    }
}

/// Returns the sums of the weights up to and including each of them.
fn cumulative(weights: &[f64]) -> Vec<f32> {
    let mut sum = 0.0;
    let mut sums = Vec::with_capacity(weights.len());
    for weight in weights {
        sum += weight;
        sums.push(sum as f32);
    }
    sums
}

/// Returns the index of the first sum above `level`, or the last index.
fn pick(cumulative: &[f32], level: f32) -> usize {
    cumulative.partition_point(|sum| *sum <= level).min(cumulative.len().saturating_sub(1))
}

/// Returns the number of positions in the buffer once `generated` have been generated in all: it grows as
/// a power of them, as in KataGo (Wu 2019, appendix C), starting at `min`.
pub fn window_size(generated: u64, min: u64) -> u64 {
    const ALPHA: f64 = 0.75;
    const BETA: f64 = 0.4;
    let ratio = generated.max(min) as f64 / min.max(1) as f64;
    (min as f64 * (1.0 + BETA * (ratio.powf(ALPHA) - 1.0) / ALPHA)) as u64
}

#[cfg(test)]
mod tests {
    use menagerie::rules::MoveList;
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::record::{End, PlyRecord};

    fn variant() -> Arc<Variant> {
        Catalogue::shipped().get("chess").expect("it is shipped")
    }

    /// A game in which the first legal move is played `plies` times.
    fn game(plies: usize) -> GameRecord {
        let mut position = variant().start();
        let mut record = GameRecord { start: position.fen(), ..GameRecord::default() };
        record.end = Some(End { winner: None, turns: 0 });
        let mut legal = MoveList::new();
        for _ in 0..plies {
            position.legal_moves(&mut legal);
            record.plies.push(PlyRecord {
                played: legal[0].pack().0,
                policy: Vec::new(),
                score: None,
                proven: None,
                surprise: None,
            });
            position.play_unchecked(legal[0]);
        }
        record
    }

    #[test]
    fn shrink_removes_oldest_games_and_keeps_one() {
        let mut buffer = ReplayBuffer::new(variant(), 0.0);
        assert_eq!(buffer.len(), 0);
        buffer.extend("some.games", [3, 5, 7].map(game)).expect("valid games");
        assert_eq!(buffer.len(), 15);
        buffer.shrink(12);
        assert_eq!(buffer.len(), 12);
        buffer.shrink(11);
        assert_eq!(buffer.len(), 7);
        buffer.shrink(0);
        assert_eq!(buffer.len(), 7);
    }

    #[test]
    fn extend_refuses_invalid_games() {
        let mut buffer = ReplayBuffer::new(variant(), 0.0);
        let mut illegal = game(3);
        illegal.plies[1].played = 0;
        let error = buffer.extend("some.games", [game(2), illegal]).expect_err("an illegal move");
        assert_eq!(error.place.to_string(), "some.games, game 2");
        assert_eq!(buffer.len(), 2);
    }

    #[test]
    fn draws_follow_weights() {
        let sums = cumulative(&[0.5, 2.25, 0.0, 1.25]);
        let found: Vec<usize> = (0..16).map(|nth| pick(&sums, nth as f32 / 4.0)).collect();
        assert_eq!(found, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3]);
        assert_eq!(pick(&sums, 4.0), 3, "a rounding error beyond the last");
    }

    #[test]
    fn window_grows_slower_than_generated_positions() {
        assert_eq!(window_size(0, 1000), 1000);
        assert_eq!(window_size(1000, 1000), 1000);
        let sizes: Vec<_> = (1..50).map(|n| window_size(n * 1000, 1000)).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] < 1000));
    }
}
