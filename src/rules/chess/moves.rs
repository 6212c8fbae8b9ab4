//! Moves: steps and captures, and what the game forbids of them.

use shakmaty::{Bitboard, Piece, Role, Square, attacks};

use super::attack::{Danger, forward};
use super::{ChessPosition, Must, VariantRules};
use crate::rules::{Move, MoveList};

impl ChessPosition {
    /// Adds every legal move of a side whose turn begins.
    pub(super) fn turns(&self, out: &mut MoveList) {
        let danger = self.danger();
        self.steps(danger, out);
        self.castlings(danger, out);
        self.drops(danger, out);
        self.lone_walls(danger, out);
        if self.restricted {
            self.restrict(out);
        }
    }

    /// How many legal moves there are, if that is known without making them.
    pub(super) fn count_moves(&self) -> Option<u64> {
        if self.restricted || self.variant_rules.walls.is_some() {
            return None;
        }
        let danger = self.danger();
        let drops = self.drop_squares(danger).map(|(_, squares)| squares.count());
        let castlings = self.legal_castlings(danger).count();
        Some((self.count_steps(danger) + castlings + drops.sum::<usize>()) as u64)
    }

    /// Takes out what the rules of few games forbid, in Fairy-Stockfish's order: what must be done
    /// is asked of what may be done.
    fn restrict(&self, out: &mut MoveList) {
        let variant_rules = &self.variant_rules;
        let walls_follow = variant_rules.walls.is_some_and(|walls| !walls.instead);
        if let Some(rule) = self.last_men().filter(|_| !walls_follow) {
            let guarded = self.guarded(rule);
            out.retain(|&m| self.keeps_royals(rule, guarded, m));
        }
        if !variant_rules.checks.allowed || !variant_rules.checks.by_drops {
            let asked = |m| !variant_rules.checks.allowed || matches!(m, Move::Drop { .. });
            out.retain(|&m| !asked(m) || !self.gives_check(m));
        }
        if walls_follow {
            out.retain(|&m| self.leaves_a_wall(m));
        }
        if variant_rules.must_capture && out.iter().any(|&m| self.captures(m)) {
            out.retain(|&m| self.captures(m));
        }
        if let Some(must) = variant_rules.drops.and_then(|drops| drops.must) {
            self.drop_first(must, out);
        }
    }

    /// Takes out all moves but the drops that must come first.
    fn drop_first(&self, must: Must, out: &mut MoveList) {
        let hand = &self.hands[self.turn];
        let wanted = |role: Role| must == Must::Any || must == Must::Only(role);
        if !Role::ALL.into_iter().any(|role| wanted(role) && hand[role] > 0) {
            return;
        }
        out.retain(|&m| !matches!(m, Move::Drop { role, .. } if !wanted(role)));
        if out.iter().any(|m| matches!(m, Move::Drop { .. })) {
            out.retain(|m| matches!(m, Move::Drop { .. }));
        }
    }

    /// Whether a move of the side to move captures.
    pub(super) fn captures(&self, m: Move) -> bool {
        let Move::Step { from, to, .. } = m else { return false };
        self.board.by_color(!self.turn).contains(to)
            || self.board.pawns().contains(from) && from.file() != to.file()
    }

    /// The squares of the board without man and wall.
    pub(super) fn empty(&self) -> Bitboard {
        self.area & !self.board.occupied() & !self.walls
    }

    /// What no man enters: walls, and all that lies outside the board.
    pub(super) fn closed(&self) -> Bitboard {
        self.walls | !self.area
    }

    /// Adds the steps of men on the board.
    fn steps(&self, danger: Danger, out: &mut MoveList) {
        let promotion = &self.variant_rules.promotion;
        let kinds = self.promotions();
        self.each_man(danger, |from, to, pawn| {
            let promoting = if pawn { to & promotion.area[self.turn] } else { Bitboard::EMPTY };
            let step = |to| Move::Step { from, to, promotion: None };
            out.extend((to & !promoting).into_iter().map(step));
            for to in promoting {
                let become_of = |role| Move::Step { from, to, promotion: Some(role) };
                out.extend(kinds.clone().map(become_of));
            }
        });
    }

