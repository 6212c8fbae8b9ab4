//! Positions of recorded games and their values by the results of the games (the paper, section
//! III.C): V(s) = 0.99^(n - i) R after i of the n moves of a game, with R = 1 if side 0 won and -1 if
//! side 1 won; V = 0 at the start of the game.

use menagerie::rules::PackedMove;
use menagerie::variant::Variant;
use rand::seq::{SliceRandom, index};
use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use trainer::record::GameRecord;

use super::features::{Features, ToMove};

/// The factor of a position's value for each move until the end of the game.
const DISCOUNT: f64 = 0.99;

/// One of this number of games is in the test set, which has one position for this number of
/// positions of the training set.
const TEST_RATIO: usize = 10;

/// Positions and their values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples {
    /// The features of each position.
    pub features: Vec<Features>,
    /// The value V of each position.
    pub values: Vec<f32>,
}

impl Samples {
    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Positions of disjoint sets of games.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleSplit {
    /// The training set.
    pub train: Samples,
    /// The test set.
    pub test: Samples,
}

/// Errors of [`draw_samples`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SampleError {
    /// There are too few games with a winner.
    #[error("found {0} games with a winner, at least {TEST_RATIO} are needed")]
    TooFewGames(usize),
    /// A game has a move that is not legal.
    #[error("the game from \"{start}\" has an illegal move")]
    IllegalMove {
        /// The FEN of its start.
        start: String,
    },
}

/// Returns the value to side 0 of the position after `played` of the `total` moves of a game that
/// side `winner` won.
pub fn discounted_value(played: usize, total: usize, winner: u8) -> f32 {
    if played == 0 {
        return 0.0;
    }
    let result = if winner == 0 { 1.0 } else { -1.0 };
    let remaining = total.saturating_sub(played).min(i32::MAX as usize) as i32;
    (result * DISCOUNT.powi(remaining)) as f32
}

/// Draws `count` positions from nine tenths of the games with a winner as the training set, and a
/// tenth of that number from the other games as the test set. The same seed draws the same positions.
///
/// # Errors
/// If there are too few games, or one has an illegal move.
pub fn draw_samples(
    games: &[GameRecord],
    variant: &Variant,
    count: usize,
    seed: u64,
) -> Result<SampleSplit, SampleError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut won_games: Vec<&GameRecord> =
        games.iter().filter(|game| game.winner().is_some() && !game.plies.is_empty()).collect();
    if won_games.len() < TEST_RATIO {
        return Err(SampleError::TooFewGames(won_games.len()));
    }
    won_games.shuffle(&mut rng);
    let (test_games, train_games) = won_games.split_at(won_games.len() / TEST_RATIO);
    let train = draw_from(train_games, variant, count, &mut rng)?;
    let test = draw_from(test_games, variant, count / TEST_RATIO, &mut rng)?;
    Ok(SampleSplit { train, test })
}

/// Draws `count` positions of `games` with equal probability, or all if there are fewer.
fn draw_from(
    games: &[&GameRecord],
    variant: &Variant,
    count: usize,
    rng: &mut impl Rng,
) -> Result<Samples, SampleError> {
    // A game has its first position and one after each of its moves.
    let total = games.iter().map(|game| game.plies.len() + 1).sum();
    let mut drawn = index::sample(rng, total, count.min(total)).into_vec();
    drawn.sort_unstable();
    let mut drawn = drawn.into_iter().peekable();
    let mut samples = Samples::default();
    let mut first = 0;
    for game in games {
        let last = first + game.plies.len();
        let mut played_counts = Vec::new();
        while let Some(index) = drawn.next_if(|&index| index <= last) {
            played_counts.push(index - first);
        }
        if add_positions(game, variant, &played_counts, &mut samples).is_none() {
            return Err(SampleError::IllegalMove { start: game.start.clone() });
        }
        first = last + 1;
    }
    Ok(samples)
}

/// Adds the positions of a game after each of `played_counts` moves, which ascend. Returns `None` if
/// the game has no winner or an illegal move.
fn add_positions(
    game: &GameRecord,
    variant: &Variant,
    played_counts: &[usize],
    samples: &mut Samples,
) -> Option<()> {
    let winner = game.winner()?;
    let mut position = variant.position(&game.start, true).ok()?;
    let mut played = 0;
    for &count in played_counts {
        for ply in &game.plies[played..count] {
            if !position.play(PackedMove(ply.played).unpack()?) {
                return None;
            }
        }
        played = count;
        let to_move = match game.plies.get(count) {
            Some(ply) => {
                let m = PackedMove(ply.played).unpack()?;
                if !position.select_side_to_move(m) {
                    return None;
                }
                ToMove::of_move(&position, m)
            }
            None => ToMove::in_position(&position),
        };
        samples.features.push(Features::from_position(&position, to_move));
        samples.values.push(discounted_value(count, game.plies.len(), winner));
    }
    Some(())
}
