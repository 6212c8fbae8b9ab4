//! What inputs and move rows have in common: one board, its attacks and its kings.

use super::attack_map::AttackMap;
use super::geometry::{Geometry, Orientation};
use crate::rules::{Bitboard, Board, BoardView, Color, Role, Square};

/// One board as the side to move sees it.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) view: BoardView<'a>,
    /// Color of the side to move on this board.
    pub(super) us: Color,
    pub(super) orientation: Orientation,
    /// Pieces of the side to move.
    pub(super) own: Bitboard,
    /// Pieces of the other side.
    pub(super) other: Bitboard,
    pub(super) own_attacks: AttackMap,
    pub(super) other_attacks: AttackMap,
    /// The king of the side to move, if it has one king.
    pub(super) own_king: Option<Square>,
    /// The king of the other side, if it has one king.
    pub(super) other_king: Option<Square>,
    /// Role of the piece on each square ([`role_index`]); meaningless where there is none.
    pub(super) roles: [u8; 64],
    /// Squares that end lines once the wall that is put down has left its square.
    pub(super) wall_blockers: Bitboard,
}

/// Returns the number of a role, 0 (pawn) to 5 (king).
#[inline]
pub(super) fn role_index(role: Role) -> usize {
    role as usize - 1
}

impl<'a> Scene<'a> {
    pub(super) fn new(geometry: &Geometry, view: &BoardView<'a>, wall_moves: bool) -> Scene<'a> {
        let board = view.pieces;
        let us = view.turn;
        let blockers = board.occupied() | view.walls;
        let own_king = single_king(board, us);
        let mut roles = [0; 64];
        for role in Role::ALL {
            for square in board.by_role(role) {
                roles[usize::from(square)] = role_index(role) as u8;
            }
        }
        Scene {
            view: *view,
            us,
            orientation: geometry.orientation(us, own_king),
            own: board.by_color(us),
            other: board.by_color(!us),
            own_attacks: AttackMap::new(board, us, blockers),
            other_attacks: AttackMap::new(board, !us, blockers),
            own_king,
            other_king: single_king(board, !us),
            roles,
            wall_blockers: if wall_moves { board.occupied() } else { blockers },
        }
    }

    /// Returns the role of the piece on `square`, 0 to 5, where there is one.
    #[inline]
    pub(super) fn role_at(&self, square: Square) -> usize {
        usize::from(self.roles[usize::from(square)])
    }
}

fn single_king(board: &Board, color: Color) -> Option<Square> {
    (board.kings() & board.by_color(color)).single_square()
}
