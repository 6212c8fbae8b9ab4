//! How games end: checkmate, stalemate, draws, and the ends of variants.

use std::cmp::Ordering;

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, DrawOdds, EndValue, Flag};
use crate::rules::{Move, MoveList, Outcome, Reason, Rules, Side};

impl EndValue {
    /// Returns the value for the other side.
    fn opposite(self) -> EndValue {
        match self {
            EndValue::Win => EndValue::Loss,
            EndValue::Draw => EndValue::Draw,
            EndValue::Loss => EndValue::Win,
        }
    }

    /// Returns the outcome if the value is that of `color`.
    pub(super) fn outcome_for(self, color: Color, reason: Reason) -> Outcome {
        match self {
            EndValue::Win => Outcome::win(color.into(), reason),
            EndValue::Draw => Outcome::draw(reason),
            EndValue::Loss => Outcome::win((!color).into(), reason),
        }
    }
}

impl ChessPosition {
    /// Returns the outcome if a rule of the variant has ended the game, whatever moves remain.
    pub(super) fn variant_end(&self) -> Option<Outcome> {
        let decided = || Some(Outcome::win(self.decided?.into(), Reason::Variant));
        self.extinction_outcome()
            .or_else(|| self.flag_outcome())
            .or_else(decided)
            .or_else(|| self.castling_outcome())
            .or_else(|| self.check_count_outcome())
            .or_else(|| self.full_board_outcome())
    }

    /// See [`Position::may_stand_pat`](crate::rules::Position::may_stand_pat).
    pub(in crate::rules) fn may_stand_pat(&self) -> bool {
        let rules = &self.variant_rules;
        let must_drop = rules.drops.is_some_and(|drops| drops.must.is_some());
        // Where captures are compulsory, stalemate is a frequent end.
        let is_bound = || self.must_capture() || rules.must_capture && !self.may_step();
        let is_free = self.mid_turn() || !must_drop && !is_bound();
        is_free && self.variant_end().is_none()
    }

    /// Returns the outcome if a side has too few pieces of a kind. The side that has just moved is
    /// checked first. Pseudo-royal pieces can only be lost in games with blasts.
    fn extinction_outcome(&self) -> Option<Outcome> {
        let rule = self.variant_rules.extinction.as_ref()?;
        if rule.pseudo_royal && self.variant_rules.blast.is_none() {
            return None;
        }
        for color in [!self.turn, self.turn] {
            let opponents = rule.opponent_piece_count + u32::from(rule.claim && color == self.turn);
            let too_few = |own: u32, theirs: u32| own <= rule.piece_count && theirs >= opponents;
            let each = |&role: &Role| too_few(self.count(color, role), self.count(!color, role));
            let all = rule.all && too_few(self.count_all(color), self.count_all(!color));
            if all || rule.roles.iter().any(each) {
                return Some(rule.value.outcome_for(color, Reason::Variant));
            }
        }
        None
    }

    /// Returns the outcome if a side has lost all castling rights of which it needs one.
    fn castling_outcome(&self) -> Option<Outcome> {
        let wins = self.variant_rules.castling?.wins;
        let lost = |color: Color| {
            let [king_side, queen_side] = wins[color];
            let keeps =
                |needed, king_side| needed && self.castling_rook(color, king_side).is_some();
            (king_side || queen_side) && !keeps(king_side, true) && !keeps(queen_side, false)
        };
        let loser = [!self.turn, self.turn].into_iter().find(|&color| lost(color))?;
        Some(Outcome::win((!loser).into(), Reason::Variant))
    }

    /// Returns the outcome if a side has given the number of checks that wins.
    fn check_count_outcome(&self) -> Option<Outcome> {
        let last = self.variant_rules.checks.counted.is_some() && self.checks[!self.turn] == 0;
        last.then(|| Outcome::win((!self.turn).into(), Reason::Variant))
    }

    /// Returns the outcome if the game ends because no square is empty.
    fn full_board_outcome(&self) -> Option<Outcome> {
        let full = self.variant_rules.ends.full_board && self.empty().is_empty();
        full.then(|| self.draw_outcome(Reason::Variant))
    }

