//! Squares that win.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, Flag};
use crate::rules::{Move, MoveList, Outcome, Reason};

impl ChessPosition {
    /// The end of a game in which a side has reached its squares (Fairy-Stockfish,
    /// `Position::is_immediate_game_end`).
    pub(super) fn flagged(&self) -> Option<Outcome> {
        let flag = self.variant_rules.flag?;
        let (us, them) = (self.turn, !self.turn);
        let is_king =
            |color: Color| self.variant_rules.royal && flag.man[color] == Some(Role::King);
        if (flag.reply || flag.safe) && self.has_reached(flag, us) {
            let answered = us == Color::White && flag.reply && is_king(them);
            let both = answered || flag.safe && !flag.reply;
            return Some(match both && self.has_reached(flag, them) {
                true => Outcome::draw(Reason::Variant),
                false => Outcome::win(us.into(), Reason::Variant),
            });
        }
        let at_once = !flag.reply || flag.safe || is_king(us);
        let wins = at_once && self.has_reached(flag, them);
        (wins && !self.can_follow(flag)).then(|| Outcome::win(them.into(), Reason::Variant))
    }

    /// Whether the king of Black, who is to move, can reach its squares at once, so that White has
    /// not won yet.
    fn can_follow(&self, flag: Flag) -> bool {
        let us = self.turn;
        let king =
            self.royal(us).filter(|_| flag.reply && us == Color::Black && !self.in_check(us));
        let Some(king) = king.filter(|_| flag.man[us] == Some(Role::King)) else { return false };
        if (attacks::king_attacks(king) & flag.region[us]).is_empty() {
            return false;
        }
        let mut moves = MoveList::new();
        self.turns(&mut moves);
        moves.into_iter().any(|m| match m {
            Move::Step { from, to, .. } => from == king && flag.region[us].contains(to),
            _ => false,
        })
    }

    fn has_reached(&self, flag: Flag, color: Color) -> bool {
        let men = match flag.man[color] {
            None => self.board.by_color(color),
            Some(role) => self.board.by_color(color) & self.board.by_role(role),
        };
        let there = men & flag.region[color];
        let count = there.count() as u32;
        let full = || flag.blocked && (flag.region[color] & self.empty()).is_empty();
        if count == 0 || count < flag.count && !full() {
            return false;
        }
        // Only as many as are needed: each must be safe.
        let judged = flag.safe && (!flag.reply || color != self.turn) && count == flag.count;
        !judged || !there.into_iter().any(|square| self.is_attacked(square, color))
    }

    fn is_attacked(&self, square: Square, color: Color) -> bool {
        let them: Bitboard = self.board.by_color(!color);
        self.attackers(square, color, self.board.occupied(), them).any()
    }
}
