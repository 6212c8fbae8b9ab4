//! Teachers' games, a line each: `variant, start FEN, result, plies`, separated by tabs.
//!
//! The plies are separated by blanks: `best:score`, or `best:score/played` where another move than
//! the teacher's was played; where the teacher told more than one move, `best:score|next:score|..`.
//! Further fields are passed over. Moves are in UCI, castling as the king's two steps; scores are
//! centipawns of the mover, or `mN`: the mover mates in N moves, `m-N`: is mated. A ply without a
//! score (`best:`) and a ply of which the teacher says nothing (`:/played`) may stand, too. The
//! result is White's: `1-0`, `0-1`, `1/2-1/2`, or `*` if it is unknown.
//! Lines that begin with `#` are passed over.
//!
//! Games of two tables have a FEN of two, `A|B`, and the result of the team that has White at A. Their
//! plies are those of all four seats in the order of time, `1e2e4:score:clock` or
//! `1e2e4:score:clock/played`: the number of the table, and the seconds that the mover has left of
//! 180. What stands behind a mate at either table is left out.

use std::io;

use menagerie::rules::{Color, Table};
use menagerie::variant::Variant;

use super::clocks::Times;
use super::{Games, Lines, Replay, by_line, result};
use crate::eval_scale::Score;
use crate::record::GameRecord;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    by_line(lines, found, |line| game(line, variant))
}

/// The seconds that each player has at first, in games of two tables.
pub(crate) const CLOCK: f64 = 180.0;

/// Reads one line.
pub(crate) fn game(line: &str, variant: &Variant) -> Result<GameRecord, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, start, ended, plies, ..] = fields[..] else {
        return Err(format!("there are {} fields, not 4,", fields.len()));
    };
    // Games of two boards have the name of one, and FENs of two.
    let tables = start.contains('|');
    if name != variant.name() && !(tables && variant.has_tables()) {
        return Err(format!("it is a game of {name}, not of {},", variant.name()));
    }
    if tables && !variant.has_tables() {
        return Err("it is a game on two boards,".to_owned());
    }
    let mut replay = Replay::new(variant, start, false)?;
    replay.times = tables.then(|| Times::new(CLOCK));
    let ply = if tables { ply_at_table } else { ply };
    let end = result(ended)?;
    for text in plies.split_ascii_whitespace() {
        // Seats that had not heard of a mate at the other table moved on.
        if let Some(outcome) = replay.position.outcome().filter(|_| tables) {
            let winner = outcome.winner.map(|side| side.index() as u8);
            if end.is_some_and(|end| end.winner != winner) {
                return Err(format!("it ended before \"{text}\" with another result,"));
            }
            break;
        }
        ply(&mut replay, text).map_err(|reason| format!("ply \"{text}\": {reason}"))?;
    }
    if replay.record.plies.is_empty() {
        return Err("there are no plies".to_owned());
    }
    Ok(replay.finish(end))
}

fn ply(replay: &mut Replay, text: &str) -> Result<(), String> {
    let (told, played) = match text.split_once('/') {
        Some((told, played)) => (told, Some(played)),
        None => (text, None),
    };
    let mut best = Vec::new();
    for part in told.split('|') {
        let (turn, score) = part.split_once(':').ok_or("it has no score,")?;
        let score = expected(score)?;
        match (turn.is_empty(), score) {
            (false, score) => best.push((replay.turn(turn)?, score)),
            (true, Some(_)) => return Err("it has a score of no move,".to_owned()),
            (true, None) => {}
        }
    }
    let turn = match (played, best.first()) {
        (Some(played), _) => replay.turn(played)?,
        (None, Some((turn, _))) => turn.clone(),
        (None, None) => return Err("it names no move,".to_owned()),
    };
    replay.play(&turn, &best);
    Ok(())
}

/// A ply at one of two tables.
fn ply_at_table(replay: &mut Replay, text: &str) -> Result<(), String> {
    let (told, played) = match text.split_once('/') {
        Some((told, played)) => (told, Some(played)),
        None => (text, None),
    };
    let [turn, score, clock] = told.split(':').collect::<Vec<_>>()[..] else {
        return Err("it is no move with its score and clock,".to_owned());
    };
    let table = match turn.chars().next() {
        Some('1') => Table::A,
        Some('2') => Table::B,
        _ => return Err(format!("\"{turn}\" names no table,")),
    };
    let best = replay.turn(turn)?;
    let score = expected(score)?;
    let turn = match played {
        Some(played) => replay.turn(&format!("{}{played}", table as usize + 1))?,
        None => best.clone(),
    };
    let clock = clock.parse::<f64>().ok().filter(|it| it.is_finite());
    let clock = clock.ok_or_else(|| "its clock is no number,".to_owned())?;
    let on_turn = replay.position.at_table(table).map(|board| board.view().turn);
    replay.play(&turn, &[(best, score)]);
    replay.tell(table, on_turn.unwrap_or(Color::White), Some(clock));
    Ok(())
}

/// The expected score of the mover; `None` if nothing is told.
fn expected(text: &str) -> Result<Option<f32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let (kind, number): (fn(i32) -> Score, _) = match text.strip_prefix('m') {
        Some(number) => (Score::Mate, number),
        None => (Score::Centipawns, text),
    };
    let number = number.parse().map_err(|_| format!("\"{text}\" is no score,"))?;
    Ok(Some(kind(number).expected()))
}
