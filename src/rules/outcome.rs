//! How a game ended, and why.

use std::fmt;

use super::Side;

/// The end of a game: who won, or a draw, and the reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// The winner; nobody in a draw. All others lose.
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
    /// The position stood for the third time.
    Repetition,
    /// Fifty moves of each side without a capture or a pawn move.
    FiftyMoves,
    /// No side has the men to win.
    InsufficientMaterial,
    /// The variant's own end: a king in the centre, the third check, a row of three.
    Variant,
}

impl Outcome {
    /// A draw for the reason given.
    pub const fn draw(reason: Reason) -> Outcome {
        Outcome { winner: None, reason }
    }

    /// A win for `side` for the reason given.
    pub const fn win(side: Side, reason: Reason) -> Outcome {
        Outcome { winner: Some(side), reason }
    }

    /// What the game is worth to `side`: 1 won, 0 drawn, -1 lost.
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

/// The result as PGN writes it, of two sides: `1-0`, `0-1` or `1/2-1/2`; then the reason.
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
