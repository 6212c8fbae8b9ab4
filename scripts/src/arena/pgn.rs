//! The games of a match as PGN.

use std::fmt::Write;

use menagerie::rules::Side;
use menagerie::variant::Variant;

use super::game::{Played, result};
use super::schedule::MatchSchedule;
use menagerie::rules::san;

/// Maximum length of a line of moves, as in the export format of PGN.
const PGN_LINE_WIDTH: usize = 79;

/// Returns all games in PGN, with moves in algebraic notation. Games of more than two sides have a tag
/// `PlayerA` for each side instead of `White` and `Black`; if a side lost, the result is `*` and the tag
/// `Outcome` names the winner.
pub fn games(variant: &Variant, schedule: &MatchSchedule, games: &[Played]) -> String {
    let mut text = String::new();
    for game in games {
        write(&mut text, variant, schedule, game);
    }
    text
}

fn write(text: &mut String, variant: &Variant, schedule: &MatchSchedule, game: &Played) {
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
            || if result == "*" { "no winner".to_owned() } else { "draw".to_owned() },
            |side| format!("{} wins", side.letter()),
        );
        tag(text, "Outcome", &outcome);
    }
    tag(text, "Variant", variant.name());
    tag(text, "SetUp", "1");
    tag(text, "FEN", &game.start);
    termination(text, game);
    let sides = game.seats.len();
    // Both notations of castling are accepted.
    let mut position = variant.position(&game.start, false).ok();
    let first = position.as_ref().map_or(0, |start| start.turn().index());
    let mut words = Vec::new();
    for (index, turn) in game.turns.iter().enumerate() {
        let ply = first + index;
        if ply.is_multiple_of(sides) {
            words.push(format!("{}.", ply / sides + 1));
        } else if index == 0 {
            words.push(format!("{}...", ply / sides + 1));
        }
        let plies = position.as_ref().and_then(|position| position.parse_turn(turn));
        // A turn that cannot be replayed is written as it is stored, and so are all later turns.
        let Some((position, plies)) = position.as_mut().zip(plies) else {
            position = None;
            words.push(turn.clone());
            continue;
        };
        let mut word = san::write(position, &plies);
        if let Some(&left) = game.left.get(index) {
            word.push(' ');
            word.push_str(&clock(left));
        }
        words.push(word);
        for ply in plies {
            position.play_unchecked(ply);
        }
    }
    words.push(result.to_owned());
    wrap(text, &words);
}

/// Returns the comment that tells a clock of `milliseconds`, as chess servers write it.
fn clock(milliseconds: u64) -> String {
    let (hours, minutes) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60);
    let (seconds, thousandths) = (milliseconds / 1000 % 60, milliseconds % 1000);
    format!("{{[%clk {hours}:{minutes:02}:{seconds:02}.{thousandths:03}]}}")
}

/// Writes the tags of the event.
pub(super) fn event(text: &mut String, variant: &Variant, schedule: &MatchSchedule, game: &Played) {
    let round = schedule.game(game.number).0 + 1;
    tag(text, "Event", &format!("{} arena", variant.name()));
    tag(text, "Site", "Menagerie");
    tag(text, "Date", "????.??.??");
    tag(text, "Round", &format!("{round}.{}", game.number % schedule.seatings.len() as u64 + 1));
}

/// Writes the tags of the end of the game, and an empty line.
pub(super) fn termination(text: &mut String, game: &Played) {
    tag(text, "Termination", &game.end);
    if !game.detail.is_empty() {
        tag(text, "TerminationDetails", &game.detail);
    }
    text.push('\n');
}

/// Writes a tag pair.
pub(super) fn tag(text: &mut String, key: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "[{key} \"{value}\"]");
}

/// Writes the tokens of a game in lines, and an empty line.
pub(super) fn wrap(text: &mut String, tokens: &[String]) {
    let mut column = 0;
    for token in tokens {
        if column > 0 && column + 1 + token.len() > PGN_LINE_WIDTH {
            text.push('\n');
            column = 0;
        }
        if column > 0 {
            text.push(' ');
            column += 1;
        }
        column += token.len();
        text.push_str(token);
    }
    text.push_str("\n\n");
}
