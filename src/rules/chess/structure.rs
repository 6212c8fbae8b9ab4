//! Hashes of parts of a position, by which a search recognizes similar positions.

use shakmaty::{Bitboard, Color, Role};

use super::ChessPosition;

const PIECES: [Role; 5] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];

impl ChessPosition {
    /// See [`Position::structure_keys`](crate::rules::Position::structure_keys).
    pub(in crate::rules) fn structure_keys(&self) -> [u64; 3] {
        let squares = |color, role| self.board.by_color(color) & self.board.by_role(role);
        let pawns = hash(Color::ALL.map(|color| squares(color, Role::Pawn)));
        let [white, black] =
            [Color::White, Color::Black].map(|color| hash(PIECES.map(|role| squares(color, role))));
        [pawns, white, black]
    }
}

/// Multiplies by an odd constant near the golden ratio, and rotates so that high bits reach low ones.
fn hash<const N: usize>(parts: [Bitboard; N]) -> u64 {
    parts.into_iter().fold(1, |hash: u64, part| {
        (hash ^ u64::from(part)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}
