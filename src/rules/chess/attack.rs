//! Attacks on squares, and what they forbid.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, Extinction};
use crate::rules::Move;

/// What the mover must heed lest its royal king be taken.
#[derive(Clone, Copy)]
pub(super) struct Danger {
    /// The king, if it is royal and there.
    pub(super) king: Option<Square>,
    /// Who gives check to it.
    pub(super) checkers: Bitboard,
    /// Where a man must go to end the check: anywhere without one.
    pub(super) evasions: Bitboard,
    /// The men that stand between the king and a man that would give check.
    pinned: Bitboard,
}

impl Danger {
    /// Where nothing is royal.
    const NONE: Danger = Danger {
        king: None,
        checkers: Bitboard::EMPTY,
        evasions: Bitboard::FULL,
        pinned: Bitboard::EMPTY,
    };

    /// Those of the squares to which the man on `from`, no king, may go.
    pub(super) fn allows(&self, from: Square, to: Bitboard) -> Bitboard {
        let to = to & self.evasions;
        match self.king {
            Some(king) if self.pinned.contains(from) => to & attacks::ray(king, from),
            _ => to,
        }
    }
}

/// Which moves need no look at what is royal.
#[derive(Clone, Copy)]
pub(super) struct Guarded {
    /// Whether nothing royal of the mover is attacked.
    calm: bool,
    /// The royal men of the mover, and what shields them.
    needed: Bitboard,
}

impl Guarded {
    /// Whether a move surely leaves the royal men of the mover as safe as they are: a step that
    /// neither captures nor promotes, of a man that is not needed where it is.
    fn allows(&self, position: &ChessPosition, m: Move) -> bool {
        let Move::Step { from, to, promotion: None } = m else { return false };
        let pawn_aside = position.board.pawns().contains(from) && from.file() != to.file();
        self.calm
            && !self.needed.contains(from)
            && !position.board.occupied().contains(to)
            && !pawn_aside
    }
}

impl ChessPosition {
    /// The king of `color`, if it is royal.
    pub(super) fn royal(&self, color: Color) -> Option<Square> {
        if self.variant_rules.royal { self.board.king_of(color) } else { None }
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
        let king = self.royal(self.turn).filter(|_| !self.variant_rules.hides_kings());
        let Some(king) = king else { return Danger::NONE };
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let checkers = self.attackers(king, self.turn, us | them, them);
        let evasions = match checkers.first() {
            None => Bitboard::FULL,
            Some(_) if checkers.more_than_one() => Bitboard::EMPTY,
            Some(checker) => attacks::between(king, checker).with(checker),
        };
        let pinned = self.shields(king);
        Danger { king: Some(king), checkers, evasions, pinned }
    }

    /// The men of the mover without which a man of the other side would attack `square`.
    fn shields(&self, square: Square) -> Bitboard {
        let board = &self.board;
        let (us, closed) = (board.by_color(self.turn), self.closed());
        let far = board.by_color(!self.turn)
            & (attacks::rook_attacks(square, closed) & board.rooks_and_queens()
                | attacks::bishop_attacks(square, closed) & board.bishops_and_queens());
        let between = |sniper| attacks::between(square, sniper) & board.occupied();
        let alone = |men: &Bitboard| !men.more_than_one();
        let shields = far.into_iter().map(between).filter(alone);
        us & shields.fold(Bitboard::EMPTY, |all, shield| all | shield)
    }

    /// Whether a royal king of the mover may go to `to`.
    pub(super) fn is_open_to_king(&self, king: Square, to: Square) -> bool {
        let them = self.board.by_color(!self.turn).without(to);
        let occupied = self.board.occupied().without(king).with(to);
        self.attackers(to, self.turn, occupied, them).is_empty()
    }

    /// Whether a royal king of the mover is safe after a pawn captures `from` -> `to` en passant.
    pub(super) fn is_safe_en_passant(&self, danger: Danger, from: Square, to: Square) -> bool {
        let Some(king) = danger.king else { return true };
        let taken = forward(!self.turn, Bitboard::from_square(to));
        let occupied = (self.board.occupied().without(from) & !taken).with(to);
        let them = self.board.by_color(!self.turn) & !taken;
        self.attackers(king, self.turn, occupied, them).is_empty()
    }

    /// The rule that makes the last men of a role royal, if the game has it.
    pub(super) fn last_men(&self) -> Option<&Extinction> {
        self.variant_rules.extinction.as_ref().filter(|rule| rule.pseudo_royal)
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
        let touching =
            self.variant_rules.blast.is_some() && (attacks::king_attacks(square) & theirs).any();
        let them = self.board.by_color(!color);
        !touching && self.attackers(square, color, self.board.occupied(), them).any()
    }

    /// What a quiet move must not touch lest it endangers pseudo-royal men of the mover.
    pub(super) fn guarded(&self, rule: &Extinction) -> Guarded {
        let (us, them) = (self.turn, self.board.by_color(!self.turn));
        let ours = self.pseudo_royals(rule, us);
        let attacked = |square| self.attackers(square, us, self.board.occupied(), them).any();
        let shields = ours.into_iter().map(|square| self.shields(square));
        Guarded {
            calm: !ours.into_iter().any(attacked),
            needed: shields.fold(ours, |all, some| all | some),
        }
    }

    /// Whether a move of the side to move leaves its pseudo-royal men safe, those of before the
    /// move and those that it makes (Fairy-Stockfish, `Position::legal`).
    pub(super) fn keeps_royals(&self, rule: &Extinction, guarded: Guarded, m: Move) -> bool {
        if guarded.allows(self, m) {
            return true;
        }
        let us = self.turn;
        let mut ours = self.pseudo_royals(rule, us);
        let theirs = self.pseudo_royals(rule, !us);
        let mut after = self.clone();
        after.play_men(m);
        match m {
            Move::Step { from, to, promotion } => {
                if let Some(path) = self.castles(from, to) {
                    if ours.contains(from) {
                        if !self.walks_safely(path, theirs) {
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

/// The squares one rank ahead, as pawns of `color` go.
pub(super) fn forward(color: Color, squares: Bitboard) -> Bitboard {
    squares.shift(color.fold_wb(8, -8))
}
