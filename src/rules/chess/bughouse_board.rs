//! What bughouse needs of one of its boards.

use shakmaty::{Color, Piece, Role, Square, attacks};

use super::ChessPosition;
use crate::rules::{EndValue, Move, MoveList, Rules};

/// Whether the player on turn has a legal move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum MoveStatus {
    /// The player has a legal move.
    CanMove,
    /// The player has no legal move and is in check.
    Mate {
        /// Whether a dropped piece of some kind would block the check.
        blockable: bool,
    },
    /// The player has no legal move and is not in check.
    Stalemate,
}

impl ChessPosition {
    /// Returns the color on turn.
    pub(in crate::rules) fn color(&self) -> Color {
        self.turn
    }

    /// Returns the number of plies since the last capture, drop or pawn move.
    pub(in crate::rules) fn reversible_plies(&self) -> u32 {
        self.halfmoves
    }

    /// Returns the piece that a move captures, in its own color. A promoted piece is a pawn again.
    pub(in crate::rules) fn captured_by(&self, m: Move) -> Option<Piece> {
        let Move::Step { to, .. } = m else { return None };
        let captured = match self.board.piece_at(to) {
            Some(piece) if piece.color != self.turn && piece.role != Role::King => piece,
            None if self.captures(m) => Piece { color: !self.turn, role: Role::Pawn },
            _ => return None,
        };
        let promoted = self.promoted.contains(to);
        Some(if promoted { Piece { role: Role::Pawn, ..captured } } else { captured })
    }

    /// Adds a piece to the pocket of its color.
    pub(in crate::rules) fn add_to_pocket(&mut self, piece: Piece) {
        let count = &mut self.hands[piece.color][piece.role];
        *count = count.saturating_add(1).min(super::fen::MAX_POCKET_COUNT);
    }

    /// Appends the legal moves.
    pub(in crate::rules) fn append_moves(&self, out: &mut MoveList) {
        self.add_moves(out);
    }

    /// Returns whether the player on turn has a legal move. `buffer` is for its moves.
    pub(in crate::rules) fn move_status(&self, buffer: &mut MoveList) -> MoveStatus {
        let moves = self.count_moves().unwrap_or_else(|| {
            self.legal_moves(buffer);
            buffer.len() as u64
        });
        if moves > 0 {
            MoveStatus::CanMove
        } else if self.in_check(self.turn) {
            MoveStatus::Mate { blockable: self.is_check_blockable() }
        } else {
            MoveStatus::Stalemate
        }
    }

    /// Returns `true` if a dropped piece could block the check of the player on turn.
    fn is_check_blockable(&self) -> bool {
        let check_info = self.check_info();
        let between = |king: Square, checker| attacks::between(king, checker) & self.empty();
        match (check_info.king, check_info.checkers.single_square()) {
            (Some(king), Some(checker)) => between(king, checker).any(),
            _ => false,
        }
    }

    /// Returns the value of a stalemate for the player on turn.
    pub(in crate::rules) fn stalemate_value(&self) -> EndValue {
        self.variant_rules.ends.stalemate
    }

    /// Returns the number of reversible plies after which the game is drawn; 0 for never.
    pub(in crate::rules) fn draw_plies(&self) -> u32 {
        self.variant_rules.ends.n_move_rule.saturating_mul(2)
    }

    /// Returns the number of occurrences of a position after which the game is drawn; 0 for never.
    pub(in crate::rules) fn draw_repetitions(&self) -> u32 {
        self.variant_rules.ends.n_fold_rule
    }
}
