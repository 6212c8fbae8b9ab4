//! The games of a match as BPGN, which `readers/bpgn.rs` reads back.

use std::fmt::Write;

use menagerie::rules::{Side, Table};
use menagerie::variant::Variant;

use super::TIME;
use crate::arena::game::{Played, result};
use crate::arena::pgn::{event, tag, termination, wrap};
use crate::arena::schedule::Schedule;
use crate::arena::spec::PlayerSpec;
use crate::readers::bpgn::{Ending, Seat};
use crate::san;

/// All games, each with its tags and the moves of both tables in the order of time, and in braces
/// the seconds that their movers had left. The tag `FEN` tells both boards' opening.
pub fn games(
    variant: &Variant,
    schedule: &Schedule,
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
    schedule: &Schedule,
    players: &[PlayerSpec],
    game: &Played,
) {
    let name = |side: Side| {
        let name = &schedule.names[schedule.ids[game.seats[side.index()]]];
        // How a game ended is told by the loser's name and what stands behind it.
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
    // The mark at the end is White's at the board that ended, which the detail begins with.
    let board = Seat::ALL.iter().find(|(_, key)| game.detail.starts_with(key));
    let white = match board.map(|(seat, _)| seat.board) {
        Some(Table::B) => result(&[game.scores[1], game.scores[0]]),
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
            let fate = match end {
                "checkmate" | "stalemate" => Ending::Mated,
                TIME => Ending::Time,
                "resignation" => Ending::Resigned,
                // Who makes an illegal move or ends leaves its seat.
                _ => Ending::Left,
            };
            format!("{{{} {}}}", name(side), fate.words())
        }
        (None, end) => format!("{{Game drawn by {end}}}"),
    };
    words.push(ending);
    words.push(white.to_owned());
    wrap(text, &words);
}

/// The moves of a game with their numbers and clocks: `1A. e4{59.512}`.
fn moves(variant: &Variant, game: &Played) -> Vec<String> {
    let mut words = Vec::new();
    let Ok(mut position) = variant.position(&game.start, false) else { return words };
    // A table at which Black begins has a first number whose White's move is missing.
    let mut plies = Table::ALL.map(|table| {
        position.at_table(table).map_or(0, |board| usize::from(board.view().turn.is_black()))
    });
    let mut left = game.left.iter();
    for turn in &game.turns {
        let ply = position.parse_turn(turn).and_then(|plies| plies.first().copied());
        let Some((board, m)) = ply.map(|ply| ply.split()) else { return words };
        let Some(table) = position.at_table(board) else { return words };
        let color = table.view().turn;
        let letter = if board == Table::A { 'a' } else { 'b' };
        let letter = if color.is_white() { letter.to_ascii_uppercase() } else { letter };
        let count = &mut plies[board as usize];
        let number = *count / 2 + 1;
        *count += 1;
        let san = san::write(&table, &[m]);
        // Servers write the letter of a pawn that is dropped.
        let pawn = if san.starts_with('@') { "P" } else { "" };
        let mut word = format!("{number}{letter}. {pawn}{san}");
        if let Some(left) = left.next() {
            // Writing into a String cannot fail.
            let _ = write!(word, "{{{}.{:03}}}", left / 1000, left % 1000);
        }
        words.push(word);
        position.play(m.at(board));
    }
    words
}
