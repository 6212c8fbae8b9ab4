//! Values of reconchess 1.6.9 as JSON.
//!
//! Squares are numbers, other values are tagged: `{"type": "Move", "value": "e2e4"}`. Each parser returns
//! `None` if the JSON is not such a value.

use menagerie::rules::rbc::{Request, Sensed, WinReason};
use menagerie::rules::{Piece, Square};
use serde_json::{Value, json};

/// The maximum length of a value that is quoted in an error message.
const MAX_QUOTED_CHARS: usize = 80;

/// Returns the text of a value for an error message, cut to a limited length.
pub fn quote(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// Parses `null` as `Some(None)` and anything else by `parse`.
pub fn parse_nullable<T>(value: &Value, parse: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { parse(value).map(Some) }
}

/// Returns the text of a value that is tagged with `kind`.
pub fn parse_tagged<'a>(value: &'a Value, kind: &str) -> Option<&'a str> {
    if value.get("type")?.as_str()? != kind {
        return None;
    }
    value.get("value")?.as_str()
}

/// Returns a text tagged with `kind`.
pub fn format_tagged(kind: &str, text: &str) -> Value {
    json!({ "type": kind, "value": text })
}

/// Parses a text.
pub fn parse_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Parses a square.
pub fn parse_square(value: &Value) -> Option<Square> {
    Square::try_from(u32::try_from(value.as_u64()?).ok()?).ok()
}

/// Formats a square; `null` if there is none.
pub fn format_square(square: Option<Square>) -> Value {
    json!(square.map(u32::from))
}

/// Parses a requested or taken move.
pub fn parse_move(value: &Value) -> Option<Request> {
    parse_tagged(value, "Move")?.parse().ok()
}

/// Formats a requested or taken move; `null` if there is none.
pub fn format_move(request: Option<Request>) -> Value {
    request.map_or(Value::Null, |request| format_tagged("Move", &request.to_string()))
}

/// Parses the reason of a win or a draw.
pub fn parse_win_reason(value: &Value) -> Option<WinReason> {
    let name = parse_tagged(value, "WinReason")?;
    WinReason::ALL.into_iter().find(|reason| reason.name() == name)
}

/// Parses the result of a sense: pairs of a square and a piece.
pub fn parse_sense_result(value: &Value) -> Option<Vec<Sensed>> {
    value.as_array()?.iter().map(parse_sensed).collect()
}

/// Formats the result of a sense.
pub fn format_sense_result(seen: &[Sensed]) -> Value {
    seen.iter().map(|&(square, piece)| json!([u32::from(square), format_piece(piece)])).collect()
}

fn parse_sensed(value: &Value) -> Option<Sensed> {
    let [square, piece] = value.as_array()?.as_slice() else { return None };
    Some((parse_square(square)?, parse_nullable(piece, parse_piece)?))
}

fn parse_piece(value: &Value) -> Option<Piece> {
    let mut letters = parse_tagged(value, "Piece")?.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Piece::from_char(letter),
        _ => None,
    }
}

fn format_piece(piece: Option<Piece>) -> Value {
    piece.map_or(Value::Null, |piece| format_tagged("Piece", &piece.char().to_string()))
}
