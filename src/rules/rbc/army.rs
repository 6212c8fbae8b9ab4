//! The pieces of one side in 32 bytes.

use shakmaty::attacks::pawn_attacks;
use shakmaty::{Bitboard, Board, Color, File, Piece, Rank, Role, Square};

/// The pieces of one side, its castling rights, and the file of its last move if that was a double step.
/// The color is not stored.
///
/// Each bit of a role is in one plane. The codes are chosen so that all sliders share a plane, diagonal
/// sliders a second one, and straight sliders a third one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Army {
    planes: [u64; 3],
    /// Bits 0 and 1 are the castling rights with the rooks of the h-file and the a-file. From bit 8 on
    /// stands the file of a pawn that has just moved two squares, counted from 1, or 0. This is a whole
    /// word because armies are copied by the million, and parts of words are slow to copy.
    state: u64,
}

const KINGSIDE: u64 = 1;
const QUEENSIDE: u64 = 2;
const ALL_RIGHTS: u64 = KINGSIDE | QUEENSIDE;
const DOUBLE_STEP_SHIFT: u32 = 8;

/// Returns the three bits of a role.
#[inline]
const fn role_code(role: Role) -> u64 {
    // Four bits per role, beginning with the pawn.
    0b011_0111_0110_0101_0010_0001 >> (4 * (role as u32 - 1)) & 7
}

/// The roles by their codes.
const ROLES: [Option<Role>; 8] = [
    None,
    Some(Role::Pawn),
    Some(Role::Knight),
    Some(Role::King),
    None,
    Some(Role::Bishop),
    Some(Role::Rook),
    Some(Role::Queen),
];

/// Returns the rank on which the king of `color` starts.
pub(super) fn back_rank(color: Color) -> Rank {
    color.fold_wb(Rank::First, Rank::Eighth)
}

/// The rights of each side that remain after a piece leaves or enters a square.
const KEPT_RIGHTS: [[u64; 64]; 2] = {
    let mut kept = [[ALL_RIGHTS; 64]; 2];
    let mut side = 0;
    while side < 2 {
        let corner = 56 * side;
        kept[side][corner] = ALL_RIGHTS & !QUEENSIDE;
        kept[side][corner + 4] = 0;
        kept[side][corner + 7] = ALL_RIGHTS & !KINGSIDE;
        side += 1;
    }
    kept
};

#[inline]
fn kept_rights(color: Color, square: Square) -> u64 {
    KEPT_RIGHTS[usize::from(color.is_black())][usize::from(square)]
}

