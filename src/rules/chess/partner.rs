//! What a game of two tables asks of one of them.

use shakmaty::{Color, Piece, Role, Square, attacks};

use super::ChessPosition;
use crate::rules::{Move, MoveList, Rules, Verdict};

/// What the side to move can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum Stand {
    /// It has a move.
    Moves,
    /// It has none and is in check; a man between king and checker would help if `blockable`.
    Mate {
        /// Whether a man of some kind could be dropped there.
        blockable: bool,
    },
    /// It has none and is not in check.
    Stalemate,
}

impl ChessPosition {
    /// The colour on turn.
    pub(in crate::rules) fn color(&self) -> Color {
        self.turn
    }

    /// Plies since the last capture, drop or pawn move.
    pub(in crate::rules) fn quiet_plies(&self) -> u32 {
        self.halfmoves
    }

    /// The man that a move takes, as its side gets it back: a promoted one is a pawn again.
    pub(in crate::rules) fn taken_by(&self, m: Move) -> Option<Piece> {
        let Move::Step { to, .. } = m else { return None };
        let at = match self.board.piece_at(to) {
            Some(man) => Some(man).filter(|man| man.color != self.turn && man.role != Role::King),
            None if self.captures(m) => Some(Piece { color: !self.turn, role: Role::Pawn }),
            None => None,
        }?;
        let promoted = self.promoted.contains(to);
        Some(if promoted { Piece { role: Role::Pawn, ..at } } else { at })
    }

    /// Puts a man into its side's hand.
    pub(in crate::rules) fn receive(&mut self, man: Piece) {
        let hand = &mut self.hands[man.color][man.role];
        *hand = hand.saturating_add(1).min(super::fen::MOST);
    }

    /// Adds the legal moves.
    pub(in crate::rules) fn add_moves(&self, out: &mut MoveList) {
        self.turns(out);
    }

    /// What the side on turn can do; `buffer` is for its moves.
    pub(in crate::rules) fn stand(&self, buffer: &mut MoveList) -> Stand {
        let moves = self.count_moves().unwrap_or_else(|| {
            self.legal_moves(buffer);
            buffer.len() as u64
        });
        if moves > 0 {
            Stand::Moves
        } else if self.in_check(self.turn) {
            Stand::Mate { blockable: self.is_blockable() }
        } else {
            Stand::Stalemate
        }
    }

    /// Whether a check of the side on turn would be averted by a man dropped in between.
    fn is_blockable(&self) -> bool {
        let danger = self.danger();
        let between = |king: Square, checker| attacks::between(king, checker) & self.empty();
        match (danger.king, danger.checkers.single_square()) {
            (Some(king), Some(checker)) => between(king, checker).any(),
            _ => false,
        }
    }

    /// What the side on turn gets if it has no move and is not in check.
    pub(in crate::rules) fn stalemate(&self) -> Verdict {
        self.variant_rules.ends.stalemate
    }

    /// After how many plies a draw may be claimed, and the position's how manieth time it stands; 0
    /// for never.
    pub(in crate::rules) fn draws(&self) -> (u32, u32) {
        (self.variant_rules.ends.moves.saturating_mul(2), self.variant_rules.ends.folds)
    }
}
