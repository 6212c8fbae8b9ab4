//! Ends of the game that are plain before any move is made, because the next one brings them about.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, EndValue, Extinction};
use crate::rules::{MoveList, Rules};

impl ChessPosition {
    /// See [`Position::evident_end`](crate::rules::Position::evident_end).
    pub(in crate::rules) fn evident_end(&self) -> Option<(i8, usize)> {
        let rules = &self.variant_rules;
        if rules.walls.is_some() {
            return self.king_capture();
        }
        if rules.flag.is_some() && self.goes_level() {
            return Some((0, 1));
        }
        let wins = rules.extinction.is_some() && self.can_extinguish()
            || rules.checks.counted.is_some() && self.can_give_last_check();
        (wins && self.variant_end().is_none()).then_some((1, 1))
    }

    /// Returns the rule by which too few pieces of a kind lose, if captures can bring that about.
    fn losing_extinction(&self) -> Option<&Extinction> {
        let rules = &self.variant_rules;
        let applies = |rule: &&Extinction| {
            rule.value == EndValue::Loss && (!rule.pseudo_royal || rules.blast.is_some())
        };
        rules.extinction.as_ref().filter(applies)
    }

    /// Returns `true` if capturing a piece on `to`, and what the blast of the capture takes with it, leaves the opponent
    /// with too few pieces of a kind.
    fn extinguishes(&self, to: Square, captured: Role) -> bool {
        let Some(rule) = self.losing_extinction() else { return false };
        let opponents = rule.opponent_piece_count + u32::from(rule.claim);
        let blown = self.blown_up(to) & self.board.by_color(!self.turn);
        self.loses_all(rule, !self.turn, blown, Some(captured), opponents)
    }

    /// Returns `true` if a capture wins at once because the opponent has too few pieces of a kind after it.
    pub(super) fn wins_by_capture(&self, from: Square, to: Square, captured: Role) -> bool {
        // A blast that ends the game for both sides is lost.
        let loses = |rule| {
            let blown = (self.blown_up(to) & self.board.by_color(self.turn)).with(from);
            self.loses_all(rule, self.turn, blown, None, rule.opponent_piece_count)
        };
        self.extinguishes(to, captured)
            && (self.variant_rules.blast.is_none() || !self.losing_extinction().is_some_and(loses))
    }

    /// Returns the pieces that the blast of a capture on `to` takes in addition to those that capture and are captured.
    fn blown_up(&self, to: Square) -> Bitboard {
        let near = attacks::king_attacks(to) & self.board.occupied() & !self.board.pawns();
        self.variant_rules.blast.as_ref().map_or(Bitboard::EMPTY, |immune| {
            immune.iter().fold(near, |blown, &role| blown & !self.board.by_role(role))
        })
    }

    /// Returns `true` if `color` has too few pieces of a kind without those on the squares `lost` and a `captured` one, if the
    /// rule asks for no more than `opponents` of its opponent.
    fn loses_all(
        &self,
        rule: &Extinction,
        color: Color,
        lost: Bitboard,
        captured: Option<Role>,
        opponents: u32,
    ) -> bool {
        let too_few = |own: u32, lost: u32, theirs: u32| {
            lost > 0 && own.saturating_sub(lost) <= rule.piece_count && theirs >= opponents
        };
        let each = |&role: &Role| {
            let lost = (lost & self.board.by_role(role)).count() as u32
                + u32::from(captured == Some(role));
            too_few(self.count(color, role), lost, self.count(!color, role))
        };
        let all = || {
            let lost = lost.count() as u32 + u32::from(captured.is_some());
            too_few(self.count_all(color), lost, self.count_all(!color))
        };
        rule.roles.iter().any(each) || rule.all && all()
    }

    /// Returns `true` if the side to move can capture so that the opponent has too few pieces of a kind. Captures en passant
    /// are left out, and those whose side could lose pieces that it needs.
    fn can_extinguish(&self) -> bool {
        let Some(rule) = self.losing_extinction() else { return false };
        let rules = &self.variant_rules;
        let must_drop = rules.drops.is_some_and(|drops| drops.must.is_some());
        // Without a king that must not be left in check, all captures are legal.
        let all_legal = !rules.royal && rules.checks.allowed && rules.mutually_immune.is_empty();
        if !all_legal || must_drop || self.mid_turn() {
            return false;
        }
        let board = &self.board;
        let (ours, theirs) = (board.by_color(self.turn), board.by_color(!self.turn));
        let (targets, attackers) = match rules.blast {
            None => (theirs, ours),
            Some(_) if rule.all || rule.roles[..] != [Role::King] => return false,
            Some(_) => {
                let around = |kings: Bitboard| {
                    kings.into_iter().fold(kings, |all, king| all | attacks::king_attacks(king))
                };
                let near = around(theirs & board.kings()) & !around(ours & board.kings());
                (theirs & near, ours & !board.kings())
            }
        };
        // A capture by which the last pawn is promoted may lose, and without pieces to become there is none.
        let leaves_out_pawns = rules.blast.is_none() || self.promotions().next().is_none();
        let last_rank = rules.promotion.area[self.turn];
        targets.into_iter().any(|to| {
            let excluded = if leaves_out_pawns && last_rank.contains(to) {
                board.pawns()
            } else {
                Bitboard::EMPTY
            };
            let captured = board.role_at(to);
            captured.is_some_and(|captured| self.extinguishes(to, captured))
                && self.attackers(to, !self.turn, board.occupied(), attackers & !excluded).any()
        })
    }

    /// Returns `true` if the side to move can give the last of the checks that win.
    fn can_give_last_check(&self) -> bool {
        if self.checks[self.turn] != 1 {
            return false;
        }
        let mut moves = MoveList::new();
        self.add_moves(&mut moves);
        moves.into_iter().any(|m| self.may_give_check(m) && self.gives_check(m))
    }

    /// Returns `true` if the opponent has reached its goal and the side to move can draw by reaching its own, while all its
    /// other moves lose.
    fn goes_level(&self) -> bool {
        self.variant_rules
            .flag
            .is_some_and(|flag| self.reached_at_once(flag) && self.can_follow(flag))
            && self.variant_end().is_none()
    }
}
