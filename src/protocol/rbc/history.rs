//! Histories of games in the JSON of reconchess 1.6.9 (`GameHistory.save`).

use serde_json::{Map, Value, json};

use crate::rules::blind::{End, Played, Request, Sensed, WinReason};
use crate::rules::{ByColor, Color, Piece, Square};

/// All that was done in a game, and how things were.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GameHistory {
    /// The players, if they are named.
    pub names: ByColor<Option<String>>,
    /// What each side did.
    pub sides: ByColor<SideHistory>,
    /// Who won; `None` if nobody did.
    pub winner: Option<Color>,
    /// Why; `None` if the game was broken off.
    pub reason: Option<WinReason>,
}

/// What one side did, turn by turn. A last turn may lack its move.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SideHistory {
    /// Where it sensed.
    pub senses: Vec<Option<Square>>,
    /// What it saw.
    pub sense_results: Vec<Vec<Sensed>>,
    /// What it asked for, what became of it, and where a man was taken.
    pub moves: Vec<Played>,
    /// The positions before its moves, as FENs.
    pub fens_before: Vec<String>,
    /// The positions after its moves, as FENs.
    pub fens_after: Vec<String>,
}

/// Why a text is no history: where in it, and what stands there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct BadHistory {
    /// Where, as a path of keys.
    pub place: String,
    /// What is wrong, quoting what is there.
    pub reason: String,
}

impl BadHistory {
    pub(super) fn new(place: impl Into<String>, reason: impl Into<String>) -> BadHistory {
        BadHistory { place: place.into(), reason: reason.into() }
    }
}

/// Errors quote no more of a value, in characters.
const QUOTED: usize = 80;

pub(super) fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// `null`, or what `read` makes of anything else.
pub(super) fn optional<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { read(value).map(Some) }
}

pub(super) fn square(value: &Value) -> Option<Square> {
    Square::try_from(u32::try_from(value.as_u64()?).ok()?).ok()
}

/// The value of `{"type": kind, "value": text}`.
pub(super) fn tagged<'a>(value: &'a Value, kind: &str) -> Option<&'a str> {
    (value.get("type")?.as_str()? == kind).then(|| value.get("value")?.as_str())?
}

pub(super) fn request(value: &Value) -> Option<Request> {
    tagged(value, "Move")?.parse().ok()
}

fn piece(value: &Value) -> Option<Piece> {
    let mut letters = tagged(value, "Piece")?.chars();
    let piece = Piece::from_char(letters.next()?);
    piece.filter(|_| letters.next().is_none())
}

pub(super) fn sensed(value: &Value) -> Option<Vec<Sensed>> {
    let pair = |value: &Value| match value.as_array()?.as_slice() {
        [at, man] => Some((square(at)?, optional(man, piece)?)),
        _ => None,
    };
    value.as_array()?.iter().map(pair).collect()
}

