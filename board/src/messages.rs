//! Requests of the page, and the frame of replies, events and errors.
//!
//! A request has the fields `type` and `id`, a number that the client chooses. It gets one reply with the same
//! `id`: of its own type, or of the type `error` with a `message`. A message without an `id` gets an error with
//! the `id` null. Events of a search have the `id` of its `go`.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::game::GameText;
use crate::limits::{MAX_ERROR_CHARS, MAX_MESSAGE_BYTES, quote, shorten};

/// What a client asks for.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Request {
    /// The variants, and the defaults of the engine.
    #[serde(rename = "hello")]
    Hello,
    /// What the page displays of a position.
    #[serde(rename = "state")]
    State { position: GameText },
    /// The turn that a text in algebraic notation names.
    #[serde(rename = "san")]
    San {
        position: GameText,
        text: String,
        /// The board, with two boards: 0 or 1.
        board: Option<usize>,
    },
    /// Starts a search. A search in progress is stopped, unless the request is refused.
    #[serde(rename = "go")]
    Go(GoRequest),
    /// Stops the search in progress.
    #[serde(rename = "stop")]
    Stop,
    /// The evaluation of a position by one call of the network.
    #[serde(rename = "eval")]
    Eval { position: GameText },
    /// Sets an option of the engine. A search in progress is stopped, unless the request is refused.
    #[serde(rename = "option")]
    Option {
        name: String,
        #[serde(default)]
        value: Value,
    },
    /// Begins a game of RBC.
    #[serde(rename = "rbc.new")]
    HiddenNew(NewHiddenGame),
    /// The view of a game of RBC.
    #[serde(rename = "rbc.resume")]
    HiddenResume { token: String },
    /// Senses nine squares, or none.
    #[serde(rename = "rbc.sense")]
    HiddenSense { token: String, square: Option<String> },
    /// Requests a move, or passes.
    #[serde(rename = "rbc.move")]
    HiddenMove { token: String, request: Option<String> },
    /// Resigns a game of RBC.
    #[serde(rename = "rbc.resign")]
    HiddenResign { token: String },
}

/// A search: its position and limits.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct GoRequest {
    pub(crate) position: GameText,
    pub(crate) limits: SearchLimits,
    /// The number of lines.
    pub(crate) multipv: Option<f64>,
    /// The strength of the engine; full if it is missing.
    pub(crate) elo: Option<f64>,
    /// The team to play for in bughouse: 0 has White on the first board. The team to move if it is missing.
    pub(crate) team: Option<usize>,
}

/// The limits of a search, of which at least one is required. Times are milliseconds; pages measure them with
/// fractions.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchLimits {
    pub(crate) infinite: bool,
    pub(crate) movetime: Option<f64>,
    pub(crate) nodes: Option<f64>,
    pub(crate) depth: Option<f64>,
    pub(crate) wtime: Option<f64>,
    pub(crate) btime: Option<f64>,
    pub(crate) winc: Option<f64>,
    pub(crate) binc: Option<f64>,
    pub(crate) movestogo: Option<f64>,
}

/// A game of RBC to begin.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct NewHiddenGame {
    /// The color of the client: `white` or `black`.
    pub(crate) color: String,
    /// The time on each clock; no clocks if it is missing.
    pub(crate) seconds: Option<f64>,
    /// How the engine thinks: `fast`, `best` or `paper`.
    pub(crate) preset: Option<String>,
}

/// Why a message is no request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("message of {0} bytes, expected at most {MAX_MESSAGE_BYTES}")]
    TooLong(usize),
    #[error("binary message, expected text")]
    Binary,
    #[error("message is not JSON: {error}: \"{text}\"")]
    Json { text: String, error: serde_json::Error },
    #[error("message is not a JSON object: \"{0}\"")]
    NoObject(String),
    #[error("id must be a number: \"{0}\"")]
    Id(String),
    #[error("invalid request: {error}: \"{text}\"")]
    Request { text: String, error: serde_json::Error },
}

/// An error message that belongs to the request `id`, if that is known.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Option<Number>,
    pub(crate) error: MessageError,
}

/// Parses a message.
///
/// # Errors
/// If it is no request. The message quotes it.
pub(crate) fn parse_request(text: &str) -> Result<(Number, Request), Refusal> {
    let refuse = |id, error| Refusal { id, error };
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(refuse(None, MessageError::TooLong(text.len())));
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|error| refuse(None, MessageError::Json { text: quote(text), error }))?;
    let Value::Object(fields) = &value else {
        return Err(refuse(None, MessageError::NoObject(quote(text))));
    };
    let Some(Value::Number(id)) = fields.get("id") else {
        return Err(refuse(None, MessageError::Id(quote(text))));
    };
    let id = id.clone();
    match Request::deserialize(value) {
        Ok(request) => Ok((id, request)),
        Err(error) => Err(refuse(Some(id), MessageError::Request { text: quote(text), error })),
    }
}

#[derive(Serialize)]
struct Message<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: Option<&'a Number>,
    #[serde(flatten)]
    body: T,
}

/// A body without fields.
#[derive(Serialize)]
pub(crate) struct EmptyBody {}

/// Returns a reply or an event of a type: the fields of `body` with `type` and `id`.
pub(crate) fn message(kind: &str, id: &Number, body: impl Serialize) -> String {
    write_message(&Message { kind, id: Some(id), body })
}

/// Returns an error message.
pub(crate) fn error_message(id: Option<&Number>, error: &dyn std::fmt::Display) -> String {
    #[derive(Serialize)]
    struct ErrorBody {
        message: String,
    }
    let message = shorten(&error.to_string(), MAX_ERROR_CHARS);
    write_message(&Message { kind: "error", id, body: ErrorBody { message } })
}

/// Returns a message as JSON.
pub(crate) fn write_message(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_else(|error| {
        // Only maps whose keys are not texts cannot be written.
        log::error!("cannot write a message: {error}");
        r#"{"type":"error","id":null,"message":"internal error"}"#.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_parsed_with_its_id() {
        let (id, request) = parse_request(r#"{"type":"stop","id":7}"#).expect("a request");
        assert_eq!((id.as_u64(), request), (Some(7), Request::Stop));
        let go =
            r#"{"type":"go","id":1,"position":{"variant":"chess"},"limits":{"movetime":12.5}}"#;
        assert!(matches!(parse_request(go), Ok((_, Request::Go(_)))));
    }

    #[test]
    fn refusal_quotes_the_message() {
        for (text, id, expected) in [
            ("", None, "not JSON"),
            ("e2e4", None, "\"e2e4\""),
            ("[1]", None, "not a JSON object: \"[1]\""),
            (r#"{"type":"stop"}"#, None, "id must be a number"),
            (r#"{"type":"stop","id":"1"}"#, None, "id must be a number"),
            (r#"{"id":3}"#, Some(3), "missing field `type`"),
            (r#"{"type":"jump","id":3}"#, Some(3), "unknown variant `jump`"),
            (r#"{"type":"state","id":3}"#, Some(3), "missing field `position`"),
            (r#"{"type":"state","id":3,"position":{"variant":1}}"#, Some(3), "invalid type"),
        ] {
            let refusal = parse_request(text).expect_err(text);
            assert_eq!(refusal.id.and_then(|id| id.as_u64()), id, "{text}");
            let message = refusal.error.to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        let nested = "[".repeat(10_000);
        assert!(parse_request(&nested).is_err());
        let long = format!("\"{}\"", "x".repeat(MAX_MESSAGE_BYTES));
        let refusal = parse_request(&long).expect_err("a long message");
        assert!(refusal.error.to_string().contains("65538 bytes"));
    }
}
