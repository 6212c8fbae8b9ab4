//! Attacks on squares, and what they forbid.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{Chess8, Extinction};
use crate::rules::Move;

/// What the mover must heed lest its king be taken.
#[derive(Clone, Copy)]
pub(super) struct Danger {
    /// The king, if it is royal and there.
    pub(super) king: Option<Square>,
    /// Who gives check to it.
    pub(super) checkers: Bitboard,
    /// The first men in its lines: none but these can uncover it.
    shields: Bitboard,
}

impl Chess8 {
    /// The king of `color`, if it is royal.
    pub(super) fn royal(&self, color: Color) -> Option<Square> {
        if self.axes.royal { self.board.king_of(color) } else { None }
    }

    /// Whether the royal king of `color` could be taken at once by the other side.
    pub(super) fn in_check(&self, color: Color) -> bool {
        let them = self.board.by_color(!color);
        self.royal(color)
            .is_some_and(|king| self.attackers(king, color, self.board.occupied(), them).any())
    }

    /// Whether anything royal of `color` could be taken at once by the other side.
    pub(super) fn is_threatened(&self, color: Color) -> bool {
        self.in_check(color)
            || self.last_men().is_some_and(|rule| {
                let (ours, theirs) =
                    (self.pseudo_royals(rule, color), self.pseudo_royals(rule, !color));
                ours.into_iter().any(|square| self.may_be_taken(square, color, theirs))
            })
    }

    /// Which of `among` attack `square`, owned by `color`, with `occupied` men on the board.
    pub(super) fn attackers(
        &self,
        square: Square,
        color: Color,
        occupied: Bitboard,
        among: Bitboard,
    ) -> Bitboard {
        let board = &self.board;
        let blocked = occupied | self.closed();
        among
            & ((attacks::rook_attacks(square, blocked) & board.rooks_and_queens())
                | (attacks::bishop_attacks(square, blocked) & board.bishops_and_queens())
                | (attacks::knight_attacks(square) & board.knights())
                | (attacks::king_attacks(square) & board.kings())
                | (attacks::pawn_attacks(color, square) & board.pawns()))
    }

    /// What threatens the side to move, but what the duck may avert in the end.
    pub(super) fn danger(&self) -> Danger {
        let king = self.royal(self.turn).filter(|_| !self.axes.hides_kings());
        let Some(king) = king else {
            return Danger { king: None, checkers: Bitboard::EMPTY, shields: Bitboard::EMPTY };
        };
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let checkers = self.attackers(king, self.turn, us | them, them);
        let blocked = us | them | self.closed();
        Danger { king: Some(king), checkers, shields: attacks::queen_attacks(king, blocked) & us }
    }

    /// Whether the king of the mover is safe after a man goes `from` -> `to` and the men on
    /// `captured` are gone.
    pub(super) fn is_safe(
        &self,
        danger: Danger,
        from: Square,
        to: Square,
        captured: Bitboard,
    ) -> bool {
        let Some(king) = danger.king else { return true };
        // Who captures en passant opens two squares.
        let plain = king != from && captured.without(to).is_empty();
        if plain && danger.checkers.is_empty() && !danger.shields.contains(from) {
            return true;
        }
        let king = if king == from { to } else { king };
        let occupied = (self.board.occupied().without(from) & !captured).with(to);
        let them = self.board.by_color(!self.turn) & !captured;
        self.attackers(king, self.turn, occupied, them).is_empty()
    }

    /// The rule that makes the last men of a role royal, if the game has it.
    pub(super) fn last_men(&self) -> Option<&Extinction> {
        self.axes.extinction.as_ref().filter(|rule| rule.pseudo_royal)
    }

    /// The men of `color` that `rule` makes royal: those that would be missed.
    pub(super) fn pseudo_royals(&self, rule: &Extinction, color: Color) -> Bitboard {
        let men = |&role: &Role| self.board.by_role(role) & self.board.by_color(color);
        let few = |men: &Bitboard| men.count() as u32 <= rule.count + 1;
        rule.roles.iter().map(men).filter(few).fold(Bitboard::EMPTY, |all, men| all | men)
    }

    /// Whether the man of `color` on `square` could be taken, not blowing up one of the royal men
    /// of the other side, `theirs`.
    pub(super) fn may_be_taken(&self, square: Square, color: Color, theirs: Bitboard) -> bool {
        let touching = self.axes.blast.is_some() && (attacks::king_attacks(square) & theirs).any();
        let them = self.board.by_color(!color);
        !touching && self.attackers(square, color, self.board.occupied(), them).any()
    }

    /// Whether a move of the side to move leaves its pseudo-royal men safe, those of before the
    /// move and those that it makes (Fairy-Stockfish, `Position::legal`).
    pub(super) fn keeps_royals(&self, rule: &Extinction, m: Move) -> bool {
        let us = self.turn;
        let mut ours = self.pseudo_royals(rule, us);
        let theirs = self.pseudo_royals(rule, !us);
        let mut after = self.clone();
        after.play_men(m);
        match m {
            Move::Step { from, to, promotion } => {
                if let Some(path) = self.castles(from, to) {
                    if ours.contains(from) {
                        let walked = attacks::between(from, path.king_to).with(from);
                        let open = &after;
                        let walks_safely = |square| !open.may_be_taken(square, us, theirs);
                        if !walked.into_iter().all(walks_safely) {
                            return false;
                        }
                        ours = ours.without(from).with(path.king_to);
                    }
                } else if ours.contains(from) {
                    ours = ours.without(from).with(to);
                }
                if let Some(role) = promotion.filter(|role| rule.roles.contains(role)) {
                    let men = after.board.by_role(role) & after.board.by_color(us);
                    ours = match men.count() as u32 > rule.count + 1 {
                        true => ours & !men,
                        false => ours.with(to),
                    };
                }
            }
            Move::Drop { role, to } if rule.roles.contains(&role) => ours = ours.with(to),
            _ => {}
        }
        let standing = after.board.occupied();
        (ours & !standing).is_empty()
            && ((theirs & !standing).any()
                || !ours.into_iter().any(|square| after.may_be_taken(square, us, theirs)))
    }

    /// Whether a move of the side to move gives check to a royal king.
    pub(super) fn gives_check(&self, m: Move) -> bool {
        let mut after = self.clone();
        after.play_men(m);
        after.in_check(!self.turn)
    }
}
