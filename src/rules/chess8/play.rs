//! What a move changes.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::Chess8;
use super::castling::Path;
use super::moves::forward;

impl Chess8 {
    /// Moves a man, castles, or captures.
    pub(super) fn step(&mut self, from: Square, to: Square, promotion: Option<Role>) {
        if let Some(path) = self.castles(from, to) {
            self.castle(path);
            return;
        }
        self.lose_rights(from);
        self.lose_rights(to);
        let Some(piece) = self.board.remove_piece_at(from) else { return };
        let pawn = piece.role == Role::Pawn;
        let mut captured = self.capture(to);
        if pawn && self.en_passant == Some(to) {
            let behind = forward(!self.turn, Bitboard::from_square(to)).first();
            captured |= behind.is_some_and(|square| self.capture(square));
        }
        let was_promoted = self.promoted.contains(from);
        self.promoted = self.promoted.without(from);
        if was_promoted || promotion.is_some() && self.axes.tells_promoted() {
            self.promoted = self.promoted.with(to);
        }
        let role = promotion.unwrap_or(piece.role);
        self.board.set_piece_at(to, Piece { role, ..piece });
        if captured {
            self.blow_up(to);
        }
        self.halfmoves = if captured || pawn { 0 } else { self.halfmoves.saturating_add(1) };
        let double = pawn && from.file() == to.file() && from.distance(to) == 2;
        let passed = forward(self.turn, Bitboard::from_square(from)).first();
        self.end_ply(to, passed.filter(|_| double));
    }

    /// Takes what stands on `square`; says whether anything did.
    fn capture(&mut self, square: Square) -> bool {
        let Some(man) = self.board.remove_piece_at(square) else { return false };
        let promoted = self.promoted.contains(square);
        self.promoted = self.promoted.without(square);
        if let Some(drops) = self.axes.drops.filter(|drops| drops.captures_to_hand) {
            let demoted = promoted && !drops.keeps_promoted;
            let role = if demoted { Role::Pawn } else { man.role };
            let hand = &mut self.hands[self.turn][role];
            *hand = hand.saturating_add(1);
        }
        true
    }

    /// Takes the rights to castle with what stands on `square`, before it goes.
    fn lose_rights(&mut self, square: Square) {
        if self.rights.is_empty() {
            return;
        }
        for color in Color::ALL {
            if self.castling_king(color) == Some(square) {
                self.rights &= !self.board.by_color(color);
            }
        }
        self.rights = self.rights.without(square);
    }

    /// After a capture on `center`, where captures do so.
    fn blow_up(&mut self, center: Square) {
        let Some(immune) = &self.axes.blast else { return };
        let around = attacks::king_attacks(center) & !self.board.pawns();
        let mut blast = (around | Bitboard::from_square(center)) & self.board.occupied();
        for &role in immune {
            blast &= !self.board.by_role(role);
        }
        for square in blast {
            self.lose_rights(square);
            self.board.discard_piece_at(square);
        }
        self.promoted &= !blast;
    }

    fn castle(&mut self, path: Path) {
        let color = self.turn;
        self.board.discard_piece_at(path.king);
        self.board.discard_piece_at(path.rook);
        self.board.set_piece_at(path.king_to, Piece { color, role: Role::King });
        self.board.set_piece_at(path.rook_to, Piece { color, role: Role::Rook });
        self.rights &= !Bitboard::from_rank(path.king.rank());
        self.halfmoves = self.halfmoves.saturating_add(1);
        let written = if self.writes_rook(path) { path.rook } else { path.king_to };
        self.end_ply(written, None);
    }

    /// Puts a man from the hand on the board.
    pub(super) fn drop_man(&mut self, role: Role, to: Square) {
        let hand = &mut self.hands[self.turn][role];
        *hand = hand.saturating_sub(1);
        self.board.set_piece_at(to, Piece { color: self.turn, role });
        self.halfmoves = 0;
        self.end_ply(to, None);
    }

    /// Puts the duck down.
    pub(super) fn wall(&mut self, to: Square) {
        self.duck = Bitboard::from_square(to);
        self.owes_wall = None;
        self.end_turn();
    }

    /// Ends the turn, or the first part of it where the duck is to follow: a man went to `to`, and
    /// a pawn over `passed`.
    fn end_ply(&mut self, to: Square, passed: Option<Square>) {
        self.en_passant = passed;
        if self.axes.duck {
            self.owes_wall = Some(to);
            // Whether the pawn can be taken depends on the duck, but by whom does not.
            let takers = |square| attacks::pawn_attacks(self.turn, square);
            let pawns = self.board.pawns() & self.board.by_color(!self.turn);
            self.en_passant = passed.filter(|&square| (takers(square) & pawns).any());
        } else {
            self.end_turn();
        }
    }

    fn end_turn(&mut self) {
        self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn == Color::Black));
        self.turn = !self.turn;
        if let Some(square) = self.en_passant {
            self.en_passant = self.useful_en_passant(square);
        }
    }
}
