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
        /// The board, in games on two boards; otherwise the first.
        board: BoardId,
        /// The origin.
        from: Square,
        /// The destination; the square of the rook for castling.
        to: Square,
        /// The promotion, if any.
        promotion: Option<Role>,
    },
    /// A piece in hand is dropped on the board.
    Drop {
        /// The board, in games on two boards; otherwise the first.
        board: BoardId,
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
    /// In bughouse, the team sits: it ends its turn without a move on a board where it is on turn.
    Pass,
}

/// What a move does, as far as it can be seen without playing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoveFacts {
    /// The piece that moves or is dropped.
    pub role: Option<Role>,
    /// The captured piece.
    pub captured: Option<Role>,
    /// What a pawn becomes.
    pub promotion: Option<Role>,
    /// Whether the move may win at once by a rule of the variant: a piece that can win there reaches the region of a flag
    /// rule (kingofthehill, racingkings), or the opponent has too few pieces of a kind after it (atomic, extinction).
    pub may_win: bool,
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
    /// Returns the move of a piece on the first board.
    pub const fn step(from: Square, to: Square, promotion: Option<Role>) -> Move {
        Move::Step { board: BoardId::A, from, to, promotion }
    }

    /// Returns the drop of a piece on the first board.
    pub const fn drop(role: Role, to: Square) -> Move {
        Move::Drop { board: BoardId::A, role, to }
    }

    /// Returns the board of the move: the first one unless it is a step or drop on the second.
    pub const fn board(self) -> BoardId {
        match self {
            Move::Step { board, .. } | Move::Drop { board, .. } => board,
            Move::Place(_) | Move::Wall(_) | Move::Pass => BoardId::A,
        }
    }

    /// Returns this step or drop as a move on `board`. Other moves are returned unchanged.
    pub const fn on(self, board: BoardId) -> Move {
        match self {
            Move::Step { from, to, promotion, .. } => Move::Step { board, from, to, promotion },
            Move::Drop { role, to, .. } => Move::Drop { board, role, to },
            Move::Place(_) | Move::Wall(_) | Move::Pass => self,
        }
    }

    /// Packs this move into 16 bits. On the second board, promotions to king or pawn cannot be packed.
    pub fn pack(self) -> PackedMove {
        let bits = |from: u16, to: Square, kind: u16| from | u16::from(to) << 6 | kind << 12;
        PackedMove(match self {
            Move::Step { board: BoardId::A, from, to, promotion } => {
                bits(from.into(), to, promotion.map_or(0, u16::from))
            }
            Move::Step { board: BoardId::B, from, to, promotion } => {
                let kind = promotion.map_or(0, |role| u16::from(role) - u16::from(Role::Pawn));
                bits(from.into(), to, SECOND_STEP + kind)
            }
            Move::Drop { board, role, to } => {
                bits(role.into(), to, if board == BoardId::A { DROP } else { SECOND_DROP })
            }
            Move::Place(to) => bits(0, to, PLACE),
            Move::Wall(to) => bits(0, to, WALL),
            Move::Pass => PASS.0,
        })
    }
}

impl PackedMove {
    /// Unpacks the move. Returns `None` for bits that are not a packed move.
    pub fn unpack(self) -> Option<Move> {
        let low = u32::from(self.0 & 63);
        let to = Square::new(u32::from(self.0 >> 6 & 63));
        let role = |number: u32| Role::try_from(number).ok();
        Some(match self.0 >> 12 {
            0 => Move::step(Square::new(low), to, None),
            kind @ 1..=6 => Move::step(Square::new(low), to, Some(role(kind.into())?)),
            DROP => Move::drop(role(low)?, to),
            PLACE if low == 0 => Move::Place(to),
            WALL if low == 0 => Move::Wall(to),
            SECOND_STEP => Move::step(Square::new(low), to, None).on(BoardId::B),
            kind @ 11..=14 => {
                let promotion = role(u32::from(kind - SECOND_STEP) + u32::from(Role::Pawn))?;
                Move::step(Square::new(low), to, Some(promotion)).on(BoardId::B)
            }
            SECOND_DROP if self == PASS => Move::Pass,
            SECOND_DROP => Move::drop(role(low)?, to).on(BoardId::B),
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
