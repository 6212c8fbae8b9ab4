//! Positions with best moves in EPD, one a line: the first four fields of a FEN (the whole FEN for connection
//! games), then operations that end with `;`.
//!
//! `bm` are the best moves, all equally good; `ce` is the score of the side to move in centipawns; `dm` the number
//! of moves to mate. Other operations are ignored, such as `id`, `acd` and `am`: a move to avoid is no target of a
//! policy. Of a turn of two plies only the first is used. The counters of a FEN may follow the four fields.

use std::io;

use menagerie::variant::Variant;

use super::{EpdError, GameErrorKind, Games, Lines, by_line, policy};
use crate::eval_scale::EngineScore;
use crate::record::{GameRecord, NO_MOVE, PlyRecord};
use menagerie::rules::san;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    by_line(lines, found, |line| parse_line(line, variant))
}

/// Returns the record of a line: a single position.
fn parse_line(line: &str, variant: &Variant) -> Result<GameRecord, GameErrorKind> {
    let (start, rest) = split_fen(line, if variant.start().game_spec().places { 2 } else { 4 });
    let position = variant.position(start, false)?;
    // Records are replayed as Chess960, whose FEN has the rooks in any case.
    variant.position(start, true)?;
    let mut best = Vec::new();
    let mut cp = None;
    let mut mate = None;
    for operation in operations(rest)? {
        let (code, operand) = operation.split_once(char::is_whitespace).unwrap_or((operation, ""));
        let number = || {
            let number = operand.trim().parse::<i32>();
            number.map_err(|_| EpdError::Number(operation.to_owned()))
        };
        match code {
            "bm" => {
                for text in operand.split_ascii_whitespace().map(|text| text.trim_end_matches(','))
                {
                    let turn = san::read(&position, text)?;
                    // Equal scores make equal shares.
                    best.extend(turn.first().map(|&m| (m, Some(0.0))));
                }
            }
            "ce" => cp = Some(EngineScore::Centipawns(number()?)),
            "dm" => mate = Some(EngineScore::Mate(number()?)),
            _ => {}
        }
    }
    let score = mate.or(cp).map(EngineScore::expected);
    if best.is_empty() && score.is_none() {
        return Err(EpdError::NoTarget.into());
    }
    let ply =
        PlyRecord { played: NO_MOVE, policy: policy(&best), score, proven: None, surprise: None };
    Ok(GameRecord { start: start.to_owned(), plies: vec![ply], end: None, ..GameRecord::default() })
}

/// Splits a line after the FEN: `fields` fields, and further fields with digits and no letters.
fn split_fen(line: &str, fields: usize) -> (&str, &str) {
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

/// Returns the operations of a line; a `;` in quotes is part of an operation.
fn operations(text: &str) -> Result<Vec<&str>, EpdError> {
    let mut quoted = false;
    let parts = text.split(|c: char| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    if quoted { Err(EpdError::OpenQuote) } else { Ok(parts) }
}
