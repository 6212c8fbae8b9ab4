//! The men of one side, in few words.

use shakmaty::attacks::pawn_attacks;
use shakmaty::{Bitboard, Board, Color, File, Piece, Rank, Role, Square};

/// The men of one side with what belongs to them: where it may castle, and whether its last move
/// was a double step. The colour is known from where it stands.
///
/// A square's role is three bits, one in each plane, chosen so that those that slide share a plane,
/// and those that slide alike another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Army {
    planes: [u64; 3],
    /// Where it may castle: bit 0 with the rook of the h-file, bit 1 with that of the a-file; and
    /// from bit 8 on the file of a pawn that has just gone two squares, counted from 1, or 0. One
    /// whole word: armies are copied by the million, and parts of words are slow to copy.
    rest: u64,
}

/// Castling with the rook of the h-file.
const SHORT: u64 = 1;
/// Castling with the rook of the a-file.
const LONG: u64 = 2;
/// All rights.
const RIGHTS: u64 = SHORT | LONG;
/// Where the file of a double step begins.
const DOUBLED: u32 = 8;

/// The three bits of each role.
#[inline]
const fn code(role: Role) -> u64 {
    // Four bits for each role, from the pawn on.
    0b011_0111_0110_0101_0010_0001 >> (4 * (role as u32 - 1)) & 7
}

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

/// The rank from which a side's men start.
pub(super) fn back_rank(color: Color) -> Rank {
    color.fold_wb(Rank::First, Rank::Eighth)
}

/// What of the rights of each side remains if something leaves a square or comes to it.
const KEPT: [[u64; 64]; 2] = {
    let mut kept = [[RIGHTS; 64]; 2];
    let mut side = 0;
    while side < 2 {
        let rank = 56 * side;
        kept[side][rank] = RIGHTS & !LONG;
        kept[side][rank + 4] = 0;
        kept[side][rank + 7] = RIGHTS & !SHORT;
        side += 1;
    }
    kept
};

#[inline]
fn kept(color: Color, square: Square) -> u64 {
    KEPT[usize::from(color.is_black())][usize::from(square)]
}

impl Army {
    /// The men of `color` on a board, with the rights that rooks on the `rights` squares give.
    pub fn new(board: &Board, color: Color, rights: Bitboard) -> Army {
        let mut army = Army::default();
        for square in board.by_color(color) {
            if let Some(role) = board.role_at(square) {
                army.put(square, role);
            }
        }
        let rank = back_rank(color);
        if army.role_at(Square::from_coords(File::E, rank)) == Some(Role::King) {
            for (file, right) in [(File::H, SHORT), (File::A, LONG)] {
                let corner = Square::from_coords(file, rank);
                let held = rights.contains(corner) && army.role_at(corner) == Some(Role::Rook);
                army.rest |= if held { right } else { 0 };
            }
        }
        army
    }

