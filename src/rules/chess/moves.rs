//! Move generation: steps and captures, and the restrictions of a game.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::attack::{CheckInfo, forward};
use super::{ChessPosition, MustDrop, VariantRules};
use crate::rules::{Move, MoveList};

impl ChessPosition {
    /// Adds the legal moves at the beginning of a turn.
    pub(super) fn add_moves(&self, out: &mut MoveList) {
        let check_info = self.check_info();
        if self.must_capture() {
            self.add_steps(check_info, self.board.by_color(!self.turn), out);
            // Promotions without a capture are among them.
            out.retain(|&m| self.captures(m));
            self.restrict(out);
            if !out.is_empty() {
                return;
            }
        }
        self.add_steps(check_info, Bitboard::FULL, out);
        self.add_castlings(check_info, out);
        self.add_drops(check_info, out);
        self.add_wall_turns(check_info, out);
        if self.restricted {
            self.restrict(out);
        }
    }

    /// See [`Position::add_tactical_moves`](crate::rules::Position::add_tactical_moves).
    pub(in crate::rules) fn add_tactical_moves(&self, out: &mut MoveList) {
        if self.pending_wall.is_some() {
            return;
        }
        let region = self.variant_rules.flag.map_or(Bitboard::EMPTY, |flag| flag.region[self.turn]);
        self.add_steps(self.check_info(), self.board.by_color(!self.turn) | region, out);
        if self.restricted {
            self.restrict(out);
        }
    }

    /// Returns the number of legal moves, or `None` if they must be generated to be counted.
    pub(super) fn count_moves(&self) -> Option<u64> {
        if self.restricted || self.variant_rules.walls.is_some() {
            return None;
        }
        let check_info = self.check_info();
        let drops = self.drop_squares(check_info).map(|(_, squares)| squares.count());
        let castlings = self.legal_castlings(check_info).count();
        Some((self.count_steps(check_info) + castlings + drops.sum::<usize>()) as u64)
    }

    /// Removes the moves that rules of few games forbid, in the order of Fairy-Stockfish: compulsory
    /// moves are determined among the moves that are otherwise legal.
    fn restrict(&self, out: &mut MoveList) {
        let variant_rules = &self.variant_rules;
        let walls_follow = variant_rules.walls_follow();
        if !walls_follow && let Some(rule) = self.pseudo_royal_rule() {
            let info = self.pseudo_royal_info(rule);
            out.retain(|&m| self.keeps_pseudo_royals(rule, info, m));
        }
        if !variant_rules.checks.allowed || !variant_rules.checks.by_drops {
            let may_not_check = |m| !variant_rules.checks.allowed || matches!(m, Move::Drop { .. });
            out.retain(|&m| !may_not_check(m) || !self.gives_check(m));
        }
        if walls_follow {
            out.retain(|&m| self.allows_wall(m));
        }
        if variant_rules.must_capture && out.iter().any(|&m| self.captures(m)) {
            out.retain(|&m| self.captures(m));
        }
        if let Some(must) = variant_rules.drops.and_then(|drops| drops.must) {
            self.keep_compulsory_drops(must, out);
        }
    }

    /// Removes all other moves if there are drops that must come first.
    fn keep_compulsory_drops(&self, must: MustDrop, out: &mut MoveList) {
        let hand = &self.hands[self.turn];
        let wanted = |role: Role| must == MustDrop::Any || must == MustDrop::Only(role);
        if !Role::ALL.into_iter().any(|role| wanted(role) && hand[role] > 0) {
            return;
        }
        out.retain(|&m| !matches!(m, Move::Drop { role, .. } if !wanted(role)));
        if out.iter().any(|m| matches!(m, Move::Drop { .. })) {
            out.retain(|m| matches!(m, Move::Drop { .. }));
        }
    }

    /// Returns `true` if a move of the side to move is a capture.
    pub(super) fn captures(&self, m: Move) -> bool {
        let Move::Step { from, to, .. } = m else { return false };
        self.board.by_color(!self.turn).contains(to)
            || self.board.pawns().contains(from) && from.file() != to.file()
    }

