//! What a search asks about moves before it plays them.

use shakmaty::{Color, Role};

use super::ChessPosition;
use crate::rules::{Move, MoveFacts};

impl ChessPosition {
    /// See [`Position::move_facts`](crate::rules::Position::move_facts).
    pub(in crate::rules) fn move_facts(&self, m: Move) -> MoveFacts {
        match m {
            Move::Step { from, to, promotion, .. } => {
                let role = self.board.role_at(from);
                let takes = self.board.by_color(!self.turn).contains(to);
                let captured = if takes {
                    self.board.role_at(to)
                } else if role == Some(Role::Pawn) && from.file() != to.file() {
                    Some(Role::Pawn)
                } else {
                    None
                };
                let reaches_flag = self.variant_rules.flag.is_some_and(|flag| {
                    let piece = flag.piece[self.turn];
                    flag.region[self.turn].contains(to) && (piece.is_none() || piece == role)
                });
                let takes_last = |captured: Role| self.wins_by_capture(from, to, captured);
                let may_win = reaches_flag || captured.is_some_and(takes_last);
                MoveFacts { role, captured, promotion, may_win }
            }
            Move::Drop { role, .. } => MoveFacts { role: Some(role), ..MoveFacts::default() },
            _ => MoveFacts::default(),
        }
    }

    /// See [`Position::pass_turn`](crate::rules::Position::pass_turn).
    pub(in crate::rules) fn pass_turn(&mut self) -> bool {
        let rules = &self.variant_rules;
        let pieces = self.board.by_color(self.turn) & !self.board.pawns() & !self.board.kings();
        let may_pass = !rules.must_capture
            && rules.walls.is_none()
            && pieces.any()
            && !self.in_check(self.turn);
        if may_pass {
            self.turn = !self.turn;
            self.en_passant = None;
            self.halfmoves = self.halfmoves.saturating_add(1);
            self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn == Color::White));
        }
        may_pass
    }
}
