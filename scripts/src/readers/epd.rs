//! Positions with their best moves in EPD: a line each, the first four fields of a FEN (in games of
//! rows, all of it), then operations that end in `;`.
//!
//! `bm` are the best moves, all as good as each other; `ce` is the mover's score in centipawns, `dm`
//! in how many moves it mates. Others are passed over, such as `id`, `acd`, and also `am`: what is to
//! be avoided tells no network what to play. Of a turn of two plies the first is learned. The
//! counters of a FEN may stand behind the four fields.

use std::io;

use menagerie::variant::Variant;

use super::{Games, Lines, by_line, policy};
use crate::eval_scale::Score;
use crate::record::{GameRecord, NO_MOVE, PlyRecord};
use crate::san;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    by_line(lines, found, |line| position(line, variant))
}

/// One line: a record of one position that nobody played on from.
fn position(line: &str, variant: &Variant) -> Result<GameRecord, String> {
    let (start, rest) = fen(line, if variant.start().game_spec().places { 2 } else { 4 });
    let position = variant.position(start, false).map_err(|error| error.to_string())?;
    // Records are read back as of Chess960, whose FEN tells the rooks in any case.
    variant.position(start, true).map_err(|error| error.to_string())?;
    let (mut best, mut cp, mut mate) = (Vec::new(), None, None);
    for operation in operations(rest)? {
        let (code, operand) = operation.split_once(char::is_whitespace).unwrap_or((operation, ""));
        let number =
            || operand.trim().parse::<i32>().map_err(|_| format!("\"{operation}\" has no number,"));
        match code {
            "bm" => {
                for text in operand.split_ascii_whitespace().map(|text| text.trim_end_matches(','))
                {
                    let turn = san::read(&position, text).map_err(|error| error.to_string())?;
                    // Equal scores make equal shares.
                    best.extend(turn.first().map(|&m| (m, Some(0.0))));
                }
            }
            "ce" => cp = Some(Score::Centipawns(number()?)),
            "dm" => mate = Some(Score::Mate(number()?)),
            _ => {}
        }
    }
    let score = mate.or(cp).map(Score::expected);
    if best.is_empty() && score.is_none() {
        return Err("neither bm, ce nor dm tells anything to learn".to_owned());
    }
    let ply =
        PlyRecord { played: NO_MOVE, policy: policy(&best), score, proven: None, surprise: None };
    Ok(GameRecord { start: start.to_owned(), plies: vec![ply], end: None, ..GameRecord::default() })
}

/// Cuts a line behind the FEN: so many fields, and what else has digits and no letters.
fn fen(line: &str, fields: usize) -> (&str, &str) {
    let line = line.trim();
    let mut end = 0;
    for nth in 0.. {
        let rest = line[end..].trim_start();
        let field = rest.split([' ', '\t', ';']).next().unwrap_or(rest);
        let counter = field.starts_with(|c: char| c.is_ascii_digit() || c == '+');
        if field.is_empty() || nth >= fields && !counter {
            break;
        }
        end = line.len() - rest.len() + field.len();
    }
    line.split_at(end)
}

/// The operations of a line; what stands in quotes may have `;` in it.
fn operations(text: &str) -> Result<Vec<&str>, String> {
    let mut quoted = false;
    let parts = text.split(|c: char| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    if quoted { Err("a quote has no end".to_owned()) } else { Ok(parts) }
}
