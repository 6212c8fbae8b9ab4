//! Moves: one ply each, told without reference to a board.

use shakmaty::{Role, Square};

/// One ply. A turn may be several plies by the same side (`Position::mid_turn`).
///
/// A move says what a player says, nothing that the board knows: neither the man that moves nor
/// the one that is taken. Castling is the king going to its own rook's square, as in Chess960.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Move {
    /// A man goes from one square to another.
    Step {
        /// Where it stands.
        from: Square,
        /// Where it goes; the own rook's square when castling.
        to: Square,
        /// What it becomes, if it promotes.
        promotion: Option<Role>,
    },
    /// A man in hand is put on the board.
    Drop {
        /// The man.
        role: Role,
        /// Its square.
        to: Square,
    },
    /// A cell is claimed, in games without men to move.
    Place(
        /// The cell, in square order.
        Square,
    ),
    /// The duck goes to an empty square, as the second ply of a turn.
    Wall(
        /// The square.
        Square,
    ),
    /// A man moves on the second of two tables; on the first one it is a step or a drop.
    Second(
        /// What it does there.
        BoardMove,
    ),
    /// The side sits: it leaves the rest of its turn, or all of it, to its clocks.
    Pass,
}

/// One of the two tables of a game that has two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Table {
    /// The first.
    A,
    /// The second.
    B,
}

impl Table {
    /// Both, in order.
    pub const ALL: [Table; 2] = [Table::A, Table::B];

    /// The other one.
    pub const fn other(self) -> Table {
        match self {
            Table::A => Table::B,
            Table::B => Table::A,
        }
    }
}

/// What a man does on the second of two tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum BoardMove {
    /// It goes from one square to another; see [`Move::Step`].
    Step {
        /// Where it stands.
        from: Square,
        /// Where it goes.
        to: Square,
        /// What it becomes, if it promotes.
        promotion: Option<Role>,
    },
    /// It is put on the board from the hand.
    Drop {
        /// The man.
        role: Role,
        /// Its square.
        to: Square,
    },
}

/// The legal moves of a position, in the order in which its rules generate them.
pub type MoveList = Vec<Move>;

const DROP: u16 = 7;
const PLACE: u16 = 8;
const WALL: u16 = 9;
/// A step on the second table; the next four are promotions there, from the knight to the queen.
const SECOND_STEP: u16 = 10;
/// Drops on the second table, and without a man the move that is none.
const SECOND_DROP: u16 = 15;

/// The move that is none.
const PASS: PackedMove = PackedMove(SECOND_DROP << 12);

/// A move in 16 bits, for trees and records: from, to (6 bits each) and a kind (4 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PackedMove(pub u16);

impl Move {
    /// A step or a drop as it is made at `table`; other moves as they are.
    pub fn at(self, table: Table) -> Move {
        match (self, table) {
            (Move::Step { from, to, promotion }, Table::B) => {
                Move::Second(BoardMove::Step { from, to, promotion })
            }
            (Move::Drop { role, to }, Table::B) => Move::Second(BoardMove::Drop { role, to }),
            _ => self,
        }
    }

    /// The table of a move and the move as that table's own game has it; a move that is of no table
    /// is told as one of the first.
    pub fn split(self) -> (Table, Move) {
        match self {
            Move::Second(BoardMove::Step { from, to, promotion }) => {
                (Table::B, Move::Step { from, to, promotion })
            }
            Move::Second(BoardMove::Drop { role, to }) => (Table::B, Move::Drop { role, to }),
            _ => (Table::A, self),
        }
    }

    /// This move in 16 bits. On the second of two tables nothing becomes a king or a pawn.
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
    /// The move again; `None` for bits that no move packs to.
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
    fn every_word_of_16_bits_is_one_move_or_none() {
        let moves = (0..=u16::MAX).filter_map(|bits| {
            let m = PackedMove(bits).unpack()?;
            assert_eq!(m.pack(), PackedMove(bits));
            Some(m)
        });
        assert_eq!(moves.count(), 64 * 64 * 7 + 6 * 64 + 64 + 64 + 64 * 64 * 5 + 6 * 64 + 1);
    }
}
