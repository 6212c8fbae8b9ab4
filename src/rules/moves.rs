//! Moves: one ply each, without reference to a board.

use shakmaty::{Role, Square};

/// One ply. A turn can consist of several plies of the same side (`Position::mid_turn`).
///
/// A move names neither the piece that moves nor the piece that is captured. Castling is the king
/// moving to the square of its own rook, as in Chess960.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Move {
    /// A piece moves from one square to another.
    Step {
        /// The origin.
        from: Square,
        /// The destination; the square of the rook for castling.
        to: Square,
        /// The promotion, if any.
        promotion: Option<Role>,
    },
    /// A piece in hand is dropped on the board.
    Drop {
        /// The piece.
        role: Role,
        /// The destination.
        to: Square,
    },
    /// A cell is claimed, in games without pieces that move.
    Place(
        /// The cell.
        Square,
    ),
    /// A wall is placed, or the duck moves. Usually the second ply of a turn.
    Wall(
        /// The destination.
        Square,
    ),
    /// A step or drop on the second board of bughouse. On the first board it is `Step` or `Drop`.
    Second(
        /// The move on that board.
        BoardMove,
    ),
    /// In bughouse, the team sits: it ends its turn without a move on a board where it is on turn.
    Pass,
}

/// One of the two boards of bughouse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum BoardId {
    /// The first board.
    A,
    /// The second board.
    B,
}

impl BoardId {
    /// Both boards, in order.
    pub const ALL: [BoardId; 2] = [BoardId::A, BoardId::B];

    /// Returns the other board.
    pub const fn other(self) -> BoardId {
        match self {
            BoardId::A => BoardId::B,
            BoardId::B => BoardId::A,
        }
    }
}

/// A move on the second board of bughouse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum BoardMove {
    /// See [`Move::Step`].
    Step {
        /// The origin.
        from: Square,
        /// The destination.
        to: Square,
        /// The promotion, if any.
        promotion: Option<Role>,
    },
    /// See [`Move::Drop`].
    Drop {
        /// The piece.
        role: Role,
        /// The destination.
        to: Square,
    },
}

/// The legal moves of a position, in the order in which its rules generate them.
pub type MoveList = Vec<Move>;

const DROP: u16 = 7;
const PLACE: u16 = 8;
const WALL: u16 = 9;
/// A step on the second board. The next four kinds are promotions there, from knight to queen.
const SECOND_STEP: u16 = 10;
/// A drop on the second board; with role 0 it is `PASS`.
const SECOND_DROP: u16 = 15;

/// The encoding of `Move::Pass`.
const PASS: PackedMove = PackedMove(SECOND_DROP << 12);

/// A move in 16 bits, for search trees and game records: from, to (6 bits each) and kind (4 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PackedMove(pub u16);

impl Move {
    /// Returns this step or drop as a move on `board`. Other moves are returned unchanged.
    pub fn at(self, board: BoardId) -> Move {
        match (self, board) {
            (Move::Step { from, to, promotion }, BoardId::B) => {
                Move::Second(BoardMove::Step { from, to, promotion })
            }
            (Move::Drop { role, to }, BoardId::B) => Move::Second(BoardMove::Drop { role, to }),
            _ => self,
        }
    }

    /// Returns the board of a move, and the move as a move of the one-board game. Moves of no board
    /// are returned with the first one.
    pub fn split(self) -> (BoardId, Move) {
        match self {
            Move::Second(BoardMove::Step { from, to, promotion }) => {
                (BoardId::B, Move::Step { from, to, promotion })
            }
            Move::Second(BoardMove::Drop { role, to }) => (BoardId::B, Move::Drop { role, to }),
            _ => (BoardId::A, self),
        }
    }

    /// Packs this move into 16 bits. On the second board, promotions to king or pawn cannot be packed.
    pub fn pack(self) -> PackedMove {
        let bits = |from: u16, to: Square, kind: u16| from | u16::from(to) << 6 | kind << 12;
        PackedMove(match self {
            Move::Step { from, to, promotion } => {
                bits(u16::from(from), to, promotion.map_or(0, u16::from))
            }
            Move::Drop { role, to } => bits(u16::from(role), to, DROP),
            Move::Place(to) => bits(0, to, PLACE),
            Move::Wall(to) => bits(0, to, WALL),
            Move::Second(BoardMove::Step { from, to, promotion }) => {
                let kind = promotion.map_or(0, |role| u16::from(role) - u16::from(Role::Pawn));
                bits(u16::from(from), to, SECOND_STEP + kind)
            }
            Move::Second(BoardMove::Drop { role, to }) => bits(u16::from(role), to, SECOND_DROP),
            Move::Pass => PASS.0,
        })
    }
}

impl PackedMove {
    /// Unpacks the move. Returns `None` for bits that are not a packed move.
    pub fn unpack(self) -> Option<Move> {
        let low = u32::from(self.0 & 63);
        let to = Square::new(u32::from(self.0 >> 6 & 63));
        Some(match self.0 >> 12 {
            DROP => Move::Drop { role: Role::try_from(low).ok()?, to },
            PLACE if low == 0 => Move::Place(to),
            WALL if low == 0 => Move::Wall(to),
            SECOND_DROP if self == PASS => Move::Pass,
            SECOND_DROP => Move::Second(BoardMove::Drop { role: Role::try_from(low).ok()?, to }),
            0 => Move::Step { from: Square::new(low), to, promotion: None },
            kind @ 1..=6 => {
                let promotion = Some(Role::try_from(u32::from(kind)).ok()?);
                Move::Step { from: Square::new(low), to, promotion }
            }
            SECOND_STEP => {
                Move::Second(BoardMove::Step { from: Square::new(low), to, promotion: None })
            }
            kind @ 11..=14 => {
                let role = u32::from(kind - SECOND_STEP) + u32::from(Role::Pawn);
                let promotion = Some(Role::try_from(role).ok()?);
                Move::Second(BoardMove::Step { from: Square::new(low), to, promotion })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_moves_round_trip() {
        let moves = (0..=u16::MAX).filter_map(|bits| {
            let m = PackedMove(bits).unpack()?;
            assert_eq!(m.pack(), PackedMove(bits));
            Some(m)
        });
        assert_eq!(moves.count(), 64 * 64 * 7 + 6 * 64 + 64 + 64 + 64 * 64 * 5 + 6 * 64 + 1);
    }
}
