//! What a player is informed of during a turn, as lines of the protocol.

use std::fmt;
use std::str::FromStr;

use menagerie::rbc::Player;
use menagerie::rules::rbc::{Army, Played, Request, Sensed, Truth};
use menagerie::rules::{Color, FenError, Piece, Square};

/// A message to the player.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TurnMessage {
    /// `oppmove SQUARE|-`: the other side has moved, and captured a piece on this square.
    OpponentMove(Option<Square>),
    /// `senseresult SQUARE=PIECE ..`, `.` for an empty square, or `senseresult -`.
    SenseResult(Vec<Sensed>),
    /// `moveresult REQUESTED TAKEN CAPTURE`, `0000` for no move and `-` for no square.
    MoveResult(Played),
}

/// Why a message was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// It is none of the messages.
    #[error("unknown message \"{0}\"")]
    Unknown(String),
    /// It has too few or too many arguments.
    #[error("wrong number of arguments in \"{line}\", expected: {usage}")]
    Arguments {
        /// The message.
        line: String,
        /// The message with its arguments.
        usage: &'static str,
    },
    /// An argument is not a square.
    #[error("invalid square \"{0}\"")]
    Square(String),
    /// An argument is not a square with its contents.
    #[error("invalid sense result \"{0}\", expected SQUARE=PIECE")]
    SenseResult(String),
    /// An argument is not a move.
    #[error("invalid move \"{0}\"")]
    Move(String),
    /// A position is not valid.
    #[error(transparent)]
    Fen(#[from] FenError),
    /// A side has no king.
    #[error("impossible position \"{fen}\": {color} has no king")]
    NoKing {
        /// The position.
        fen: String,
        /// The side.
        color: Color,
    },
    /// The player has no piece, or its king, on the square of a capture.
    #[error("no piece of the player can have been captured on \"{0}\"")]
    ImpossibleCapture(Square),
    /// A sense result shows other pieces of the player than it has.
    #[error("the sense result of \"{0}\" contradicts the player's own pieces")]
    ImpossibleSense(Square),
    /// The player cannot have requested such a move, or it cannot have become this.
    #[error("impossible \"{0}\"")]
    ImpossibleMove(String),
}

impl fmt::Display for TurnMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TurnMessage::OpponentMove(capture) => write!(f, "oppmove {}", format_square(*capture)),
            TurnMessage::SenseResult(seen) if seen.is_empty() => write!(f, "senseresult -"),
            TurnMessage::SenseResult(seen) => {
                write!(f, "senseresult")?;
                for &(square, piece) in seen {
                    write!(f, " {square}={}", piece.map_or('.', Piece::char))?;
                }
                Ok(())
            }
            TurnMessage::MoveResult(played) => {
                let requested = format_request(played.requested);
                let taken = format_request(played.taken);
                write!(f, "moveresult {requested} {taken} {}", format_square(played.capture))
            }
        }
    }
}

impl FromStr for TurnMessage {
    type Err = MessageError;

    fn from_str(line: &str) -> Result<TurnMessage, MessageError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong_arguments = |usage| MessageError::Arguments { line: words.join(" "), usage };
        match words[..] {
            ["oppmove", capture] => Ok(TurnMessage::OpponentMove(parse_square(capture)?)),
            ["oppmove", ..] => Err(wrong_arguments("oppmove SQUARE|-")),
            ["senseresult", "-"] => Ok(TurnMessage::SenseResult(Vec::new())),
            ["senseresult", ref seen @ ..] => {
                let seen = seen.iter().map(|word| parse_sensed(word));
                Ok(TurnMessage::SenseResult(seen.collect::<Result<_, _>>()?))
            }
            ["moveresult", requested, taken, capture] => Ok(TurnMessage::MoveResult(Played {
                requested: parse_request(requested)?,
                taken: parse_request(taken)?,
                capture: parse_square(capture)?,
            })),
            ["moveresult", ..] => Err(wrong_arguments("moveresult REQUESTED TAKEN CAPTURE")),
            _ => Err(MessageError::Unknown(line.to_owned())),
        }
    }
}

