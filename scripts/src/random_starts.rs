//! Where self-play games begin.

use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// How games begin where the variant does not say so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Opening {
    /// The share of games that begin with random plies.
    pub share: f64,
    /// They are from 1 to so many, each number as likely as another.
    pub plies: usize,
}

/// A start for a game of `variant`: random men on random squares where the variant says so
/// (`selfPlayMen`), else its own start or what some random plies make of it.
pub fn start(variant: &Variant, opening: &Opening, rng: &mut impl Rng) -> Position {
    match variant.self_play_men() {
        Some(men) => placed(variant, men, rng),
        None if opening.plies > 0 && rng.random_bool(opening.share.clamp(0.0, 1.0)) => {
            let plies = rng.random_range(1..=opening.plies);
            wandered(variant, plies, rng)
        }
        None => variant.start(),
    }
}

/// Random games are cut short so often before one is long enough that a shorter one will do.
const TRIES: usize = 20;

/// The start after random plies, of a game that is not over and between turns.
fn wandered(variant: &Variant, plies: usize, rng: &mut impl Rng) -> Position {
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

/// Random men of `men` on random squares, either side to move, in a game that is not over.
fn placed(variant: &Variant, men: &str, rng: &mut impl Rng) -> Position {
    let game_spec = variant.start().game_spec();
    loop {
        let royal = |man: char| man.eq_ignore_ascii_case(&'k');
        let men: Vec<_> = men.chars().filter(|&man| royal(man) || rng.random_bool(KEPT)).collect();
        let mut squares: Vec<_> = (0..game_spec.files * game_spec.ranks).collect();
        squares.shuffle(rng);
        let board = board(&men, &squares, game_spec.files, game_spec.ranks);
        let side = if rng.random() { 'w' } else { 'b' };
        let fen = format!("{board} {side} - - 0 1");
        let position = variant.position(&fen, false).ok();
        let playable =
            position.filter(|found| !found.opponent_in_check() && found.result().is_none());
        if let Some(position) = playable {
            return position;
        }
    }
}

/// How likely a man that is not a king stands in a random start: most placings have many men.
const KEPT: f64 = 0.75;

/// The board part of a FEN: each man on the square of its place in the list, squares counted from
/// the lower left. Men without a square are left out.
pub fn board(men: &[char], squares: &[usize], files: usize, ranks: usize) -> String {
    let rank_text = |rank: usize| {
        (0..files)
            .map(|file| {
                let square = rank * files + file;
                men.iter().zip(squares).find(|(_, at)| **at == square).map_or('1', |(man, _)| *man)
            })
            .collect::<String>()
    };
    (0..ranks).rev().map(rank_text).collect::<Vec<_>>().join("/")
}
