//! Attacked squares of one side.

use shakmaty::attacks;

use crate::rules::{Bitboard, Board, Color, File, Role};

/// Squares that one side attacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttackMap {
    /// Attacked at least once.
    pub(super) once: Bitboard,
    /// Attacked at least twice.
    pub(super) twice: Bitboard,
    /// Attacked by pawns.
    pub(super) by_pawns: Bitboard,
    /// Attacked by pieces of each of [`COUNTED_ROLES`].
    pub(super) by_role: [Bitboard; COUNTED_ROLES.len()],
}

/// Roles between pawn and king, from the least valuable to the most valuable one.
pub(super) const COUNTED_ROLES: [Role; 4] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

impl AttackMap {
    /// Returns the attacks of `color` on a board whose lines end at `blockers`.
    pub(super) fn new(board: &Board, color: Color, blockers: Bitboard) -> AttackMap {
        let own = board.by_color(color);
        let pawns = own & board.pawns();
        let (left, right) = pawn_attacks(pawns, color);
        let mut map = AttackMap {
            once: left | right,
            twice: left & right,
            by_pawns: left | right,
            ..AttackMap::default()
        };
        for square in own & board.knights() {
            map.add_by(0, attacks::knight_attacks(square));
        }
        for square in own & board.bishops() {
            map.add_by(1, attacks::bishop_attacks(square, blockers));
        }
        for square in own & board.rooks() {
            map.add_by(2, attacks::rook_attacks(square, blockers));
        }
        for square in own & board.queens() {
            map.add_by(3, attacks::queen_attacks(square, blockers));
        }
        for square in own & board.kings() {
            map.add(attacks::king_attacks(square));
        }
        map
    }

    /// Returns the squares that the sliders of `color` attack.
    pub(super) fn of_sliders(board: &Board, color: Color, blockers: Bitboard) -> AttackMap {
        let own = board.by_color(color);
        let mut map = AttackMap::default();
        for square in own & board.bishops_and_queens() {
            map.add(attacks::bishop_attacks(square, blockers));
        }
        for square in own & board.rooks_and_queens() {
            map.add(attacks::rook_attacks(square, blockers));
        }
        map
    }

    /// Adds what a piece attacks whose role is number `nth` of [`COUNTED_ROLES`].
    #[inline]
    fn add_by(&mut self, nth: usize, attacked: Bitboard) {
        self.add(attacked);
        self.by_role[nth] |= attacked;
    }

    #[inline]
    fn add(&mut self, attacked: Bitboard) {
        self.twice |= self.once & attacked;
        self.once |= attacked;
    }
}

/// Returns the captures of pawns towards the a-file and towards the h-file.
fn pawn_attacks(pawns: Bitboard, color: Color) -> (Bitboard, Bitboard) {
    let not_a = pawns & !Bitboard::from_file(File::A);
    let not_h = pawns & !Bitboard::from_file(File::H);
    color.fold_wb((not_a.shift(7), not_h.shift(9)), (not_a.shift(-9), not_h.shift(-7)))
}
