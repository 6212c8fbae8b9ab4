//! The games of a match as PGN.

use std::fmt::Write;

use menagerie::rules::Side;
use menagerie::variant::Variant;

use super::game::{Played, result};
use super::schedule::Schedule;
use crate::san;

/// Lines of moves are no longer, as PGN's export format has it.
const LONGEST: usize = 79;

/// All games, each with its tags and its turns as people write them. Games of more than two sides have
/// a tag for the player of each side's letter instead of White and Black, and `*` for a result
/// beside the tag `Outcome`.
pub fn games(variant: &Variant, schedule: &Schedule, games: &[Played]) -> String {
    let mut text = String::new();
    for game in games {
        write(&mut text, variant, schedule, game);
    }
    text
}

fn write(text: &mut String, variant: &Variant, schedule: &Schedule, game: &Played) {
    let name = |seat: &usize| schedule.names[schedule.ids[*seat]].as_str();
    let result = result(&game.scores);
    event(text, variant, schedule, game);
    if let [white, black] = &game.seats[..] {
        tag(text, "White", name(white));
        tag(text, "Black", name(black));
    } else {
        for (side, seat) in Side::all(game.seats.len()).zip(&game.seats) {
            tag(text, &format!("Player{}", side.letter().to_ascii_uppercase()), name(seat));
        }
    }
    tag(text, "Result", result);
    if game.seats.len() > 2 {
        let winner = game.scores.iter().position(|&score| score > 0).map(Side::new);
        let outcome = winner.map_or_else(
            || if result == "*" { "nobody wins".to_owned() } else { "draw".to_owned() },
            |side| format!("{} wins", side.letter()),
        );
        tag(text, "Outcome", &outcome);
    }
    tag(text, "Variant", variant.name());
    tag(text, "SetUp", "1");
    tag(text, "FEN", &game.start);
    termination(text, game);
    let sides = game.seats.len();
    // Castling is understood in either way of writing it.
    let mut position = variant.position(&game.start, false).ok();
    let first = position.as_ref().map_or(0, |start| start.turn().index());
    let mut words = Vec::new();
    for (index, turn) in game.turns.iter().enumerate() {
        let place = first + index;
        if place.is_multiple_of(sides) {
            words.push(format!("{}.", place / sides + 1));
        } else if index == 0 {
            words.push(format!("{}...", place / sides + 1));
        }
        let plies = position.as_ref().and_then(|position| position.parse_turn(turn));
        // A turn that does not replay stands as it was kept, and so do those behind it.
        let Some((position, plies)) = position.as_mut().zip(plies) else {
            position = None;
            words.push(turn.clone());
            continue;
        };
        words.push(san::write(position, &plies));
        plies.into_iter().for_each(|ply| position.play_unchecked(ply));
    }
    words.push(result.to_owned());
    wrap(text, &words);
}

/// Begins a game with the tags that tell where and when it was played.
pub(super) fn event(text: &mut String, variant: &Variant, schedule: &Schedule, game: &Played) {
    let round = schedule.game(game.number).0 + 1;
    tag(text, "Event", &format!("{} arena", variant.name()));
    tag(text, "Site", "Menagerie");
    tag(text, "Date", "????.??.??");
    tag(text, "Round", &format!("{round}.{}", game.number % schedule.seatings.len() as u64 + 1));
}

/// Ends its tags with those that tell how it ended.
pub(super) fn termination(text: &mut String, game: &Played) {
    tag(text, "Termination", &game.end);
    if !game.detail.is_empty() {
        tag(text, "TerminationDetails", &game.detail);
    }
    text.push('\n');
}

/// Adds a tag pair.
pub(super) fn tag(text: &mut String, key: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    // Writing into a String cannot fail.
    let _ = writeln!(text, "[{key} \"{value}\"]");
}

/// Adds the words of a game in lines, and an empty line behind it.
pub(super) fn wrap(text: &mut String, words: &[String]) {
    let mut column = 0;
    for word in words {
        if column > 0 && column + 1 + word.len() > LONGEST {
            text.push('\n');
            column = 0;
        }
        if column > 0 {
            text.push(' ');
            column += 1;
        }
        column += word.len();
        text.push_str(word);
    }
    text.push_str("\n\n");
}