/// The list of one side under a key, each entry read by `read`.
fn list<T>(
    object: &Map<String, Value>,
    key: &str,
    color: Color,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, BadHistory> {
    let side = color.fold_wb("true", "false");
    let place = format!("{key}.{side}");
    let values = object.get(key).and_then(|sides| sides.get(side)).and_then(Value::as_array);
    let values = values.ok_or_else(|| BadHistory::new(&place, "there is no such list"))?;
    let entry = |(i, value): (usize, &Value)| {
        let wrong = || format!("{} cannot stand here", quoted(value));
        read(value).ok_or_else(|| BadHistory::new(format!("{place}[{i}]"), wrong()))
    };
    values.iter().enumerate().map(entry).collect()
}

impl GameHistory {
    /// Reads a history.
    ///
    /// # Errors
    /// The first thing in it that cannot be.
    pub fn from_json(value: &Value) -> Result<GameHistory, BadHistory> {
        let Some(object) = value.as_object() else {
            return Err(BadHistory::new("history", format!("{} is no history", quoted(value))));
        };
        let field =
            |key: &str| object.get(key).ok_or_else(|| BadHistory::new(key, "there is no such key"));
        let wrong = |key: &str, value: &Value| {
            BadHistory::new(key, format!("{} cannot stand here", quoted(value)))
        };
        let name = |key: &str| {
            let value = field(key)?;
            optional(value, |value| value.as_str().map(str::to_owned))
                .ok_or_else(|| wrong(key, value))
        };
        let winner = field("winner_color")?;
        let white =
            optional(winner, Value::as_bool).ok_or_else(|| wrong("winner_color", winner))?;
        let why = field("win_reason")?;
        let reason = |value: &Value| {
            let name = tagged(value, "WinReason")?;
            WinReason::ALL.into_iter().find(|reason| reason.name() == name)
        };
        let reason = optional(why, reason).ok_or_else(|| wrong("win_reason", why))?;
        Ok(GameHistory {
            names: ByColor { white: name("white_name")?, black: name("black_name")? },
            sides: ByColor {
                white: SideHistory::from_json(object, Color::White)?,
                black: SideHistory::from_json(object, Color::Black)?,
            },
            winner: white.map(Color::from_white),
            reason,
        })
    }

    /// Writes it as the reference program would.
    pub fn to_json(&self) -> Value {
        let sides = |of: &dyn Fn(&SideHistory) -> Value| json!({ "true": of(&self.sides.white), "false": of(&self.sides.black) });
        let at = |square: Option<Square>| square.map(u32::from);
        let step = |step: Option<Request>| {
            step.map(|step| json!({ "type": "Move", "value": step.to_string() }))
        };
        let man = |man: Option<Piece>| {
            man.map(|man| json!({ "type": "Piece", "value": man.char().to_string() }))
        };
        let seen = |seen: &Vec<Sensed>| -> Value {
            seen.iter().map(|&(square, piece)| json!([u32::from(square), man(piece)])).collect()
        };
        json!({
            "type": "GameHistory",
            "white_name": self.names.white,
            "black_name": self.names.black,
            "senses": sides(&|side| side.senses.iter().map(|&square| json!(at(square))).collect()),
            "sense_results": sides(&|side| side.sense_results.iter().map(seen).collect()),
            "requested_moves":
                sides(&|side| side.moves.iter().map(|played| json!(step(played.requested))).collect()),
            "taken_moves":
                sides(&|side| side.moves.iter().map(|played| json!(step(played.taken))).collect()),
            "capture_squares":
                sides(&|side| side.moves.iter().map(|played| json!(at(played.capture))).collect()),
            "fens_before_move": sides(&|side| json!(side.fens_before)),
            "fens_after_move": sides(&|side| json!(side.fens_after)),
            "winner_color": self.winner.map(Color::is_white),
            "win_reason": self.reason.map(|reason| {
                json!({ "type": "WinReason", "value": reason.name() })
            }),
        })
    }

    /// Notes a sense of a side's.
    pub fn note_sense(&mut self, color: Color, at: Option<Square>, seen: Vec<Sensed>) {
        let side = self.sides.get_mut(color);
        side.senses.push(at);
        side.sense_results.push(seen);
    }

    /// Notes a move of a side's, and the positions before and after it.
    pub fn note_move(&mut self, color: Color, played: Played, before: String, after: String) {
        let side = self.sides.get_mut(color);
        side.moves.push(played);
        side.fens_before.push(before);
        side.fens_after.push(after);
    }

    /// Notes how the game ended.
    pub fn note_end(&mut self, end: Option<End>) {
        self.winner = end.and_then(|end| end.winner);
        self.reason = end.map(|end| end.reason);
    }
}

impl SideHistory {
    fn from_json(object: &Map<String, Value>, color: Color) -> Result<SideHistory, BadHistory> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let requested = list(object, "requested_moves", color, |value| optional(value, request))?;
        let taken = list(object, "taken_moves", color, |value| optional(value, request))?;
        let captures = list(object, "capture_squares", color, |value| optional(value, square))?;
        let side = SideHistory {
            senses: list(object, "senses", color, |value| optional(value, square))?,
            sense_results: list(object, "sense_results", color, sensed)?,
            moves: Vec::new(),
            fens_before: list(object, "fens_before_move", color, text)?,
            fens_after: list(object, "fens_after_move", color, text)?,
        };
        let moves = requested.len();
        let lengths = [taken.len(), captures.len(), side.fens_before.len(), side.fens_after.len()];
        let senses = side.senses.len();
        let whole = lengths == [moves; 4]
            && side.sense_results.len() == senses
            && (senses == moves || senses == moves + 1);
        if !whole {
            let reason = format!("the lists of {color} do not fit one another in length");
            return Err(BadHistory::new("history", reason));
        }
        let played = requested.into_iter().zip(taken).zip(captures);
        let moves = played
            .map(|((requested, taken), capture)| Played { requested, taken, capture })
            .collect();
        Ok(SideHistory { moves, ..side })
    }
}
