//! Hostile positions and hostile games.

use menagerie::encoding::Encoding;
use menagerie::rules::{Position, perft};
use menagerie::variant::{Catalogue, Variant};

use crate::laws;

/// So many plies are played, at most.
const PLIES: usize = 24;
/// Counting ends after so many positions.
const PATHS: usize = 4000;

/// A byte for the game, a FEN up to the end of the line, and a byte for each move from there on.
///
/// # Panics
/// If a position that was accepted does not keep the contract, or one was refused without being
/// quoted.
pub fn fen(data: &[u8]) {
    let Some((&game, rest)) = data.split_first() else { return };
    let games: Vec<_> = Catalogue::shipped().iter().collect();
    let variant = games[usize::from(game) % games.len()];
    let end = rest.iter().position(|&byte| byte == b'\n');
    let (text, moves) = rest.split_at(end.unwrap_or(rest.len()));
    let text = String::from_utf8_lossy(text);
    for chess960 in [false, true] {
        match variant.position(&text, chess960) {
            Ok(position) => keeps_the_contract(variant, position, true, chess960, moves),
            Err(error) => assert!(error.to_string().contains(&*text), "{error}"),
        }
    }
}

/// A text in the syntax of `variants.ini`.
///
/// # Panics
/// If a game that was accepted does not keep the contract, or something was refused without telling
/// where it stands.
pub fn ini(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = 1 + text.matches(['\n', '\r']).count();
    let (catalogue, faults) = Catalogue::shipped().extended(&text);
    for error in faults.iter().map(ToString::to_string) {
        let line = error.strip_prefix("line ").and_then(|rest| rest.split(':').next());
        let line = line.and_then(|line| line.parse::<usize>().ok());
        let there = line.is_some_and(|line| (1..=lines).contains(&line));
        assert!(there, "{error}");
    }
    // A FEN does not tell that castling has won.
    let told = !text.contains("castlingWins");
    let shipped = Catalogue::shipped().iter().count();
    for variant in catalogue.iter().skip(shipped) {
        keeps_the_contract(variant, variant.start(), told, false, data);
        let mut paths = PATHS;
        if let Some(count) = count(&variant.start(), 2, &mut paths) {
            assert_eq!(perft(&variant.start(), 2), count, "{}", variant.start_fen());
        }
    }
}

/// Plays a move for each byte, and holds every position on the way to the contract; its FEN is read
/// again if it tells all that there is.
fn keeps_the_contract(
    variant: &Variant,
    position: Position,
    told: bool,
    chess960: bool,
    moves: &[u8],
) {
    let encoding = Encoding::of(&variant.start());
    let mut moves = moves.iter().take(PLIES);
    let way = laws::play(position, |legal| moves.next().map(|&byte| usize::from(byte) % legal));
    if told {
        laws::check(variant, &way[0], chess960);
    }
    // Where the king could be taken it may be, and no FEN tells of a board without it.
    let possible = told && !way[0].opponent_in_check();
    for position in &way {
        laws::check_moves(position);
        if possible && !position.mid_turn() {
            laws::check_same(position, &again(variant, position, chess960));
        }
        laws::check_encoding(&encoding, position);
        let _ = (position.result(), position.claim_in_search(), position.opponent_in_check());
    }
}

/// The position read from its own FEN.
fn again(variant: &Variant, position: &Position, chess960: bool) -> Position {
    variant.position(&position.fen(), chess960).unwrap_or_else(|error| panic!("{error}"))
}

/// The number of paths of `depth` whole turns, by playing each; `None` if they are too many.
fn count(position: &Position, depth: u32, paths: &mut usize) -> Option<u64> {
    if depth == 0 {
        return Some(1);
    }
    let mut sum = 0;
    for m in laws::legal_moves(position) {
        *paths = paths.checked_sub(1)?;
        let mut next = position.clone();
        next.play_unchecked(m);
        sum += count(&next, depth - u32::from(!next.mid_turn()), paths)?;
    }
    Some(sum)
}
