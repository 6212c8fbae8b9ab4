//! Outcomes of games, and values of positions under perfect play.

use std::fmt;

use super::{Move, Side};

/// The outcome of a game.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// The winner, or `None` for a draw. All other sides lose.
    pub winner: Option<Side>,
    /// Why the game ended.
    pub reason: Reason,
}

/// Why a game ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The side to move is in check and has no legal move.
    Checkmate,
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// The position occurred for the third time.
    Repetition,
    /// Fifty moves of each side were played without a capture or a pawn move.
    FiftyMoves,
    /// No side has enough material to win.
    InsufficientMaterial,
    /// A rule of the variant ended the game: a king in the center, the third check, a row of three.
    Variant,
}

impl Outcome {
    /// Returns a draw.
    pub const fn draw(reason: Reason) -> Outcome {
        Outcome { winner: None, reason }
    }

    /// Returns a win of `side`.
    pub const fn win(side: Side, reason: Reason) -> Outcome {
        Outcome { winner: Some(side), reason }
    }

    /// Returns the score of `side`: 1 for a win, 0 for a draw, -1 for a loss.
    pub fn score(self, side: Side) -> i8 {
        match self.winner {
            None => 0,
            Some(winner) if winner == side => 1,
            Some(_) => -1,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Checkmate => "checkmate",
            Reason::Stalemate => "stalemate",
            Reason::Repetition => "repetition",
            Reason::FiftyMoves => "50move",
            Reason::InsufficientMaterial => "insufficient",
            Reason::Variant => "variant",
        })
    }
}

/// Writes the result of a game of two sides as in PGN (`1-0`, `0-1` or `1/2-1/2`), then the reason.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.winner {
            None => "1/2-1/2",
            Some(Side::WHITE) => "1-0",
            Some(_) => "0-1",
        };
        write!(f, "{result} {}", self.reason)
    }
}

/// The value of a position under perfect play, for the side to move of two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// A win in the given number of plies; 0 if the game has ended.
    Win(u32),
    /// A draw.
    Draw,
    /// A loss in the given number of plies; 0 if the side is mated.
    Loss(u32),
}

impl Value {
    /// Returns the score of the side to move: 1 for a win, 0 for a draw, -1 for a loss.
    pub fn score(self) -> i8 {
        match self {
            Value::Win(_) => 1,
            Value::Draw => 0,
            Value::Loss(_) => -1,
        }
    }

    /// Returns the number of plies until the end, or `None` for a draw.
    pub fn length(self) -> Option<u32> {
        match self {
            Value::Win(plies) | Value::Loss(plies) => Some(plies),
            Value::Draw => None,
        }
    }

    /// Returns the value that a move to a position of this value has for the side that plays it, if the
    /// opponent is to move there.
    pub fn before(self) -> Value {
        match self {
            Value::Win(plies) => Value::Loss(plies + 1),
            Value::Draw => Value::Draw,
            Value::Loss(plies) => Value::Win(plies + 1),
        }
    }

    /// Returns a number that orders values from worst to best: earlier wins and later losses are better.
    pub fn rank(self) -> i64 {
        match self {
            Value::Win(plies) => i64::from(u32::MAX) - i64::from(plies),
            Value::Draw => 0,
            Value::Loss(plies) => i64::from(plies) - i64::from(u32::MAX),
        }
    }
}

/// A forced mate of the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mate {
    /// The first move.
    pub m: Move,
    /// The maximum number of turns of the mating side.
    pub turns: u8,
}

/// A proven value of a position, for the side to move of two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProvenValue {
    /// 1 for a win, 0 for a draw, -1 for a loss.
    pub score: i8,
    /// The number of plies until the end, if it is known. `None` for a draw.
    pub plies: Option<u32>,
}

impl From<Value> for ProvenValue {
    fn from(value: Value) -> ProvenValue {
        ProvenValue { score: value.score(), plies: value.length() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_rank_orders_early_wins_and_late_losses_first() {
        let worst_first = [
            Value::Loss(0),
            Value::Loss(2),
            Value::Loss(u32::MAX - 1),
            Value::Draw,
            Value::Win(u32::MAX - 1),
            Value::Win(3),
            Value::Win(1),
        ];
        assert!(worst_first.is_sorted_by_key(|value| value.rank()));
        assert_eq!(Value::Loss(2).before(), Value::Win(3));
        assert_eq!(Value::Win(3).before(), Value::Loss(4));
    }
}
