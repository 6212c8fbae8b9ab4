//! Making moves.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::ChessPosition;
use super::attack::forward;
use super::castling::CastlingPath;
use super::walls::PendingWall;
use crate::rules::Move;

impl ChessPosition {
    /// Makes a move without ending the turn: updates pieces, pockets, rights, counters and the pending
    /// wall.
    pub(super) fn make_move(&mut self, m: Move) {
        let royals = match self.pseudo_royal_rule() {
            Some(rule) if self.variant_rules.walls_follow() => {
                Some(self.pseudo_royals_of_move(rule, m))
            }
            _ => None,
        };
        self.en_passant = match m {
            Move::Step { from, to, promotion, .. } => self.step(from, to, promotion),
            Move::Drop { role, to, .. } => self.drop_piece(role, to),
            Move::Wall(to) => self.wall(to),
            Move::Place(_) | Move::Pass => None,
        };
        if let Some(pending_wall) = &mut self.pending_wall {
            pending_wall.royals = royals;
        }
    }

    /// Moves a piece, castles, or captures. Returns the square that a pawn passed.
    fn step(&mut self, from: Square, to: Square, promotion: Option<Role>) -> Option<Square> {
        if let Some(path) = self.castles(from, to) {
            self.castle(path);
            return None;
        }
        self.lose_rights(from);
        self.lose_rights(to);
        let piece = self.board.remove_piece_at(from)?;
        let pawn = piece.role == Role::Pawn;
        let mut captured = self.capture(to);
        if pawn && self.en_passant == Some(to) {
            let behind = forward(!self.turn, Bitboard::from_square(to)).first();
            captured |= behind.is_some_and(|square| self.capture(square));
        }
        let was_promoted = self.promoted.contains(from);
        self.promoted = self.promoted.without(from);
        if was_promoted || promotion.is_some() && self.variant_rules.tracks_promoted() {
            self.promoted = self.promoted.with(to);
        }
        let role = promotion.unwrap_or(piece.role);
        let piece = Piece { role, ..piece };
        self.put_piece(to, piece);
        let blown = if captured { self.blow_up(to) } else { Bitboard::EMPTY };
        // Only moves of pawns are irreversible.
        let irreversible_pawn =
            pawn && self.variant_rules.ends.n_move_types[self.turn].contains(&Role::Pawn);
        let resets_clock = captured || irreversible_pawn || promotion.is_some();
        self.halfmoves = if resets_clock { 0 } else { self.halfmoves.saturating_add(1) };
        self.require_wall(PendingWall { blown, ..PendingWall::after(Some(from), to, piece) });
        // A pawn that has promoted cannot be captured en passant.
        let double_step = role == Role::Pawn && from.file() == to.file() && from.distance(to) == 2;
        if double_step { forward(self.turn, Bitboard::from_square(from)).first() } else { None }
    }

    /// Sets the pending wall after a move of a piece, if a wall must follow.
    fn require_wall(&mut self, pending_wall: PendingWall) {
        self.pending_wall = self.variant_rules.walls_follow().then_some(pending_wall);
    }

    /// Puts a piece on its new square. Castling rights are lost if another king comes to the castling rank
    /// and the board no longer determines the king that castles.
    fn put_piece(&mut self, to: Square, piece: Piece) {
        let is_king = piece.role == Role::King;
        let before = if is_king { self.castling_king(piece.color) } else { None };
        self.board.set_piece_at(to, piece);
        if before.is_some_and(|king| self.castling_king(piece.color) != Some(king)) {
            self.rights &= !self.board.by_color(piece.color);
        }
    }

    /// Captures the piece on `square`. Returns whether there was one.
    fn capture(&mut self, square: Square) -> bool {
        let Some(piece) = self.board.remove_piece_at(square) else { return false };
        self.add_captured(square, piece);
        true
    }

    /// Adds the piece removed from `square` to the pocket of the other side, if captured pieces go there.
    fn add_captured(&mut self, square: Square, piece: Piece) {
        let promoted = self.promoted.contains(square);
        self.promoted = self.promoted.without(square);
        if let Some(drops) = self.variant_rules.drops.filter(|drops| drops.captures_to_hand) {
            let demoted = promoted && !drops.keeps_promoted;
            let role = if demoted { Role::Pawn } else { piece.role };
            // A royal king can only be captured after an illegal FEN, and cannot be dropped.
            if role == Role::King && self.variant_rules.royal && !drops.kings {
                return;
            }
            let count = &mut self.hands[!piece.color][role];
            *count = count.saturating_add(1);
        }
    }

