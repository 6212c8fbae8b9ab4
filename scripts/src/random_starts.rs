//! Random start positions of self-play games.

use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random plies at the start of games, in variants without random placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Opening {
    /// Share of games, 0 to 1, that start with random plies.
    pub share: f64,
    /// Greatest number of random plies. Each number from 1 to this is equally likely.
    pub plies: usize,
    /// Greatest expected score, 0 to 1, of a side at the start. Other starts are replaced; all are played if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_score: Option<f32>,
}

/// Probability that a piece other than a king is placed.
const PLACED_SHARE: f64 = 0.75;

/// Number of random games that are tried, each shorter than the one before, as many end early.
const TRIES: usize = 20;

/// Returns a start position of `variant`: randomly placed pieces if the variant has `selfPlayMen`, else
/// its own start, with the random plies of `opening`.
pub fn start(variant: &Variant, opening: &Opening, rng: &mut impl Rng) -> Position {
    match variant.self_play_pieces() {
        Some(pieces) => place_pieces(variant, pieces, rng),
        None if opening.plies > 0 && rng.random_bool(opening.share.clamp(0.0, 1.0)) => {
            let plies = rng.random_range(1..=opening.plies);
            play_random_plies(variant, plies, rng)
        }
        None => variant.start(),
    }
}

/// Returns the position after `plies` random plies, or fewer if those games end, between turns.
fn play_random_plies(variant: &Variant, plies: usize, rng: &mut impl Rng) -> Position {
    let mut legal = MoveList::new();
    for trial in 0..TRIES {
        let mut position = variant.start();
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
    variant.start()
}

/// Returns a position with a random part of `pieces` on random squares, a random side to move, in which
/// the game is not over.
fn place_pieces(variant: &Variant, pieces: &str, rng: &mut impl Rng) -> Position {
    let game_spec = variant.start().game_spec();
    loop {
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