    /// Returns a draw, or a win of the side with draw odds.
    pub(super) fn draw_outcome(&self, reason: Reason) -> Outcome {
        let pieces = |color| self.board.by_color(color).count();
        let winner = match self.variant_rules.ends.draw_odds {
            None => None,
            Some(DrawOdds::To(color)) => Some(color),
            Some(DrawOdds::MorePieces) => match pieces(Color::White).cmp(&pieces(Color::Black)) {
                Ordering::Less => Some(Color::Black),
                Ordering::Equal => None,
                Ordering::Greater => Some(Color::White),
            },
        };
        Outcome { winner: winner.map(Side::from), reason }
    }

    /// Returns the outcome if `value` is that of `color`, with draw odds.
    fn outcome_for(&self, value: EndValue, color: Color, reason: Reason) -> Outcome {
        match value {
            EndValue::Draw => self.draw_outcome(reason),
            value => value.outcome_for(color, reason),
        }
    }

    /// Returns the outcome of a repetition.
    pub(super) fn repetition_outcome(&self) -> Outcome {
        let ends = &self.variant_rules.ends;
        let color = if ends.n_fold_absolute { Color::White } else { self.turn };
        self.outcome_for(ends.n_fold_value, color, Reason::Repetition)
    }

    /// Returns the number of pieces of a kind, pieces in hand included.
    pub(super) fn count(&self, color: Color, role: Role) -> u32 {
        let pieces = self.board.by_role(role) & self.board.by_color(color);
        pieces.count() as u32 + u32::from(self.hands[color][role])
    }

    /// Returns the number of all pieces, pieces in hand included.
    pub(super) fn count_all(&self, color: Color) -> u32 {
        Role::ALL.into_iter().map(|role| self.count(color, role)).sum()
    }

    /// Returns the outcome if the side to move has no legal move.
    pub(super) fn no_move_outcome(&self) -> Outcome {
        let us = self.turn;
        let ends = &self.variant_rules.ends;
        if self.is_threatened(us) {
            return self.outcome_for(ends.checkmate, us, Reason::Checkmate);
        }
        let pieces = |color| self.board.by_color(color).count();
        let value = match pieces(us).cmp(&pieces(!us)) {
            _ if !ends.stalemate_piece_count => ends.stalemate,
            Ordering::Less => ends.stalemate,
            Ordering::Equal => EndValue::Draw,
            Ordering::Greater => ends.stalemate.opposite(),
        };
        self.outcome_for(value, us, Reason::Stalemate)
    }

    /// Returns `true` if no side has enough material to win.
    pub(super) fn is_insufficient(&self) -> bool {
        Color::ALL.into_iter().all(|color| self.lacks_material(color))
    }

    /// Returns `true` if `color` has insufficient material: it can win by mate only, has no piece that
    /// mates with the king alone and cannot get one by promotion, and its other pieces cannot mate
    /// together (Fairy-Stockfish, `has_insufficient_material`).
    fn lacks_material(&self, color: Color) -> bool {
        let variant_rules = &self.variant_rules;
        let board = &self.board;
        let us = board.by_color(color);
        let flag = variant_rules.flag.is_some_and(|flag| {
            let pieces = flag.piece[color].map_or(Bitboard::FULL, |role| board.by_role(role));
            flag.region[color].any() && (us & pieces).any()
        });
        let extinction = variant_rules.extinction.as_ref();
        let in_hand = Role::ALL.into_iter().any(|role| self.hands[color][role] > 0);
        let by_extinction = extinction.is_some_and(|rule| !rule.pseudo_royal);
        let by_repetition =
            variant_rules.ends.n_fold_rule > 0 && variant_rules.ends.n_fold_value != EndValue::Draw;
        if variant_rules.returns_captures() || in_hand || by_extinction || by_repetition || flag {
            return false;
        }
        // Royal pieces cannot approach each other, nor squares on which they would be blown up.
        let blown = |role| {
            variant_rules.blast.is_some()
                && extinction.is_some_and(|rule| rule.roles.contains(&role))
        };
        let royal = if variant_rules.royal { board.kings() } else { Bitboard::EMPTY };
        let blown = Role::ALL.into_iter().filter(|&role| blown(role));
        let restricted = blown.fold(royal, |all, role| all | board.by_role(role) & us);
        let kings = if variant_rules.royal { Bitboard::EMPTY } else { board.kings() };
        let major = (board.rooks_and_queens() | kings) & us & !restricted;
        let promotes = (us & board.pawns()).any() && {
            let kinds = variant_rules.promotion.kinds[color].iter();
            kinds.into_iter().any(|role| matches!(role, Role::Queen | Role::Rook | Role::King))
        };
        if major.any() || promotes {
            return false;
        }
        let bishops = board.bishops() & !restricted;
        // Walls can help to mate.
        let others = (board.occupied() | self.walls) & !restricted & !bishops;
        let wins_otherwise = variant_rules.ends.stalemate != EndValue::Draw
            || variant_rules.checks.counted.is_some();
        let both_colours =
            (bishops & Bitboard::DARK_SQUARES).any() && (bishops & Bitboard::LIGHT_SQUARES).any();
        let by_bishops = (bishops & us).any() && (both_colours || others.any() || wins_otherwise);
        let helped = (bishops | others).more_than_one();
        let by_others = (others & us).any() && (helped || wins_otherwise);
        !by_bishops && !by_others
    }

