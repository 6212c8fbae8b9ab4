//! Histories of games in the JSON of reconchess 1.6.9 (`GameHistory.save`).

use menagerie::rules::rbc::{End, Played, Request, Sensed, WinReason};
use menagerie::rules::{ByColor, Color, Square};
use serde_json::{Map, Value, json};

use crate::json::{
    format_move, format_sense_result, format_square, format_tagged, parse_move, parse_nullable,
    parse_sense_result, parse_square, parse_text, parse_win_reason, quote,
};

/// A complete game as the referee saw it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GameHistory {
    /// The names of the players, if known.
    pub names: ByColor<Option<String>>,
    /// The turns of each side.
    pub sides: ByColor<SideHistory>,
    /// The winner; `None` after a draw or if the game did not end.
    pub winner: Option<Color>,
    /// Why the game ended; `None` if it did not end.
    pub reason: Option<WinReason>,
}

/// The turns of one side. The last turn may have no move.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SideHistory {
    /// The sensed squares; `None` if nothing was sensed.
    pub senses: Vec<Option<Square>>,
    /// The results of the senses.
    pub sense_results: Vec<Vec<Sensed>>,
    /// The requested and taken moves.
    pub moves: Vec<Played>,
    /// The positions before the moves, as FENs.
    pub fens_before: Vec<String>,
    /// The positions after the moves, as FENs.
    pub fens_after: Vec<String>,
}

/// Why JSON is not a history.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HistoryError {
    /// It is not an object.
    #[error("{0} is not a history")]
    NotAnObject(String),
    /// A key is missing.
    #[error("{0}: missing")]
    Missing(String),
    /// A value is invalid.
    #[error("{place}: invalid value {value}")]
    Invalid {
        /// The keys that lead to the value.
        place: String,
        /// The value, quoted.
        value: String,
    },
    /// The lists of a side differ in length.
    #[error("the lists of {0} do not have the same length")]
    Lengths(Color),
}

impl HistoryError {
    pub(crate) fn invalid(place: impl Into<String>, value: &Value) -> HistoryError {
        HistoryError::Invalid { place: place.into(), value: quote(value) }
    }
}

impl GameHistory {
    /// Parses a history.
    ///
    /// # Errors
    /// If a key is missing or has an invalid value.
    pub fn from_json(value: &Value) -> Result<GameHistory, HistoryError> {
        let object = value.as_object().ok_or_else(|| HistoryError::NotAnObject(quote(value)))?;
        let winner = parse_field(object, "winner_color", Value::as_bool)?;
        Ok(GameHistory {
            names: ByColor {
                white: parse_field(object, "white_name", parse_text)?,
                black: parse_field(object, "black_name", parse_text)?,
            },
            sides: ByColor {
                white: SideHistory::from_json(object, Color::White)?,
                black: SideHistory::from_json(object, Color::Black)?,
            },
            winner: winner.map(Color::from_white),
            reason: parse_field(object, "win_reason", parse_win_reason)?,
        })
    }

    /// Returns the JSON that reconchess writes for this game.
    pub fn to_json(&self) -> Value {
        json!({
            "type": "GameHistory",
            "white_name": self.names.white,
            "black_name": self.names.black,
            "senses": self.lists(|side| &side.senses, |square| format_square(*square)),
            "sense_results": self.lists(|side| &side.sense_results, |seen| format_sense_result(seen)),
            "requested_moves": self.lists(|side| &side.moves, |played| format_move(played.requested)),
            "taken_moves": self.lists(|side| &side.moves, |played| format_move(played.taken)),
            "capture_squares": self.lists(|side| &side.moves, |played| format_square(played.capture)),
            "fens_before_move": self.lists(|side| &side.fens_before, |fen| json!(fen)),
            "fens_after_move": self.lists(|side| &side.fens_after, |fen| json!(fen)),
            "winner_color": self.winner.map(Color::is_white),
            "win_reason": self.reason.map(|reason| format_tagged("WinReason", reason.name())),
        })
    }

