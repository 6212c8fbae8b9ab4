//! Moves: steps and captures, drops, and the duck.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::Chess8;
use super::attack::Danger;
use crate::rules::{Move, MoveList};

impl Chess8 {
    /// Adds every legal move of a side whose turn begins.
    pub(super) fn turns(&self, out: &mut MoveList) {
        let danger = self.danger();
        self.steps(danger, out);
        self.castlings(danger, out);
        self.drops(danger, out);
        if self.axes.must_capture && out.iter().any(|&m| self.captures(m)) {
            out.retain(|&m| self.captures(m));
        }
    }

    fn captures(&self, m: Move) -> bool {
        let Move::Step { from, to, .. } = m else { return false };
        self.board.by_color(!self.turn).contains(to)
            || self.board.pawns().contains(from) && from.file() != to.file()
    }

    /// Adds every square that the duck may go to: it must leave its own.
    pub(super) fn walls(&self, out: &mut MoveList) {
        out.extend(self.empty().into_iter().map(Move::Wall));
    }

    /// The squares of the board without man and duck.
    pub(super) fn empty(&self) -> Bitboard {
        self.area & !self.board.occupied() & !self.duck
    }

    fn steps(&self, danger: Danger, out: &mut MoveList) {
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let blocked = us | them | self.duck | !self.area;
        let free = self.area & !us & !self.duck;
        for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King] {
            let piece = Piece { color: self.turn, role };
            let free = free & !self.immune_from(role);
            for from in us & self.board.by_role(role) {
                for to in attacks::attacks(from, piece, blocked) & free {
                    if self.is_safe(danger, from, to, Bitboard::from_square(to) & them) {
                        out.push(Move::Step { from, to, promotion: None });
                    }
                }
            }
        }
        for from in us & self.board.pawns() {
            self.pawn_steps(from, danger, out);
        }
    }

    /// The men that a man of `role` cannot capture, whoever has them.
    fn immune_from(&self, role: Role) -> Bitboard {
        let immune = self.axes.mutually_immune.contains(&role);
        if immune { self.board.by_role(role) } else { Bitboard::EMPTY }
    }

    fn pawn_steps(&self, from: Square, danger: Danger, out: &mut MoveList) {
        let them = self.board.by_color(!self.turn);
        let (ahead, far) = self.pushes(from);
        let taken = attacks::pawn_attacks(self.turn, from) & them & !self.immune_from(Role::Pawn);
        for to in ahead | far | taken {
            if self.is_safe(danger, from, to, Bitboard::from_square(to) & them) {
                self.pawn_step(from, to, out);
            }
        }
        if let Some(to) = self.en_passant.filter(|&to| self.takes_en_passant(danger, from, to)) {
            self.pawn_step(from, to, out);
        }
    }

    fn pawn_step(&self, from: Square, to: Square, out: &mut MoveList) {
        if self.axes.promotion_area[self.turn].contains(to) {
            let kinds = self.axes.promotions.iter();
            out.extend(kinds.map(|&role| Move::Step { from, to, promotion: Some(role) }));
        } else {
            out.push(Move::Step { from, to, promotion: None });
        }
    }

    /// One square ahead and two, as far as a pawn can go.
    fn pushes(&self, from: Square) -> (Bitboard, Bitboard) {
        let empty = self.empty();
        let ahead = forward(self.turn, Bitboard::from_square(from)) & empty;
        let far = if self.axes.double_step[self.turn].contains(from) {
            forward(self.turn, ahead) & empty
        } else {
            Bitboard::EMPTY
        };
        (ahead, far)
    }

    /// Whether the pawn of the mover on `from` may capture en passant on `to`.
    fn takes_en_passant(&self, danger: Danger, from: Square, to: Square) -> bool {
        attacks::pawn_attacks(self.turn, from).contains(to)
            && !self.axes.mutually_immune.contains(&Role::Pawn)
            && self.is_safe(danger, from, to, forward(!self.turn, Bitboard::from_square(to)))
    }

    /// `square` if a pawn of the mover may capture en passant there: elsewhere the square means
    /// nothing, and positions with it and without are the same.
    pub(super) fn useful_en_passant(&self, square: Square) -> Option<Square> {
        let danger = self.danger();
        let pawns = attacks::pawn_attacks(!self.turn, square)
            & self.board.pawns()
            & self.board.by_color(self.turn);
        let free = !self.duck.contains(square);
        (free && pawns.into_iter().any(|from| self.takes_en_passant(danger, from, square)))
            .then_some(square)
    }

    fn drops(&self, danger: Danger, out: &mut MoveList) {
        let Some(drops) = &self.axes.drops else { return };
        let mut squares = self.empty();
        // The duck needs a square, too.
        if self.axes.duck && !squares.more_than_one() {
            return;
        }
        if let (Some(king), Some(first)) = (danger.king, danger.checkers.first()) {
            if danger.checkers.more_than_one() {
                return;
            }
            squares &= attacks::between(king, first);
        }
        for role in Role::ALL {
            if self.hands[self.turn][role] > 0 {
                let area = if role == Role::Pawn { drops.pawn_area } else { drops.area };
                let fit = squares & area[self.turn];
                out.extend(fit.into_iter().map(|to| Move::Drop { role, to }));
            }
        }
    }
}

/// The squares one rank ahead, as pawns of `color` go.
pub(super) fn forward(color: Color, squares: Bitboard) -> Bitboard {
    squares.shift(color.fold_wb(8, -8))
}