    /// All squares with a man.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        Bitboard(self.planes[0] | self.planes[1] | self.planes[2])
    }

    /// The squares with men of a role.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        let bits = code(role);
        let plane = |i: usize| if bits >> i & 1 == 1 { self.planes[i] } else { !self.planes[i] };
        Bitboard(plane(0) & plane(1) & plane(2))
    }

    /// Bishops and queens.
    #[inline]
    pub fn diagonal(&self) -> Bitboard {
        Bitboard(self.planes[2] & self.planes[0])
    }

    /// Rooks and queens.
    #[inline]
    pub fn straight(&self) -> Bitboard {
        Bitboard(self.planes[2] & self.planes[1])
    }

    /// The man on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        let bit = |i: usize| (self.planes[i] >> u32::from(square) & 1) << i;
        ROLES[(bit(0) | bit(1) | bit(2)) as usize]
    }

    /// The king's square.
    #[inline]
    pub fn king(&self) -> Option<Square> {
        self.by_role(Role::King).first()
    }

    /// All squares that its pawns attack.
    pub fn pawn_attacks(&self, color: Color) -> Bitboard {
        let pawns = self.by_role(Role::Pawn).into_iter();
        pawns.fold(Bitboard::EMPTY, |all, pawn| all | pawn_attacks(color, pawn))
    }

    /// Three planes of bits that tell its men apart.
    #[inline]
    pub fn planes(&self) -> [u64; 3] {
        self.planes
    }

    /// The square that was passed over by its last move, a double step.
    #[inline]
    pub fn passed(&self, color: Color) -> Option<Square> {
        let rank = color.fold_wb(Rank::Third, Rank::Sixth);
        let file = (self.rest >> DOUBLED) as u32;
        let file = file.checked_sub(1)?;
        Some(Square::from_coords(File::new(file & 7), rank))
    }

    /// The same with the square passed over by its last move, if any.
    pub(super) fn with_passed(mut self, passed: Option<Square>) -> Army {
        let doubled = passed.map_or(0, |square| u64::from(u32::from(square.file())) + 1);
        self.rest = self.rest & RIGHTS | doubled << DOUBLED;
        self
    }

    /// The rooks with which it may still castle.
    pub fn castling(&self, color: Color) -> Bitboard {
        let corner = |file| Bitboard::from(Square::from_coords(file, back_rank(color)));
        let right =
            |right, file| if self.rest & right == 0 { Bitboard::EMPTY } else { corner(file) };
        right(SHORT, File::H) | right(LONG, File::A)
    }

    /// Whether it may castle at all.
    #[inline]
    pub(super) fn may_castle(&self) -> bool {
        self.rest & RIGHTS != 0
    }

    /// 64 bits that differ where armies do, nearly always.
    #[inline]
    pub fn hash(&self) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let low =
            fold(self.planes[0] ^ 0x9e37_79b9_7f4a_7c15, self.planes[1] ^ 0xd134_2543_de82_ef95);
        let high = fold(
            self.planes[2] ^ 0x2545_f491_4f6c_dd1d,
            self.rest.wrapping_mul(0xa076_1d64_78bd_642f) ^ 0xe703_7ed1_a0b4_28db,
        );
        fold(low ^ 0x8ebc_6af0_9c88_c6e3, high ^ 0x5899_65cc_7537_4cc3)
    }

    /// Puts a man on an empty square.
    #[inline]
    pub(super) fn put(&mut self, square: Square, role: Role) {
        let bit = 1 << u32::from(square);
        for (i, plane) in self.planes.iter_mut().enumerate() {
            *plane |= if code(role) >> i & 1 == 1 { bit } else { 0 };
        }
    }

    /// Takes whatever stands on a square.
    #[inline]
    pub fn remove(&mut self, color: Color, square: Square) {
        let bit = 1 << u32::from(square);
        for plane in &mut self.planes {
            *plane &= !bit;
        }
        self.rest &= kept(color, square) | !RIGHTS;
    }

    /// Puts a man, or none, where another or none was believed to stand.
    pub fn set(&mut self, color: Color, square: Square, role: Option<Role>) {
        if self.role_at(square) != role {
            self.remove(color, square);
            if let Some(role) = role {
                self.put(square, role);
            }
            // What was passed over is not known of such a board.
            self.rest &= RIGHTS;
        }
    }

    /// The same after its side has passed.
    #[inline]
    pub fn rested(mut self) -> Army {
        self.rest &= RIGHTS;
        self
    }

    /// The same with a man gone from one square to an empty one, becoming `becomes`; castling is
    /// [`Army::castled`].
    #[inline]
    pub(super) fn moved(
        mut self,
        color: Color,
        role: Role,
        from: Square,
        to: Square,
        becomes: Role,
    ) -> Army {
        let (before, after) = (code(role), code(becomes));
        for (i, plane) in self.planes.iter_mut().enumerate() {
            *plane ^= (before >> i & 1) << u32::from(from) | (after >> i & 1) << u32::from(to);
        }
        let double = role == Role::Pawn && (u32::from(from) ^ u32::from(to)) == 16;
        let doubled = if double { u64::from(u32::from(to.file())) + 1 } else { 0 };
        // Rights alone remain: `kept` has no other bits.
        self.rest = self.rest & kept(color, from) | doubled << DOUBLED;
        self
    }

    /// The same after castling with the king from `from` to `to`.
    pub(super) fn castled(self, color: Color, from: Square, to: Square) -> Army {
        let rank = back_rank(color);
        let (corner, beside) = if to > from { (File::H, File::F) } else { (File::A, File::D) };
        let (rook, goes) = (Square::from_coords(corner, rank), Square::from_coords(beside, rank));
        let king = self.moved(color, Role::King, from, to, Role::King);
        king.moved(color, Role::Rook, rook, goes, Role::Rook)
    }

    /// Puts these men on a board.
    pub(super) fn onto(&self, color: Color, board: &mut Board) {
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
    fn armies_are_small_and_keep_what_is_put_into_them() {
        assert_eq!(size_of::<Army>(), 32);
        let mut army = Army::default();
        for (square, role) in Square::ALL.into_iter().zip(Role::ALL.into_iter().cycle()) {
            army.put(square, role);
            assert_eq!(army.role_at(square), Some(role));
            assert!(army.by_role(role).contains(square));
        }
        let sliders = [Role::Bishop, Role::Rook, Role::Queen].map(|role| army.by_role(role));
        assert_eq!(army.diagonal(), sliders[0] | sliders[2]);
        assert_eq!(army.straight(), sliders[1] | sliders[2]);
        army.remove(Color::White, Square::C3);
        assert_eq!(army.role_at(Square::C3), None);
        assert_eq!(army.occupied().count(), 63);
    }

    #[test]
    fn rights_go_with_the_men_that_have_them() {
        let start = Army::new(&Board::default(), Color::Black, Bitboard::CORNERS);
        assert_eq!(start.castling(Color::Black).count(), 2);
        let mut taken = start;
        taken.remove(Color::Black, Square::A8);
        assert_eq!(taken.castling(Color::Black), Bitboard::from(Square::H8));
        let king = start.moved(Color::Black, Role::King, Square::E8, Square::E7, Role::King);
        assert!(!king.may_castle());
        let pawn = start.moved(Color::Black, Role::Pawn, Square::C7, Square::C5, Role::Pawn);
        assert_eq!(pawn.passed(Color::Black), Some(Square::C6));
        assert_eq!(pawn.rested().passed(Color::Black), None);
        assert_ne!(pawn.hash(), pawn.rested().hash());
    }
}
