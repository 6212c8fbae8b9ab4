//! Where self-play games begin.

use menagerie::rules::Position;
use menagerie::variant::Variant;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

/// A start for a game of `variant`: random men on random squares where the variant says so
/// (`selfPlayMen`), else its own start.
pub fn start(variant: &Variant, rng: &mut impl Rng) -> Position {
    let Some(men) = variant.self_play_men() else { return variant.start() };
    let anatomy = variant.start().anatomy();
    loop {
        let royal = |man: char| man.eq_ignore_ascii_case(&'k');
        let men: Vec<_> = men.chars().filter(|&man| royal(man) || rng.random_bool(KEPT)).collect();
        let mut squares: Vec<_> = (0..anatomy.files * anatomy.ranks).collect();
        squares.shuffle(rng);
        let board = board(&men, &squares, anatomy.files, anatomy.ranks);
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