/// Multiplies to 128 bits and folds the halves, as wyhash does.
#[inline]
fn multiply_fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Army {
    /// Returns the pieces of `color` on a board. A rook on one of the squares `castling_rooks` gives a right
    /// if it stands in its corner and the king on the e-file.
    pub fn new(board: &Board, color: Color, castling_rooks: Bitboard) -> Army {
        let mut army = Army::default();
        for square in board.by_color(color) {
            if let Some(role) = board.role_at(square) {
                army.put(square, role);
            }
        }
        let rank = back_rank(color);
        if army.role_at(Square::from_coords(File::E, rank)) == Some(Role::King) {
            for (file, right) in [(File::H, KINGSIDE), (File::A, QUEENSIDE)] {
                let corner = Square::from_coords(file, rank);
                if castling_rooks.contains(corner) && army.role_at(corner) == Some(Role::Rook) {
                    army.state |= right;
                }
            }
        }
        army
    }

    /// Returns the squares of all pieces.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        Bitboard(self.planes[0] | self.planes[1] | self.planes[2])
    }

    /// Returns the squares of the pieces of a role.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        let code = role_code(role);
        let plane = |i: usize| if code >> i & 1 == 1 { self.planes[i] } else { !self.planes[i] };
        Bitboard(plane(0) & plane(1) & plane(2))
    }

    /// Returns the squares of bishops and queens.
    #[inline]
    pub fn diagonal_sliders(&self) -> Bitboard {
        Bitboard(self.planes[2] & self.planes[0])
    }

    /// Returns the squares of rooks and queens.
    #[inline]
    pub fn straight_sliders(&self) -> Bitboard {
        Bitboard(self.planes[2] & self.planes[1])
    }

    /// Returns the role of the piece on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        let bit = |i: usize| (self.planes[i] >> u32::from(square) & 1) << i;
        ROLES[(bit(0) | bit(1) | bit(2)) as usize]
    }

    /// Returns the square of the king.
    #[inline]
    pub fn king(&self) -> Option<Square> {
        self.by_role(Role::King).first()
    }

    /// Returns the squares that the pawns attack.
    pub fn pawn_attacks(&self, color: Color) -> Bitboard {
        let pawns = self.by_role(Role::Pawn).into_iter();
        pawns.fold(Bitboard::EMPTY, |attacked, pawn| attacked | pawn_attacks(color, pawn))
    }

    /// Returns the three planes. They are equal if and only if the pieces are.
    #[inline]
    pub fn planes(&self) -> [u64; 3] {
        self.planes
    }

    /// Returns the en passant square if the last move of the side was a double step.
    #[inline]
    pub fn en_passant(&self, color: Color) -> Option<Square> {
        let rank = color.fold_wb(Rank::Third, Rank::Sixth);
        let file_number = (self.state >> DOUBLE_STEP_SHIFT) as u32;
        let file = file_number.checked_sub(1)?;
        Some(Square::from_coords(File::new(file & 7), rank))
    }

    /// Returns the army with this en passant square.
    pub(super) fn with_en_passant(mut self, square: Option<Square>) -> Army {
        let file_number = square.map_or(0, |square| u64::from(u32::from(square.file())) + 1);
        self.state = self.state & ALL_RIGHTS | file_number << DOUBLE_STEP_SHIFT;
        self
    }

    /// Returns the army without an en passant square, as it is after a pass.
    #[inline]
    pub fn without_en_passant(mut self) -> Army {
        self.state &= ALL_RIGHTS;
        self
    }

    /// Returns the squares of the rooks with which the side may castle.
    pub fn castling_rooks(&self, color: Color) -> Bitboard {
        let rook = |right: u64, file: File| {
            if self.state & right == 0 {
                Bitboard::EMPTY
            } else {
                Bitboard::from(Square::from_coords(file, back_rank(color)))
            }
        };
        rook(KINGSIDE, File::H) | rook(QUEENSIDE, File::A)
    }

    /// Returns `true` if the side has a castling right.
    #[inline]
    pub(super) fn has_castling_right(&self) -> bool {
        self.state & ALL_RIGHTS != 0
    }

    /// Returns a hash of everything that is stored.
    #[inline]
    pub fn hash(&self) -> u64 {
        let low = multiply_fold(
            self.planes[0] ^ 0x9e37_79b9_7f4a_7c15,
            self.planes[1] ^ 0xd134_2543_de82_ef95,
        );
        let high = multiply_fold(
            self.planes[2] ^ 0x2545_f491_4f6c_dd1d,
            self.state.wrapping_mul(0xa076_1d64_78bd_642f) ^ 0xe703_7ed1_a0b4_28db,
        );
        multiply_fold(low ^ 0x8ebc_6af0_9c88_c6e3, high ^ 0x5899_65cc_7537_4cc3)
    }

    /// Puts a piece on an empty square.
    #[inline]
    pub(super) fn put(&mut self, square: Square, role: Role) {
        let bit = 1 << u32::from(square);
        for (i, plane) in self.planes.iter_mut().enumerate() {
            *plane |= if role_code(role) >> i & 1 == 1 { bit } else { 0 };
        }
    }

    /// Removes the piece on a square, if any, with the castling rights that need it.
    #[inline]
    pub fn remove(&mut self, color: Color, square: Square) {
        let bit = 1 << u32::from(square);
        for plane in &mut self.planes {
            *plane &= !bit;
        }
        self.state &= kept_rights(color, square) | !ALL_RIGHTS;
    }

    /// Replaces the piece on a square. If that is a change, the army loses its en passant square.
    pub fn set(&mut self, color: Color, square: Square, role: Option<Role>) {
        if self.role_at(square) != role {
            self.remove(color, square);
            if let Some(role) = role {
                self.put(square, role);
            }
            self.state &= ALL_RIGHTS;
        }
    }

    /// Returns the army after a move to an empty square on which the piece is `becomes`. For castling see
    /// [`Army::with_castling`].
    #[inline]
    pub(super) fn with_move(
        mut self,
        color: Color,
        role: Role,
        from: Square,
        to: Square,
        becomes: Role,
    ) -> Army {
        let before = role_code(role);
        let after = role_code(becomes);
        for (i, plane) in self.planes.iter_mut().enumerate() {
            *plane ^= (before >> i & 1) << u32::from(from) | (after >> i & 1) << u32::from(to);
        }
        let is_double_step = role == Role::Pawn && (u32::from(from) ^ u32::from(to)) == 16;
        let file_number = if is_double_step { u64::from(u32::from(to.file())) + 1 } else { 0 };
        // `kept_rights` has no bits but the rights, so that the old en passant square goes, too.
        self.state = self.state & kept_rights(color, from) | file_number << DOUBLE_STEP_SHIFT;
        self
    }

    /// Returns the army after castling with the king from `from` to `to`.
    pub(super) fn with_castling(self, color: Color, from: Square, to: Square) -> Army {
        let rank = back_rank(color);
        let (rook_from, rook_to) = if to > from { (File::H, File::F) } else { (File::A, File::D) };
        let rook_from = Square::from_coords(rook_from, rank);
        let rook_to = Square::from_coords(rook_to, rank);
        self.with_move(color, Role::King, from, to, Role::King).with_move(
            color,
            Role::Rook,
            rook_from,
            rook_to,
            Role::Rook,
        )
    }

    /// Puts the pieces on a board.
    pub(super) fn put_on(&self, color: Color, board: &mut Board) {
        for square in self.occupied() {
            if let Some(role) = self.role_at(square) {
                board.set_piece_at(square, Piece { color, role });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn army_is_32_bytes_and_stores_every_role() {
        assert_eq!(size_of::<Army>(), 32);
        let mut army = Army::default();
        for (square, role) in Square::ALL.into_iter().zip(Role::ALL.into_iter().cycle()) {
            army.put(square, role);
            assert_eq!(army.role_at(square), Some(role));
            assert!(army.by_role(role).contains(square));
        }
        let [bishops, rooks, queens] =
            [Role::Bishop, Role::Rook, Role::Queen].map(|role| army.by_role(role));
        assert_eq!(army.diagonal_sliders(), bishops | queens);
        assert_eq!(army.straight_sliders(), rooks | queens);
        army.remove(Color::White, Square::C3);
        assert_eq!(army.role_at(Square::C3), None);
        assert_eq!(army.occupied().count(), 63);
    }

    #[test]
    fn army_loses_castling_rights_with_king_and_rooks() {
        let start = Army::new(&Board::default(), Color::Black, Bitboard::CORNERS);
        assert_eq!(start.castling_rooks(Color::Black).count(), 2);
        let mut without_rook = start;
        without_rook.remove(Color::Black, Square::A8);
        assert_eq!(without_rook.castling_rooks(Color::Black), Bitboard::from(Square::H8));
        let king = start.with_move(Color::Black, Role::King, Square::E8, Square::E7, Role::King);
        assert!(!king.has_castling_right());
    }

    #[test]
    fn army_has_en_passant_square_after_double_step() {
        let start = Army::new(&Board::default(), Color::Black, Bitboard::CORNERS);
        let pawn = start.with_move(Color::Black, Role::Pawn, Square::C7, Square::C5, Role::Pawn);
        assert_eq!(pawn.en_passant(Color::Black), Some(Square::C6));
        assert_eq!(pawn.without_en_passant().en_passant(Color::Black), None);
        assert_ne!(pawn.hash(), pawn.without_en_passant().hash());
    }
}