impl TurnMessage {
    /// Informs `player`, unless the message contradicts what the player knows of its own pieces.
    ///
    /// # Errors
    /// One of the `Impossible` errors; `player` is unchanged then.
    pub fn send_to(&self, player: &mut Player) -> Result<(), MessageError> {
        let own = *player.belief().own();
        let color = player.belief().color();
        match self {
            &TurnMessage::OpponentMove(capture) => {
                check_capture(&own, capture)?;
                player.opponent_moved(capture);
            }
            TurnMessage::SenseResult(seen) => {
                check_sense_result(&own, color, seen)?;
                player.sensed(seen);
            }
            TurnMessage::MoveResult(played) => {
                if !is_possible_move(&own, color, played) {
                    return Err(MessageError::ImpossibleMove(self.to_string()));
                }
                player.moved(played.requested, played.taken, played.capture);
            }
        }
        Ok(())
    }
}

/// The king cannot have been captured: the game would be over.
fn check_capture(own: &Army, capture: Option<Square>) -> Result<(), MessageError> {
    match capture {
        Some(square) if own.role_at(square).is_none() || own.king() == Some(square) => {
            Err(MessageError::ImpossibleCapture(square))
        }
        _ => Ok(()),
    }
}

fn check_sense_result(own: &Army, color: Color, seen: &[Sensed]) -> Result<(), MessageError> {
    for &(square, piece) in seen {
        let seen_role = match piece {
            Some(piece) if piece.color == color => Some(piece.role),
            _ => None,
        };
        if seen_role != own.role_at(square) {
            return Err(MessageError::ImpossibleSense(square));
        }
    }
    Ok(())
}

/// Returns `true` if the moves can be requested, the piece that moved is the requested one, and only a move
/// captures, and no own piece.
fn is_possible_move(own: &Army, color: Color, played: &Played) -> bool {
    let requests = own.requests(color);
    let can_request = |request: Request| requests.contains(&own.with_default_promotion(request));
    let is_consistent = match (played.requested, played.taken) {
        (None, Some(_)) => false,
        (Some(requested), Some(taken)) => requested.from == taken.from && can_request(taken),
        (_, None) => played.capture.is_none(),
    };
    let captures_own = played.capture.is_some_and(|square| own.role_at(square).is_some());
    is_consistent && !captures_own && played.requested.is_none_or(can_request)
}

/// Parses the position in which a game begins.
///
/// # Errors
/// If `fen` is not valid, or a side has no king.
pub fn parse_start(fen: &str) -> Result<Truth, MessageError> {
    let start = Truth::from_fen(fen)?;
    for color in Color::ALL {
        if start.army(color).king().is_none() {
            return Err(MessageError::NoKing { fen: fen.to_owned(), color });
        }
    }
    Ok(start)
}

/// Returns the text of a request, `0000` for a pass.
pub fn format_request(request: Option<Request>) -> String {
    request.map_or("0000".to_owned(), |request| request.to_string())
}

/// Parses a request, `0000` for a pass.
///
/// # Errors
/// If `word` is not a move.
pub fn parse_request(word: &str) -> Result<Option<Request>, MessageError> {
    if word == "0000" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| MessageError::Move(word.to_owned()))
}

fn format_square(square: Option<Square>) -> String {
    square.map_or("-".to_owned(), |square| square.to_string())
}

fn parse_square(word: &str) -> Result<Option<Square>, MessageError> {
    if word == "-" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| MessageError::Square(word.to_owned()))
}

fn parse_sensed(word: &str) -> Result<Sensed, MessageError> {
    let error = || MessageError::SenseResult(word.to_owned());
    let (square, letters) = word.split_once('=').ok_or_else(error)?;
    let square = square.parse().map_err(|_| error())?;
    let mut letters = letters.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return Err(error()) };
    if letter == '.' {
        return Ok((square, None));
    }
    let piece = Piece::from_char(letter).ok_or_else(error)?;
    Ok((square, Some(piece)))
}