    /// Returns a list of each side as JSON.
    fn lists<T>(
        &self,
        list: impl Fn(&SideHistory) -> &Vec<T>,
        format: impl Fn(&T) -> Value,
    ) -> Value {
        json!({
            "true": list(&self.sides.white).iter().map(&format).collect::<Value>(),
            "false": list(&self.sides.black).iter().map(&format).collect::<Value>(),
        })
    }

    /// Adds a sense of a side.
    pub fn add_sense(&mut self, color: Color, square: Option<Square>, seen: Vec<Sensed>) {
        let side = self.sides.get_mut(color);
        side.senses.push(square);
        side.sense_results.push(seen);
    }

    /// Adds a move of a side, with the FENs before and after it.
    pub fn add_move(&mut self, color: Color, played: Played, before: String, after: String) {
        let side = self.sides.get_mut(color);
        side.moves.push(played);
        side.fens_before.push(before);
        side.fens_after.push(after);
    }

    /// Sets the end of the game.
    pub fn set_end(&mut self, end: Option<End>) {
        self.winner = end.and_then(|end| end.winner);
        self.reason = end.map(|end| end.reason);
    }
}

impl SideHistory {
    fn from_json(object: &Map<String, Value>, color: Color) -> Result<SideHistory, HistoryError> {
        let requested = parse_list(object, "requested_moves", color, parse_nullable_move)?;
        let taken = parse_list(object, "taken_moves", color, parse_nullable_move)?;
        let captures = parse_list(object, "capture_squares", color, parse_nullable_square)?;
        let senses = parse_list(object, "senses", color, parse_nullable_square)?;
        let sense_results = parse_list(object, "sense_results", color, parse_sense_result)?;
        let fens_before = parse_list(object, "fens_before_move", color, parse_text)?;
        let fens_after = parse_list(object, "fens_after_move", color, parse_text)?;

        let turns = requested.len();
        let move_lists = [taken.len(), captures.len(), fens_before.len(), fens_after.len()];
        let is_last_turn_open = senses.len() == turns + 1;
        if move_lists != [turns; 4]
            || sense_results.len() != senses.len()
            || (senses.len() != turns && !is_last_turn_open)
        {
            return Err(HistoryError::Lengths(color));
        }
        let moves = requested
            .into_iter()
            .zip(taken)
            .zip(captures)
            .map(|((requested, taken), capture)| Played { requested, taken, capture })
            .collect();
        Ok(SideHistory { senses, sense_results, moves, fens_before, fens_after })
    }
}

fn parse_nullable_move(value: &Value) -> Option<Option<Request>> {
    parse_nullable(value, parse_move)
}

fn parse_nullable_square(value: &Value) -> Option<Option<Square>> {
    parse_nullable(value, parse_square)
}

/// Parses the value of a key, which may be `null`.
fn parse_field<'a, T>(
    object: &'a Map<String, Value>,
    key: &str,
    parse: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, HistoryError> {
    let value = object.get(key).ok_or_else(|| HistoryError::Missing(key.to_owned()))?;
    if value.is_null() {
        return Ok(None);
    }
    parse(value).map(Some).ok_or_else(|| HistoryError::invalid(key, value))
}

/// Parses the list of one side under a key.
fn parse_list<T>(
    object: &Map<String, Value>,
    key: &str,
    color: Color,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, HistoryError> {
    let side = color.fold_wb("true", "false");
    let place = format!("{key}.{side}");
    let list = object.get(key).and_then(|sides| sides.get(side)).and_then(Value::as_array);
    let Some(list) = list else { return Err(HistoryError::Missing(place)) };
    let mut parsed = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let entry = parse(value);
        parsed
            .push(entry.ok_or_else(|| HistoryError::invalid(format!("{place}[{index}]"), value))?);
    }
    Ok(parsed)
}