    /// Removes the castling rights of the piece on `square`, before it leaves.
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

    /// Applies the blast of a capture on `center`, if the game has blasts. Returns the squares that are
    /// empty now.
    fn blow_up(&mut self, center: Square) -> Bitboard {
        let Some(immune) = &self.variant_rules.blast else { return Bitboard::EMPTY };
        let around = attacks::king_attacks(center) & !self.board.pawns();
        let mut blast = (around | Bitboard::from_square(center)) & self.board.occupied();
        for &role in immune {
            blast &= !self.board.by_role(role);
        }
        for square in blast {
            self.lose_rights(square);
            if let Some(piece) = self.board.remove_piece_at(square) {
                self.add_captured(square, piece);
            }
        }
        blast
    }

    fn castle(&mut self, path: CastlingPath) {
        let color = self.turn;
        let guarded = self
            .pseudo_royal_rule()
            .is_some_and(|rule| self.pseudo_royals(rule, color).contains(path.king));
        self.board.discard_piece_at(path.king);
        self.board.discard_piece_at(path.rook);
        let king = Piece { color, role: Role::King };
        self.board.set_piece_at(path.king_to, king);
        self.board.set_piece_at(path.rook_to, Piece { color, role: Role::Rook });
        self.rights &= !self.board.by_color(color) & !Bitboard::from_rank(path.king.rank());
        let resets_clock = self.variant_rules.ends.n_move_types[color].contains(&Role::King);
        self.halfmoves = if resets_clock { 0 } else { self.halfmoves.saturating_add(1) };
        let Some(rules) = self.variant_rules.castling else { return };
        let king_side = path.is_king_side();
        if rules.wins[color][usize::from(!king_side)] {
            self.decided = Some(color);
        }
        if rules.opposite
            && let Some(rook) = self.castling_rook(!color, king_side)
        {
            self.rights = self.rights.without(rook);
        }
        let written = if self.writes_rook(path) { path.rook } else { path.king_to };
        self.require_wall(PendingWall {
            castled: Some(path),
            guarded,
            ..PendingWall::after(Some(path.king), written, king)
        });
    }

    /// Drops a piece from the pocket.
    fn drop_piece(&mut self, role: Role, to: Square) -> Option<Square> {
        let count = &mut self.hands[self.turn][role];
        *count = count.saturating_sub(1);
        let piece = Piece { color: self.turn, role };
        self.put_piece(to, piece);
        self.gain_rights(to, role);
        self.halfmoves = 0;
        self.require_wall(PendingWall::after(None, to, piece));
        None
    }

    /// Places a wall. Returns the square that a pawn passed in the same turn.
    fn wall(&mut self, to: Square) -> Option<Square> {
        // A wall that is a whole turn counts as a reversible move.
        self.halfmoves = self.halfmoves.saturating_add(u32::from(self.pending_wall.is_none()));
        let passed = if self.pending_wall.is_some() { self.en_passant } else { None };
        self.pending_wall = None;
        self.put_wall(to);
        passed
    }

    /// Ends the turn, unless a wall must follow.
    pub(super) fn end_ply(&mut self) {
        if self.pending_wall.is_none() {
            self.end_turn();
            return;
        }
        let Some(square) = self.en_passant else { return };
        // The wall can prevent the en passant capture, but it does not change which pawns attack the square.
        let pawns = self.board.pawns() & self.board.by_color(!self.turn);
        if (attacks::pawn_attacks(self.turn, square) & pawns).is_empty() {
            self.en_passant = None;
        }
    }

    pub(super) fn end_turn(&mut self) {
        if self.variant_rules.checks.counted.is_some() && self.in_check(!self.turn) {
            let left = &mut self.checks[self.turn];
            *left = left.saturating_sub(1);
        }
        self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn == Color::Black));
        self.turn = !self.turn;
        if let Some(square) = self.en_passant {
            self.en_passant = self.useful_en_passant(square);
        }
    }
}
