//! The games of a match in BPGN, which `readers/bpgn.rs` reads.

use std::fmt::Write;

use menagerie::rules::{BoardId, Side, san};
use menagerie::variant::Variant;

use super::END_BY_TIME;
use crate::arena::game::{Played, result};
use crate::arena::pgn::{event, tag, termination, wrap};
use crate::arena::schedule::MatchSchedule;
use crate::arena::spec::PlayerSpec;
use crate::readers::bpgn::{LossReason, Seat};

/// Returns all games: their tags, and the moves of both boards in the order of time, with the seconds left to
/// the movers in braces. The tag `FEN` has both boards.
pub fn games(
    variant: &Variant,
    schedule: &MatchSchedule,
    players: &[PlayerSpec],
    games: &[Played],
) -> String {
    let mut text = String::new();
    for game in games {
        write(&mut text, variant, schedule, players, game);
    }
    text
}

fn write(
    text: &mut String,
    variant: &Variant,
    schedule: &MatchSchedule,
    players: &[PlayerSpec],
    game: &Played,
) {
    let name = |side: Side| {
        let name = &schedule.names[schedule.ids[game.seats[side.index()]]];
        // The comment at the end is the name of the loser and a reason, separated by a space.
        name.replace([' ', '{', '}'], "_")
    };
    event(text, variant, schedule, game);
    for (seat, key) in Seat::ALL {
        tag(text, key, &name(seat.team()));
    }
    let times: Vec<String> =
        game.seats.iter().filter_map(|&seat| Some(players[seat].tc?.to_string())).collect();
    match &times[..] {
        [first, second] if first != second => {
            for (seat, key) in Seat::ALL {
                tag(text, &format!("TimeControl{key}"), &times[seat.team().index()]);
            }
        }
        [time, ..] => tag(text, "TimeControl", time),
        [] => {}
    }
    let loser = game.scores.iter().position(|&score| score < 0).map(Side::new);
    // The result is that of White on the board on which the game ended, which the detail begins with.
    let board = Seat::ALL.iter().find(|(_, key)| game.detail.starts_with(key));
    let white = match board.map(|(seat, _)| seat.board) {
        Some(BoardId::B) => result(&[game.scores[1], game.scores[0]]),
        _ => result(&game.scores),
    };
    tag(text, "Result", white);
    tag(text, "Variant", variant.name());
    if game.start != variant.start_fen() {
        tag(text, "SetUp", "1");
        tag(text, "FEN", &game.start);
    }
    termination(text, game);
    let mut words = moves(variant, game);
    let ending = match (loser, &*game.end) {
        (Some(side), end) => {
            let reason = match end {
                "checkmate" | "stalemate" => LossReason::Mate,
                END_BY_TIME => LossReason::Time,
                "resignation" => LossReason::Resignation,
                // An illegal move and a crash count as leaving the game.
                _ => LossReason::Disconnection,
            };
            format!("{{{} {}}}", name(side), reason.text())
        }
        (None, end) => format!("{{Game drawn by {end}}}"),
    };
    words.push(ending);
    words.push(white.to_owned());
    wrap(text, &words);
}

/// Returns the moves of a game with their numbers and clocks: `1A. e4{59.512}`.
fn moves(variant: &Variant, game: &Played) -> Vec<String> {
    let mut words = Vec::new();
    let Ok(mut position) = variant.position(&game.start, false) else { return words };
    // If Black moves first on a board, the first number has no move of White.
    let mut plies = BoardId::ALL.map(|board| {
        position.board_position(board).map_or(0, |board| usize::from(board.board().turn.is_black()))
    });
    let mut left = game.left.iter();
    for turn in &game.turns {
        let ply = position.parse_turn(turn).and_then(|plies| plies.first().copied());
        let Some(ply) = ply else { return words };
        let board = ply.board();
        let Some(state) = position.board_position(board) else { return words };
        let color = state.board().turn;
        let letter = if board == BoardId::A { 'a' } else { 'b' };
        let letter = if color.is_white() { letter.to_ascii_uppercase() } else { letter };
        let count = &mut plies[board as usize];
        let number = *count / 2 + 1;
        *count += 1;
        let san = san::write(&state, &[ply.on(BoardId::A)]);
        // Chess servers write the letter of a dropped pawn.
        let pawn = if san.starts_with('@') { "P" } else { "" };
        let mut word = format!("{number}{letter}. {pawn}{san}");
        if let Some(left) = left.next() {
            // Writing to a `String` cannot fail.
            let _ = write!(word, "{{{}.{:03}}}", left / 1000, left % 1000);
        }
        words.push(word);
        position.play(ply);
    }
    words
}
