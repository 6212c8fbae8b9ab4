//! What a player is told in its turn, as the line protocol writes it, and whether it can be so.

use std::fmt;
use std::str::FromStr;

use crate::recon::Player;
use crate::rules::blind::{Played, Request, Sensed, Truth};
use crate::rules::{Color, Piece, Square};

/// What a player is told, each as a line of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// The other side has moved, and taken a man there: `oppmove SQUARE|-`.
    Heard(Option<Square>),
    /// What it has seen: `senseresult SQUARE=MAN ..`, `.` for no man, or `-`.
    Seen(Vec<Sensed>),
    /// What became of its request: `moveresult REQUESTED TAKEN CAPTURE`.
    Moved(Played),
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Heard(capture) => write!(f, "oppmove {}", square_or_none(*capture)),
            Told::Seen(seen) if seen.is_empty() => write!(f, "senseresult -"),
            Told::Seen(seen) => {
                write!(f, "senseresult")?;
                seen.iter().try_for_each(|&(square, man)| {
                    write!(f, " {square}={}", man.map_or('.', Piece::char))
                })
            }
            &Told::Moved(Played { requested, taken, capture }) => {
                let [requested, taken] = [requested, taken].map(step_or_none);
                write!(f, "moveresult {requested} {taken} {}", square_or_none(capture))
            }
        }
    }
}

impl FromStr for Told {
    type Err = String;

    /// Reads a line; the error quotes it.
    fn from_str(line: &str) -> Result<Told, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["oppmove", capture] => Ok(Told::Heard(read_square(capture)?)),
            ["oppmove", ..] => Err("oppmove needs a square or -".to_owned()),
            ["senseresult", "-"] => Ok(Told::Seen(Vec::new())),
            ["senseresult", ref seen @ ..] => {
                let read = |word: &&str| {
                    read_sensed(word).ok_or_else(|| format!("\"{word}\" is no square=man"))
                };
                Ok(Told::Seen(seen.iter().map(read).collect::<Result<_, _>>()?))
            }
            ["moveresult", requested, taken, capture] => Ok(Told::Moved(Played {
                requested: read_step(requested)?,
                taken: read_step(taken)?,
                capture: read_square(capture)?,
            })),
            ["moveresult", ..] => {
                Err("moveresult needs what was requested, taken and captured".to_owned())
            }
            _ => Err(format!("\"{line}\" tells nothing")),
        }
    }
}

impl Told {
    /// Tells a player, if it can be so as far as the player knows its own men.
    ///
    /// # Errors
    /// In words, if it cannot; the player has not heard of it then.
    pub(super) fn tell(&self, player: &mut Player) -> Result<(), String> {
        let belief = player.belief();
        let (own, color) = (belief.own(), belief.color());
        match self {
            &Told::Heard(capture) => {
                let lost = |square| own.role_at(square).is_some() && own.king() != Some(square);
                if let Some(square) = capture.filter(|&square| !lost(square)) {
                    return Err(format!("\"{square}\": nothing of ours can have been taken there"));
                }
                player.heard(capture);
            }
            Told::Seen(seen) => {
                for &(square, man) in seen {
                    let ours = man.filter(|man| man.color == color).map(|man| man.role);
                    if ours != own.role_at(square) {
                        let what = "does not show the man of ours that we know of";
                        return Err(format!("\"{square}\" {what}"));
                    }
                }
                player.sensed(seen);
            }
            &Told::Moved(Played { requested, taken, capture }) => {
                let requests = own.requests(color);
                let known = |step: Request| requests.contains(&own.meant(step));
                // What became of it is a step that the same man could have been asked for.
                let same = match (requested, taken) {
                    (None, Some(_)) => false,
                    (Some(request), Some(taken)) => request.from == taken.from && known(taken),
                    (_, None) => capture.is_none(),
                };
                let ours = capture.is_some_and(|square| own.role_at(square).is_some());
                if !same || ours || !requested.is_none_or(known) {
                    return Err(format!("\"{self}\" cannot have happened"));
                }
                player.moved(requested, taken, capture);
            }
        }
        Ok(())
    }
}

/// A position that a game of two players may begin from.
///
/// # Errors
/// If the text is no FEN, or a king is missing.
pub(super) fn start(fen: &str) -> Result<Truth, String> {
    let start = Truth::from_fen(fen).map_err(|error| error.to_string())?;
    match Color::ALL.into_iter().find(|&side| start.army(side).king().is_none()) {
        Some(side) => Err(format!("impossible position \"{fen}\": {side} has no king")),
        None => Ok(start),
    }
}

/// A request as the protocol writes it.
pub(super) fn step_or_none(step: Option<Request>) -> String {
    step.map_or("0000".to_owned(), |step| step.to_string())
}

/// Reads what [`step_or_none`] writes.
pub(super) fn read_step(word: &str) -> Result<Option<Request>, String> {
    if word == "0000" { Ok(None) } else { word.parse().map(Some) }
}

fn square_or_none(square: Option<Square>) -> String {
    square.map_or("-".to_owned(), |square| square.to_string())
}

fn read_square(word: &str) -> Result<Option<Square>, String> {
    if word == "-" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| format!("\"{word}\" is no square"))
}

fn read_sensed(word: &str) -> Option<Sensed> {
    let (square, man) = word.split_once('=')?;
    let mut letters = man.chars();
    let (letter, None) = (letters.next()?, letters.next()) else { return None };
    let man = if letter == '.' { None } else { Some(Piece::from_char(letter)?) };
    Some((square.parse().ok()?, man))
}
