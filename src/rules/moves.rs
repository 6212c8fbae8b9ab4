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
}

/// The legal moves of a position, in the order in which its rules generate them.
pub type MoveList = Vec<Move>;

const DROP: u16 = 7;
const PLACE: u16 = 8;
const WALL: u16 = 9;

/// A move in 16 bits, for trees and records: from, to (6 bits each) and a kind (4 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PackedMove(pub u16);

impl Move {
    /// This move in 16 bits.
    pub fn pack(self) -> PackedMove {
        let bits = |from: u16, to: Square, kind: u16| from | u16::from(to) << 6 | kind << 12;
        PackedMove(match self {
            Move::Step { from, to, promotion } => {
                bits(u16::from(from), to, promotion.map_or(0, u16::from))
            }
            Move::Drop { role, to } => bits(u16::from(role), to, DROP),
            Move::Place(to) => bits(0, to, PLACE),
            Move::Wall(to) => bits(0, to, WALL),
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
            0 => Move::Step { from: Square::new(low), to, promotion: None },
            kind @ 1..=6 => {
                let promotion = Some(Role::try_from(u32::from(kind)).ok()?);
                Move::Step { from: Square::new(low), to, promotion }
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
        assert_eq!(moves.count(), 64 * 64 * 7 + 6 * 64 + 64 + 64);
    }
}
