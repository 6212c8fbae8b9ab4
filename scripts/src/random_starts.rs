//! Random start positions of self-play games.

use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The start of games: a position, and random plies from there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Opening {
    /// FENs that games start from, each with the same probability; one that occurs twice is twice as likely. If empty,
    /// games start from the start position of the variant, or from randomly placed pieces if it has `selfPlayMen`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<String>,
    /// Share of games, 0 to 1, that start with random plies.
    pub share: f64,
    /// Greatest number of random plies. Each number from 1 to this is equally likely.
    pub plies: usize,
    /// Greatest expected score, 0 to 1, of a side at the start. Other starts are replaced; all are played if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_score: Option<f32>,
}

/// A FEN of [`Opening::starts`] that no game can start from.
#[derive(Debug, thiserror::Error)]
#[error("no game starts from \"{fen}\": {reason}")]
pub struct StartError {
    fen: String,
    reason: String,
}

impl Opening {
    /// Returns the positions of `starts`.
    ///
    /// # Errors
    /// [`StartError`] for a FEN that the variant has not, in which the game is over, or in the middle of a turn.
    pub fn positions(&self, variant: &Variant) -> Result<Vec<Position>, StartError> {
        let parse = |fen: &String| {
            let error = |reason| StartError { fen: fen.clone(), reason };
            let position = variant.position(fen, false).map_err(|it| error(it.to_string()))?;
            if position.result().is_some() {
                return Err(error("the game is over".to_owned()));
            }
            if position.mid_turn() {
                return Err(error("it is in the middle of a turn".to_owned()));
            }
            Ok(position)
        };
        self.starts.iter().map(parse).collect()
    }
}

/// Probability that a piece other than a king is placed.
const PLACED_SHARE: f64 = 0.75;

/// Number of random games that are tried, each shorter than the one before, as many end early.
const TRIES: usize = 20;

/// Returns the start of a game of `variant`: one of `positions`, which are those of [`Opening::positions`], or if there
/// are none its own start, with the random plies of `opening`, or randomly placed pieces if it has `selfPlayMen`.
pub fn start(
    variant: &Variant,
    opening: &Opening,
    positions: &[Position],
    rng: &mut impl Rng,
) -> Position {
    let first = match (positions.choose(rng), variant.self_play_pieces()) {
        (Some(position), _) => position.clone(),
        (None, Some(pieces)) => return place_pieces(variant, pieces, rng),
        (None, None) => variant.start(),
    };
    if opening.plies > 0 && rng.random_bool(opening.share.clamp(0.0, 1.0)) {
        let plies = rng.random_range(1..=opening.plies);
        play_random_plies(first, plies, rng)
    } else {
        first
    }
}

/// Returns the position after `plies` random plies from `first`, or fewer if those games end, between turns.
fn play_random_plies(first: Position, plies: usize, rng: &mut impl Rng) -> Position {
    let mut legal = MoveList::new();
    for trial in 0..TRIES {
        let mut position = first.clone();
        let plies = plies - plies * trial / TRIES;
        let mut played = 0;
        while played < plies || position.mid_turn() {
            position.legal_moves(&mut legal);
            let Some(&m) = legal.choose(rng) else { break };
            position.play_unchecked(m);
            played += 1;
        }
        if !position.mid_turn() && position.result().is_none() {
            return position;
        }
    }
    first
}

/// Number of random placements that are tried. In some variants the game is over in most positions.
const PLACEMENT_TRIES: usize = 10_000;

/// Returns a position with a random part of `pieces` on random squares, a random side to move, in which
/// the game is not over; the start position of the variant if none is found.
fn place_pieces(variant: &Variant, pieces: &str, rng: &mut impl Rng) -> Position {
    let game_spec = variant.start().game_spec();
    for _ in 0..PLACEMENT_TRIES {
        let is_king = |piece: char| piece.eq_ignore_ascii_case(&'k');
        let placed: Vec<char> = pieces
            .chars()
            .filter(|&piece| is_king(piece) || rng.random_bool(PLACED_SHARE))
            .collect();
        let mut squares: Vec<usize> = (0..game_spec.files * game_spec.ranks).collect();
        squares.shuffle(rng);
        let board = board_fen(&placed, &squares, game_spec.files, game_spec.ranks);
        let side = if rng.random() { 'w' } else { 'b' };
        if let Ok(position) = variant.position(&format!("{board} {side} - - 0 1"), false)
            && !position.opponent_in_check()
            && position.result().is_none()
        {
            return position;
        }
    }
    variant.start()
}

/// Returns the board field of a FEN with each piece on the square at its index of `squares`, which count
/// from the lower left. Pieces without a square are left out.
fn board_fen(pieces: &[char], squares: &[usize], files: usize, ranks: usize) -> String {
    let piece_at = |square: usize| {
        let found = pieces.iter().zip(squares).find(|(_, at)| **at == square);
        found.map_or('1', |(piece, _)| *piece)
    };
    let rank =
        |rank: usize| (0..files).map(|file| piece_at(rank * files + file)).collect::<String>();
    (0..ranks).rev().map(rank).collect::<Vec<_>>().join("/")
}