    /// See [`Position::must_capture`](crate::rules::Position::must_capture).
    pub(in crate::rules) fn must_capture(&self) -> bool {
        let attacks_some = || {
            self.attacks_some(
                self.turn,
                &Role::ALL,
                self.blocked(),
                self.board.by_color(!self.turn),
            )
        };
        // A pawn that has just gone two ranks may be captured en passant.
        self.variant_rules.must_capture && (self.en_passant.is_some() || attacks_some())
    }

    /// See [`Position::may_compel_capture`](crate::rules::Position::may_compel_capture).
    pub(in crate::rules) fn may_compel_capture(&self, m: Move) -> bool {
        if !self.variant_rules.must_capture {
            return false;
        }
        let Move::Step { from, to, promotion: None, .. } = m else { return true };
        let is_pawn = self.board.pawns().contains(from);
        // What changes more than two squares, and what may be captured en passant.
        if self.captures(m) || self.castles(from, to).is_some() || is_pawn && from.distance(to) > 1
        {
            return true;
        }
        let ours = self.board.by_color(self.turn).without(from).with(to);
        let blocked = self.blocked().without(from).with(to);
        self.attacks_some(!self.turn, &Role::ALL, blocked, ours)
    }

    /// Returns `true` if a piece of the side to move can go to an empty square. The rules may forbid it all the same.
    pub(super) fn may_step(&self) -> bool {
        let pawns = self.board.by_color(self.turn) & self.board.pawns();
        let pieces = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];
        (forward(self.turn, pawns) & self.empty()).any()
            || self.attacks_some(self.turn, &pieces, self.blocked(), self.empty())
    }

    /// Returns `true` if a piece of a color with one of the roles attacks one of the squares, on lines that end at the
    /// `blocked` squares.
    fn attacks_some(
        &self,
        color: Color,
        roles: &[Role],
        blocked: Bitboard,
        squares: Bitboard,
    ) -> bool {
        roles.iter().any(|&role| {
            let piece = Piece { color, role };
            let mut pieces = (self.board.by_color(color) & self.board.by_role(role)).into_iter();
            pieces.any(|from| (attacks::attacks(from, piece, blocked) & squares).any())
        })
    }

    /// Returns the squares at which lines of attack end.
    fn blocked(&self) -> Bitboard {
        self.board.occupied() | self.closed()
    }

    /// Returns the squares without piece and wall.
    pub(super) fn empty(&self) -> Bitboard {
        self.area & !self.board.occupied() & !self.walls
    }

    /// Returns the squares that no piece can enter: walls, and squares outside the board.
    pub(super) fn closed(&self) -> Bitboard {
        self.walls | !self.area
    }

    /// Adds the steps of the pieces on the board that arrive within `region`, and all promotions and captures en passant.
    fn add_steps(&self, check_info: CheckInfo, region: Bitboard, out: &mut MoveList) {
        let promotion = &self.variant_rules.promotion;
        let kinds = self.promotions();
        self.for_each_piece(check_info, region, |from, to, pawn| {
            let promoting = if pawn { to & promotion.area[self.turn] } else { Bitboard::EMPTY };
            let step = |to| Move::step(from, to, None);
            out.extend((to & !promoting).into_iter().map(step));
            for to in promoting {
                let promotion = |role| Move::step(from, to, Some(role));
                out.extend(kinds.clone().map(promotion));
            }
        });
    }

    /// Returns the number of steps of the pieces on the board.
    fn count_steps(&self, check_info: CheckInfo) -> usize {
        let area = self.variant_rules.promotion.area[self.turn];
        let kinds = self.promotions().count();
        let mut steps = 0;
        self.for_each_piece(check_info, Bitboard::FULL, |_, to, pawn| {
            let promoting = if pawn { to & area } else { Bitboard::EMPTY };
            steps += (to & !promoting).count() + kinds * promoting.count();
        });
        steps
    }

    /// Returns the pieces that pawns of the side to move can promote to.
    pub(super) fn promotions(&self) -> impl Iterator<Item = Role> + Clone {
        let promotion = &self.variant_rules.promotion;
        let count = |role| (self.board.by_role(role) & self.board.by_color(self.turn)).count();
        let room = move |role: &Role| match promotion.limits[*role] {
            0 => true,
            limit => count(*role) < usize::from(limit),
        };
        promotion.kinds[self.turn].iter().copied().filter(room)
    }

    /// Calls `visit` with each piece of the side to move, its destinations within `region`, and whether it is a pawn.
    /// Destinations of promotions and of captures en passant may be outside.
    pub(super) fn for_each_piece(
        &self,
        check_info: CheckInfo,
        region: Bitboard,
        mut visit: impl FnMut(Square, Bitboard, bool),
    ) {
        let us = self.board.by_color(self.turn);
        let them = self.board.by_color(!self.turn);
        let blocked = us | them | self.closed();
        let free = region & !us & !self.closed();
        for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
            let piece = Piece { color: self.turn, role };
            let free = free & !self.immune_from(role);
            for from in us & self.board.by_role(role) {
                let to = attacks::attacks(from, piece, blocked) & free;
                visit(from, check_info.allows(from, to), false);
            }
        }
        for from in us & self.board.kings() {
            let to = attacks::king_attacks(from) & free & !self.immune_from(Role::King);
            visit(
                from,
                match check_info.king {
                    None => to,
                    Some(king) => {
                        to.into_iter().filter(|&to| self.is_open_to_king(king, to)).collect()
                    }
                },
                false,
            );
        }
        let region = region | self.variant_rules.promotion.area[self.turn];
        let capturable = them & !self.immune_from(Role::Pawn);
        for from in us & self.board.pawns() {
            let (ahead, far) = self.pushes(from);
            let to = ahead | far | attacks::pawn_attacks(self.turn, from) & capturable;
            let to = to & region;
            let passing = self.en_passant.filter(|&to| self.takes_en_passant(check_info, from, to));
            let passing = passing.map_or(Bitboard::EMPTY, Bitboard::from_square);
            visit(from, check_info.allows(from, to) | passing, true);
        }
    }

    /// Returns the pieces of both sides that a piece of `role` cannot capture.
    fn immune_from(&self, role: Role) -> Bitboard {
        let immune = self.variant_rules.mutually_immune.contains(&role);
        if immune { self.board.by_role(role) } else { Bitboard::EMPTY }
    }

    /// Returns the destinations of the single and the double step of a pawn.
    pub(super) fn pushes(&self, from: Square) -> (Bitboard, Bitboard) {
        let empty = self.empty();
        let ahead = forward(self.turn, Bitboard::from_square(from)) & empty;
        let far = if self.variant_rules.double_step[self.turn].contains(from) {
            forward(self.turn, ahead) & empty
        } else {
            Bitboard::EMPTY
        };
        (ahead, far)
    }

    /// Returns `true` if the pawn of the side to move on `from` can capture en passant on `to`. As in Fairy-Stockfish,
    /// mutually immune pawns can, too: the square is empty.
    fn takes_en_passant(&self, check_info: CheckInfo, from: Square, to: Square) -> bool {
        attacks::pawn_attacks(self.turn, from).contains(to)
            && self.is_safe_en_passant(check_info, from, to)
    }

    /// Returns `square` if a pawn of the side to move can capture en passant there. Otherwise positions
    /// with and without the square are the same.
    pub(super) fn useful_en_passant(&self, square: Square) -> Option<Square> {
        let check_info = self.check_info();
        let pawns = attacks::pawn_attacks(!self.turn, square)
            & self.board.pawns()
            & self.board.by_color(self.turn);
        let free = self.variant_rules.en_passant[self.turn].contains(square)
            && !self.walls.contains(square);
        let takes = |from| {
            self.takes_en_passant(check_info, from, square)
                && self.pseudo_royal_rule().is_none_or(|rule| {
                    let mut position = self.clone();
                    position.en_passant = Some(square);
                    let m = Move::step(from, square, None);
                    // The wall after the capture can shield pseudo-royal pieces.
                    if self.variant_rules.walls_follow() {
                        return position.allows_wall(m);
                    }
                    let info = position.pseudo_royal_info(rule);
                    position.keeps_pseudo_royals(rule, info, m)
                })
        };
        (free && pawns.into_iter().any(takes)).then_some(square)
    }
}

impl VariantRules {
    /// Returns `true` if the game has rules that [`ChessPosition::restrict`] applies.
    pub(super) fn is_restricted(&self) -> bool {
        self.extinction.as_ref().is_some_and(|rule| rule.pseudo_royal)
            || !self.checks.allowed
            || !self.checks.by_drops
            || self.wall_may_be_impossible()
            || self.must_capture
            || self.drops.is_some_and(|drops| drops.must.is_some())
    }
}