    /// Returns the outcome if a side has reached its flag region (Fairy-Stockfish,
    /// `Position::is_immediate_game_end`).
    pub(super) fn flag_outcome(&self) -> Option<Outcome> {
        let flag = self.variant_rules.flag?;
        let us = self.turn;
        let them = !self.turn;
        let is_king =
            |color: Color| self.variant_rules.royal && flag.piece[color] == Some(Role::King);
        if (flag.reply || flag.safe) && self.has_reached(flag, us) {
            let answered = us == Color::White && flag.reply && is_king(them);
            let both = answered || flag.safe && !flag.reply;
            return Some(if both && self.has_reached(flag, them) {
                Outcome::draw(Reason::Variant)
            } else {
                Outcome::win(us.into(), Reason::Variant)
            });
        }
        let wins = self.reached_at_once(flag) && !self.can_follow(flag);
        wins.then(|| Outcome::win(them.into(), Reason::Variant))
    }

    /// Returns `true` if the side that has just moved has reached its flag region, and wins by it unless the other side
    /// can follow.
    pub(super) fn reached_at_once(&self, flag: Flag) -> bool {
        let is_king = self.variant_rules.royal && flag.piece[self.turn] == Some(Role::King);
        (!flag.reply || flag.safe || is_king) && self.has_reached(flag, !self.turn)
    }

    /// Returns `true` if the king of black, who is to move, can reach its flag region at once, so that
    /// white has not won yet.
    pub(super) fn can_follow(&self, flag: Flag) -> bool {
        let us = self.turn;
        let Some(king) = self.royal(us) else { return false };
        let may_reply = flag.reply && us == Color::Black && flag.piece[us] == Some(Role::King);
        if !may_reply || self.in_check(us) {
            return false;
        }
        if (attacks::king_attacks(king) & flag.region[us]).is_empty() {
            return false;
        }
        let mut moves = MoveList::new();
        self.add_moves(&mut moves);
        moves.into_iter().any(|m| match m {
            Move::Step { from, to, .. } => from == king && flag.region[us].contains(to),
            _ => false,
        })
    }

    fn has_reached(&self, flag: Flag, color: Color) -> bool {
        let pieces = match flag.piece[color] {
            None => self.board.by_color(color),
            Some(role) => self.board.by_color(color) & self.board.by_role(role),
        };
        let there = pieces & flag.region[color];
        let count = there.count() as u32;
        let full = || flag.blocked && (flag.region[color] & self.empty()).is_empty();
        if count == 0 || count < flag.count && !full() {
            return false;
        }
        // If there are just enough pieces, each must be safe.
        let must_be_safe = flag.safe && (!flag.reply || color != self.turn) && count == flag.count;
        !must_be_safe || !there.into_iter().any(|square| self.is_attacked(square, color))
    }

    fn is_attacked(&self, square: Square, color: Color) -> bool {
        let them: Bitboard = self.board.by_color(!color);
        self.attackers(square, color, self.board.occupied(), them).any()
    }
}
