//! What a move changes.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::ChessPosition;
use super::attack::forward;
use super::castling::Path;
use super::walls::Owed;
use crate::rules::Move;

impl ChessPosition {
    /// Plays a move but does not end the turn: men, hands, rights, counters and what is owed.
    pub(super) fn play_men(&mut self, m: Move) {
        self.en_passant = match m {
            Move::Step { from, to, promotion } => self.step(from, to, promotion),
            Move::Drop { role, to } => self.drop_man(role, to),
            Move::Wall(to) => self.wall(to),
            Move::Place(_) | Move::Second(_) | Move::Pass => None,
        };
    }

    /// Moves a man, castles, or captures. Returns the square that a pawn went over.
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
        if was_promoted || promotion.is_some() && self.variant_rules.tells_promoted() {
            self.promoted = self.promoted.with(to);
        }
        let role = promotion.unwrap_or(piece.role);
        let piece = Piece { role, ..piece };
        self.put_man(to, piece);
        let blown = if captured { self.blow_up(to) } else { Bitboard::EMPTY };
        // Of the men there are a pawn alone cannot go back.
        let counts = pawn && self.variant_rules.ends.clocks[self.turn].contains(&Role::Pawn);
        let anew = captured || counts || promotion.is_some();
        self.halfmoves = if anew { 0 } else { self.halfmoves.saturating_add(1) };
        self.owe(Owed { blown, ..Owed::after(Some(from), to, piece) });
        let double = pawn && from.file() == to.file() && from.distance(to) == 2;
        forward(self.turn, Bitboard::from_square(from)).first().filter(|_| double)
    }

    /// Owes a wall after a move of a man, if the game asks for it.
    fn owe(&mut self, owed: Owed) {
        self.owed = self.variant_rules.walls.filter(|walls| !walls.instead).map(|_| owed);
    }

    /// Puts a man on its new square. Where it is one more king on the rank of castling, and the one
    /// that castles would no longer be known from the board, the rights end.
    fn put_man(&mut self, to: Square, man: Piece) {
        let is_king = man.role == Role::King;
        let before = is_king.then(|| self.castling_king(man.color)).flatten();
        self.board.set_piece_at(to, man);
        if before.is_some_and(|king| self.castling_king(man.color) != Some(king)) {
            self.rights &= !self.board.by_color(man.color);
        }
    }

    /// Takes what stands on `square`; says whether anything did.
    fn capture(&mut self, square: Square) -> bool {
        let Some(man) = self.board.remove_piece_at(square) else { return false };
        self.take_to_hand(square, man);
        true
    }

    /// Gives a man that is gone from `square` to the other side's hand, where men go there.
    fn take_to_hand(&mut self, square: Square, man: Piece) {
        let promoted = self.promoted.contains(square);
        self.promoted = self.promoted.without(square);
        if let Some(drops) = self.variant_rules.drops.filter(|drops| drops.captures_to_hand) {
            let demoted = promoted && !drops.keeps_promoted;
            let role = if demoted { Role::Pawn } else { man.role };
            // Only a FEN leaves a royal king to be taken; nobody could drop it.
            if role == Role::King && self.variant_rules.royal && !drops.kings {
                return;
            }
            let hand = &mut self.hands[!man.color][role];
            *hand = hand.saturating_add(1);
        }
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

    /// After a capture on `center`, where captures do so. Returns the squares that are empty now.
    fn blow_up(&mut self, center: Square) -> Bitboard {
        let Some(immune) = &self.variant_rules.blast else { return Bitboard::EMPTY };
        let around = attacks::king_attacks(center) & !self.board.pawns();
        let mut blast = (around | Bitboard::from_square(center)) & self.board.occupied();
        for &role in immune {
            blast &= !self.board.by_role(role);
        }
        for square in blast {
            self.lose_rights(square);
            if let Some(man) = self.board.remove_piece_at(square) {
                self.take_to_hand(square, man);
            }
        }
        blast
    }

    fn castle(&mut self, path: Path) {
        let color = self.turn;
        let guarded =
            self.last_men().is_some_and(|rule| self.pseudo_royals(rule, color).contains(path.king));
        self.board.discard_piece_at(path.king);
        self.board.discard_piece_at(path.rook);
        let king = Piece { color, role: Role::King };
        self.board.set_piece_at(path.king_to, king);
        self.board.set_piece_at(path.rook_to, Piece { color, role: Role::Rook });
        self.rights &= !self.board.by_color(color) & !Bitboard::from_rank(path.king.rank());
        let counts = self.variant_rules.ends.clocks[color].contains(&Role::King);
        self.halfmoves = if counts { 0 } else { self.halfmoves.saturating_add(1) };
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
        self.owe(Owed {
            castled: Some(path),
            guarded,
            ..Owed::after(Some(path.king), written, king)
        });
    }

    /// Puts a man from the hand on the board.
    fn drop_man(&mut self, role: Role, to: Square) -> Option<Square> {
        let hand = &mut self.hands[self.turn][role];
        *hand = hand.saturating_sub(1);
        let piece = Piece { color: self.turn, role };
        self.put_man(to, piece);
        self.gain_rights(to, role);
        self.halfmoves = 0;
        self.owe(Owed::after(None, to, piece));
        None
    }

    /// Puts a wall down. Returns the square that a pawn went over before, unless it is closed now.
    fn wall(&mut self, to: Square) -> Option<Square> {
        // A wall without a move is counted like one.
        self.halfmoves = self.halfmoves.saturating_add(u32::from(self.owed.is_none()));
        let passed = self.en_passant.filter(|_| self.owed.is_some());
        self.owed = None;
        self.put_wall(to);
        passed
    }

    /// Ends the turn, unless a wall is to follow.
    pub(super) fn end_ply(&mut self) {
        let Some(square) = self.en_passant.filter(|_| self.owed.is_some()) else {
            if self.owed.is_none() {
                self.end_turn();
            }
            return;
        };
        // Whether the pawn can be taken depends on the wall, but by whom does not.
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
