//! Positions and variants of any bytes.

use menagerie::encoding::Encoding;
use menagerie::rules::{Position, perft};
use menagerie::variant::{Catalogue, Variant};

use crate::laws;

/// The maximum number of plies that are played.
const MAX_PLIES: usize = 24;
/// The maximum number of positions in a count of paths.
const MAX_POSITIONS: usize = 4000;

/// Reads a byte for the variant, a FEN up to the end of the line, and a byte for each move.
///
/// # Panics
/// If an accepted position breaks the contract, or the error of a refused one does not quote it.
pub fn fen(data: &[u8]) {
    let Some((&variant, rest)) = data.split_first() else { return };
    let variants: Vec<_> = Catalogue::shipped().iter().collect();
    let variant = variants[usize::from(variant) % variants.len()];
    let end = rest.iter().position(|&byte| byte == b'\n');
    let (text, moves) = rest.split_at(end.unwrap_or(rest.len()));
    let text = String::from_utf8_lossy(text);
    for chess960 in [false, true] {
        match variant.position(&text, chess960) {
            Ok(position) => check_contract(variant, position, true, chess960, moves),
            Err(error) => assert!(error.to_string().contains(&*text), "{error}"),
        }
    }
}

/// Reads a text in the syntax of `variants.ini`.
///
/// # Panics
/// If an accepted variant breaks the contract, or an error does not name its line.
pub fn ini(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = 1 + text.matches(['\n', '\r']).count();
    let (catalogue, faults) = Catalogue::shipped().extended(&text);
    for error in faults.iter().map(ToString::to_string) {
        let line = error.strip_prefix("line ").and_then(|rest| rest.split(':').next());
        let line = line.and_then(|line| line.parse::<usize>().ok());
        let is_valid = line.is_some_and(|line| (1..=lines).contains(&line));
        assert!(is_valid, "{error}");
    }
    // A FEN does not contain that castling has won.
    let has_full_fen = !text.contains("castlingWins");
    let shipped = Catalogue::shipped().iter().count();
    for variant in catalogue.iter().skip(shipped) {
        check_contract(variant, variant.start(), has_full_fen, false, data);
        let mut positions = MAX_POSITIONS;
        if let Some(count) = count_paths(&variant.start(), 2, &mut positions) {
            assert_eq!(perft(&variant.start(), 2), count, "{}", variant.start_fen());
        }
    }
}

/// Plays a move for each byte, and checks the contract of every position. The FEN of a position is parsed again if
/// it is complete.
fn check_contract(
    variant: &Variant,
    position: Position,
    has_full_fen: bool,
    chess960: bool,
    moves: &[u8],
) {
    let encoding = Encoding::of(&variant.start());
    let mut moves = moves.iter().take(MAX_PLIES);
    let positions = laws::play(position, |legal| moves.next().map(|&byte| usize::from(byte) % legal));
    if has_full_fen {
        laws::check(variant, &positions[0], chess960);
    }
    // A king that can be captured may be, and no FEN has a board without it.
    let is_possible = has_full_fen && !positions[0].opponent_in_check();
    for position in &positions {
        laws::check_moves(position);
        if is_possible && !position.mid_turn() {
            laws::check_same(position, &parse_again(variant, position, chess960));
        }
        laws::check_encoding(&encoding, position);
        let _ = (position.result(), position.claimable_outcome_in_search(), position.opponent_in_check());
    }
}

/// Returns the position parsed from its own FEN.
fn parse_again(variant: &Variant, position: &Position, chess960: bool) -> Position {
    variant.position(&position.fen(), chess960).unwrap_or_else(|error| panic!("{error}"))
}

/// Counts the paths of `depth` whole turns by playing each; `None` if there are more positions than
/// `remaining`.
fn count_paths(position: &Position, depth: u32, remaining: &mut usize) -> Option<u64> {
    if depth == 0 {
        return Some(1);
    }
    let mut sum = 0;
    for m in laws::legal_moves(position) {
        *remaining = remaining.checked_sub(1)?;
        let mut next = position.clone();
        next.play_unchecked(m);
        sum += count_paths(&next, depth - u32::from(!next.mid_turn()), remaining)?;
    }
    Some(sum)
}
