//! Teachers' games, a line each: `variant, start FEN, result, plies`, separated by tabs.
//!
//! The plies are separated by blanks: `best:score`, or `best:score/played` where another move than
//! the teacher's was played; where the teacher told more than one move, `best:score|next:score|..`.
//! Further fields are passed over. Moves are in UCI, castling as the king's two steps; scores are
//! centipawns of the mover, or `mN`: the mover mates in N moves, `m-N`: is mated. A ply without a
//! score (`best:`) and a ply of which the teacher says nothing (`:/played`) may stand, too. The
//! result is White's: `1-0`, `0-1`, `1/2-1/2`, or `*` if it is unknown.
//! Lines that begin with `#` are passed over.

use std::io;

use menagerie::variant::Variant;

use super::{Games, Lines, Replay, by_line, result};
use crate::record::GameRecord;
use crate::score::Score;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    by_line(lines, found, |line| game(line, variant))
}

/// One line.
fn game(line: &str, variant: &Variant) -> Result<GameRecord, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, start, ended, plies, ..] = fields[..] else {
        return Err(format!("there are {} fields, not 4,", fields.len()));
    };
    if name != variant.name() {
        return Err(format!("it is a game of {name}, not of {},", variant.name()));
    }
    if start.contains('|') {
        return Err("it is a game on two boards, for which there are no rules yet,".to_owned());
    }
    let mut replay = Replay::new(variant, start, false)?;
    for text in plies.split_ascii_whitespace() {
        ply(&mut replay, text).map_err(|reason| format!("ply \"{text}\": {reason}"))?;
    }
    if replay.record.plies.is_empty() {
        return Err("there are no plies".to_owned());
    }
    Ok(replay.finish(result(ended)?))
}

fn ply(replay: &mut Replay, text: &str) -> Result<(), String> {
    let (told, played) = match text.split_once('/') {
        Some((told, played)) => (told, Some(played)),
        None => (text, None),
    };
    let mut best = Vec::new();
    for part in told.split('|') {
        let (turn, score) = part.split_once(':').ok_or("it has no score,")?;
        let score = if score.is_empty() { None } else { Some(self::score(score)?.expected()) };
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

fn score(text: &str) -> Result<Score, String> {
    let (kind, number): (fn(i32) -> Score, _) = match text.strip_prefix('m') {
        Some(number) => (Score::Mate, number),
        None => (Score::Centipawns, text),
    };
    number.parse().map(kind).map_err(|_| format!("\"{text}\" is no score,"))
}