    /// How many steps of men on the board there are.
    fn count_steps(&self, danger: Danger) -> usize {
        let area = self.variant_rules.promotion.area[self.turn];
        let (kinds, mut steps) = (self.promotions().count(), 0);
        self.each_man(danger, |_, to, pawn| {
            let promoting = if pawn { to & area } else { Bitboard::EMPTY };
            steps += (to & !promoting).count() + kinds * promoting.count();
        });
        steps
    }

    /// What the mover's pawns may become.
    pub(super) fn promotions(&self) -> impl Iterator<Item = Role> + Clone {
        let promotion = &self.variant_rules.promotion;
        let men = |role| (self.board.by_role(role) & self.board.by_color(self.turn)).count();
        let room = move |role: &Role| match promotion.limits[*role] {
            0 => true,
            limit => men(*role) < usize::from(limit),
        };
        promotion.kinds[self.turn].iter().copied().filter(room)
    }

    /// Gives `visit` each man on the board with the squares it may go to, and whether it is a pawn.
    pub(super) fn each_man(&self, danger: Danger, mut visit: impl FnMut(Square, Bitboard, bool)) {
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let blocked = us | them | self.closed();
        let free = !us & !self.closed();
        for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
            let piece = Piece { color: self.turn, role };
            let free = free & !self.immune_from(role);
            for from in us & self.board.by_role(role) {
                let to = attacks::attacks(from, piece, blocked) & free;
                visit(from, danger.allows(from, to), false);
            }
        }
        for from in us & self.board.kings() {
            let to = attacks::king_attacks(from) & free & !self.immune_from(Role::King);
            visit(
                from,
                match danger.king {
                    None => to,
                    Some(king) => {
                        to.into_iter().filter(|&to| self.is_open_to_king(king, to)).collect()
                    }
                },
                false,
            );
        }
        let prey = them & !self.immune_from(Role::Pawn);
        for from in us & self.board.pawns() {
            let (ahead, far) = self.pushes(from);
            let to = ahead | far | attacks::pawn_attacks(self.turn, from) & prey;
            let passing = self.en_passant.filter(|&to| self.takes_en_passant(danger, from, to));
            let passing = passing.map_or(Bitboard::EMPTY, Bitboard::from_square);
            visit(from, danger.allows(from, to) | passing, true);
        }
    }

    /// The men that a man of `role` cannot capture, whoever has them.
    fn immune_from(&self, role: Role) -> Bitboard {
        let immune = self.variant_rules.mutually_immune.contains(&role);
        if immune { self.board.by_role(role) } else { Bitboard::EMPTY }
    }

    /// One square ahead and two, as far as a pawn can go.
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

    /// Whether the pawn of the mover on `from` may capture en passant on `to`.
    fn takes_en_passant(&self, danger: Danger, from: Square, to: Square) -> bool {
        attacks::pawn_attacks(self.turn, from).contains(to)
            && !self.variant_rules.mutually_immune.contains(&Role::Pawn)
            && self.is_safe_en_passant(danger, from, to)
    }

    /// `square` if a pawn of the mover may capture en passant there: elsewhere the square means
    /// nothing, and positions with it and without are the same.
    pub(super) fn useful_en_passant(&self, square: Square) -> Option<Square> {
        let danger = self.danger();
        let pawns = attacks::pawn_attacks(!self.turn, square)
            & self.board.pawns()
            & self.board.by_color(self.turn);
        let free = self.variant_rules.en_passant[self.turn].contains(square)
            && !self.walls.contains(square);
        let takes = |from| {
            self.takes_en_passant(danger, from, square)
                && self.last_men().is_none_or(|rule| {
                    let mut asked = self.clone();
                    asked.en_passant = Some(square);
                    let guarded = asked.guarded(rule);
                    let m = Move::Step { from, to: square, promotion: None };
                    asked.keeps_royals(rule, guarded, m)
                })
        };
        (free && pawns.into_iter().any(takes)).then_some(square)
    }
}

impl VariantRules {
    /// Whether the game has rules that [`ChessPosition::restrict`] knows.
    pub(super) fn is_restricted(&self) -> bool {
        self.extinction.as_ref().is_some_and(|rule| rule.pseudo_royal)
            || !self.checks.allowed
            || !self.checks.by_drops
            || self.wall_may_lack()
            || self.must_capture
            || self.drops.is_some_and(|drops| drops.must.is_some())
    }
}
