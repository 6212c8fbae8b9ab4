//! Attacks, checks and pins.

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::{ChessPosition, Extinction};
use crate::rules::Move;

/// The checks and pins of the royal king of the side to move.
#[derive(Clone, Copy)]
pub(super) struct CheckInfo {
    /// The royal king, if there is one.
    pub(super) king: Option<Square>,
    /// The pieces that give check.
    pub(super) checkers: Bitboard,
    /// The squares to which another piece must move to end the check; all squares without a check.
    pub(super) evasions: Bitboard,
    /// The pinned pieces.
    pinned: Bitboard,
}

impl CheckInfo {
    /// The value without a royal king.
    const NONE: CheckInfo = CheckInfo {
        king: None,
        checkers: Bitboard::EMPTY,
        evasions: Bitboard::FULL,
        pinned: Bitboard::EMPTY,
    };

    /// Returns the squares of `to` that checks and pins allow for the piece on `from`, which is not a
    /// king.
    pub(super) fn allows(&self, from: Square, to: Bitboard) -> Bitboard {
        let to = to & self.evasions;
        match self.king {
            Some(king) if self.pinned.contains(from) => to & attacks::ray(king, from),
            _ => to,
        }
    }
}

/// What is needed to recognise moves that surely do not endanger pseudo-royal pieces.
#[derive(Clone, Copy)]
pub(super) struct PseudoRoyalInfo {
    /// Whether no pseudo-royal piece of the side to move is attacked.
    unattacked: bool,
    /// The pseudo-royal pieces of the side to move, and the pieces that shield them.
    needed: Bitboard,
}

/// The pseudo-royal pieces of both sides that decide whether a move is legal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PseudoRoyals {
    /// Those of the side to move where they stand after the move, with those that become pseudo-royal by
    /// it.
    pub(super) ours: Bitboard,
    /// Those of the opponent before the move.
    pub(super) theirs: Bitboard,
}

impl PseudoRoyalInfo {
    /// Returns `true` if a move surely leaves the pseudo-royal pieces safe: a step without capture and
    /// promotion, of a piece that neither is pseudo-royal nor shields one.
    fn allows(&self, position: &ChessPosition, m: Move) -> bool {
        let Move::Step { from, to, promotion: None, .. } = m else { return false };
        let pawn_capture = position.board.pawns().contains(from) && from.file() != to.file();
        self.unattacked
            && !self.needed.contains(from)
            && !position.board.occupied().contains(to)
            && !pawn_capture
    }
}

impl ChessPosition {
    /// Returns the king of `color` if kings are royal.
    pub(super) fn royal(&self, color: Color) -> Option<Square> {
        if self.variant_rules.royal { self.board.king_of(color) } else { None }
    }

    /// Returns `true` if the royal king of `color` is attacked.
    pub(super) fn in_check(&self, color: Color) -> bool {
        let them = self.board.by_color(!color);
        self.royal(color)
            .is_some_and(|king| self.attackers(king, color, self.board.occupied(), them).any())
    }

    /// Returns `true` if a royal or pseudo-royal piece of `color` could be captured.
    pub(super) fn is_threatened(&self, color: Color) -> bool {
        self.threatened_royal(color).is_some()
    }

    /// Returns the royal king of `color` if it is attacked, or else the first pseudo-royal piece that
    /// could be captured.
    pub(super) fn threatened_royal(&self, color: Color) -> Option<Square> {
        if self.in_check(color) {
            return self.royal(color);
        }
        let rule = self.pseudo_royal_rule()?;
        let ours = self.pseudo_royals(rule, color);
        let theirs = self.pseudo_royals(rule, !color);
        ours.into_iter().find(|&square| self.can_be_captured(square, color, theirs))
    }

    /// Returns the pieces of `among` that attack `square` of `color`, with pieces on the `occupied`
    /// squares.
    pub(super) fn attackers(
        &self,
        square: Square,
        color: Color,
        occupied: Bitboard,
        among: Bitboard,
    ) -> Bitboard {
        self.attackers_through(square, color, occupied | self.closed(), among)
    }

    /// Returns the pieces of `among` that attack `square` of `color`, on lines that end at the `blocked` squares.
    pub(super) fn attackers_through(
        &self,
        square: Square,
        color: Color,
        blocked: Bitboard,
        among: Bitboard,
    ) -> Bitboard {
        let board = &self.board;
        among
            & ((attacks::rook_attacks(square, blocked) & board.rooks_and_queens())
                | (attacks::bishop_attacks(square, blocked) & board.bishops_and_queens())
                | (attacks::knight_attacks(square) & board.knights())
                | (attacks::king_attacks(square) & board.kings())
                | (attacks::pawn_attacks(color, square) & board.pawns()))
    }

    /// Returns the checks and pins of the side to move. There are none if the duck can avert them.
    pub(super) fn check_info(&self) -> CheckInfo {
        if self.variant_rules.hides_kings() {
            return CheckInfo::NONE;
        }
        let Some(king) = self.royal(self.turn) else { return CheckInfo::NONE };
        let us = self.board.by_color(self.turn);
        let them = self.board.by_color(!self.turn);
        let checkers = self.attackers(king, self.turn, us | them, them);
        let evasions = match checkers.first() {
            None => Bitboard::FULL,
            Some(_) if checkers.more_than_one() => Bitboard::EMPTY,
            Some(checker) => attacks::between(king, checker).with(checker),
        };
        let pinned = self.shields(king);
        CheckInfo { king: Some(king), checkers, evasions, pinned }
    }

    /// Returns the pieces of the side to move that shield `square` from a slider of the opponent.
    fn shields(&self, square: Square) -> Bitboard {
        let board = &self.board;
        let us = board.by_color(self.turn);
        let closed = self.closed();
        let snipers = board.by_color(!self.turn)
            & (attacks::rook_attacks(square, closed) & board.rooks_and_queens()
                | attacks::bishop_attacks(square, closed) & board.bishops_and_queens());
        let between = |sniper| attacks::between(square, sniper) & board.occupied();
        let alone = |pieces: &Bitboard| !pieces.more_than_one();
        let shields = snipers.into_iter().map(between).filter(alone);
        us & shields.fold(Bitboard::EMPTY, |all, shield| all | shield)
    }

    /// Returns `true` if the royal king of the side to move is not attacked after moving to `to`.
    pub(super) fn is_open_to_king(&self, king: Square, to: Square) -> bool {
        let them = self.board.by_color(!self.turn).without(to);
        let occupied = self.board.occupied().without(king).with(to);
        self.attackers(to, self.turn, occupied, them).is_empty()
    }

    /// Returns `true` if the royal king of the side to move is not attacked after a pawn captures en
    /// passant from `from` to `to`.
    pub(super) fn is_safe_en_passant(
        &self,
        check_info: CheckInfo,
        from: Square,
        to: Square,
    ) -> bool {
        let Some(king) = check_info.king else { return true };
        let taken = forward(!self.turn, Bitboard::from_square(to));
        let occupied = (self.board.occupied().without(from) & !taken).with(to);
        let them = self.board.by_color(!self.turn) & !taken;
        self.attackers(king, self.turn, occupied, them).is_empty()
    }

    /// Returns the rule that makes the last pieces of a kind royal, if the game has it.
    pub(super) fn pseudo_royal_rule(&self) -> Option<&Extinction> {
        self.variant_rules.extinction.as_ref().filter(|rule| rule.pseudo_royal)
    }

    /// Returns the pieces of `color` that `rule` makes royal: those whose loss loses.
    pub(super) fn pseudo_royals(&self, rule: &Extinction, color: Color) -> Bitboard {
        let all_pieces = self.board.by_color(color);
        let few = |pieces: &Bitboard| pieces.count() as u32 <= rule.piece_count + 1;
        if rule.all && few(&all_pieces) {
            return all_pieces;
        }
        let pieces = |&role: &Role| self.board.by_role(role) & all_pieces;
        rule.roles.iter().map(pieces).filter(few).fold(Bitboard::EMPTY, |all, some| all | some)
    }

    /// Returns `true` if the piece of `color` on `square` could be captured without blowing up one of the
    /// pseudo-royal pieces of the opponent, `theirs`.
    pub(super) fn can_be_captured(&self, square: Square, color: Color, theirs: Bitboard) -> bool {
        let touching =
            self.variant_rules.blast.is_some() && (attacks::king_attacks(square) & theirs).any();
        let them = self.board.by_color(!color);
        !touching && self.attackers(square, color, self.board.occupied(), them).any()
    }

    /// Returns what is needed to recognise moves that do not endanger pseudo-royal pieces.
    pub(super) fn pseudo_royal_info(&self, rule: &Extinction) -> PseudoRoyalInfo {
        let us = self.turn;
        let them = self.board.by_color(!self.turn);
        let ours = self.pseudo_royals(rule, us);
        let attacked = |square| self.attackers(square, us, self.board.occupied(), them).any();
        let shields = ours.into_iter().map(|square| self.shields(square));
        PseudoRoyalInfo {
            unattacked: !ours.into_iter().any(attacked),
            needed: shields.fold(ours, |all, some| all | some),
        }
    }

    /// Returns `true` if a move of the side to move leaves its pseudo-royal pieces safe, including those
    /// that become pseudo-royal by the move (Fairy-Stockfish, `Position::legal`).
    pub(super) fn keeps_pseudo_royals(
        &self,
        rule: &Extinction,
        info: PseudoRoyalInfo,
        m: Move,
    ) -> bool {
        if info.allows(self, m) {
            return true;
        }
        let royals = self.pseudo_royals_of_move(rule, m);
        if let Move::Step { from, to, .. } = m
            && self.pseudo_royals(rule, self.turn).contains(from)
            && let Some(path) = self.castles(from, to)
            && !self.castles_safely(path, royals.theirs)
        {
            return false;
        }
        let mut after = self.clone();
        after.make_move(m);
        after.protects(royals)
    }

    /// Returns the pseudo-royal pieces that decide whether a move of the side to move is legal.
    pub(super) fn pseudo_royals_of_move(&self, rule: &Extinction, m: Move) -> PseudoRoyals {
        let us = self.turn;
        let mut ours = self.pseudo_royals(rule, us);
        match m {
            Move::Step { from, to, promotion, .. } => {
                if ours.contains(from) {
                    let path = self.castles(from, to);
                    ours = ours.without(from).with(path.map_or(to, |path| path.king_to));
                }
                if let Some(role) = promotion.filter(|role| rule.roles.contains(role)) {
                    let pieces = self.board.by_role(role) & self.board.by_color(us);
                    // With one more piece of the kind, none of them is the last.
                    ours = if pieces.count() as u32 > rule.piece_count {
                        ours & !pieces
                    } else {
                        ours.with(to)
                    };
                }
            }
            Move::Drop { role, to, .. } if rule.roles.contains(&role) => ours = ours.with(to),
            _ => {}
        }
        PseudoRoyals { ours, theirs: self.pseudo_royals(rule, !us) }
    }

    /// Returns `true` if a move that the side to move has made was legal: its pseudo-royal pieces are still
    /// on the board, and they are safe unless one of the opponent has been removed.
    pub(super) fn protects(&self, PseudoRoyals { ours, theirs }: PseudoRoyals) -> bool {
        let occupied = self.board.occupied();
        (ours & !occupied).is_empty()
            && ((theirs & !occupied).any()
                || !ours.into_iter().any(|square| self.can_be_captured(square, self.turn, theirs)))
    }

    /// See [`Position::counts_checks`](crate::rules::Position::counts_checks).
    pub(in crate::rules) fn counts_checks(&self) -> bool {
        self.variant_rules.checks.counted.is_some()
    }

    /// See [`Position::may_give_check`](crate::rules::Position::may_give_check).
    pub(in crate::rules) fn may_give_check(&self, m: Move) -> bool {
        let us = self.turn;
        let Move::Step { from, to, promotion: None, .. } = m else { return true };
        let Some(role) = self.board.role_at(from) else { return true };
        let occupied = self.board.occupied();
        let takes = occupied.contains(to) || role == Role::Pawn && from.file() != to.file();
        // What changes more than two squares.
        if takes || self.variant_rules.walls.is_some() || self.castles(from, to).is_some() {
            return true;
        }
        let pseudo_royals = match self.pseudo_royal_rule() {
            // The pieces of that kind protect each other's neighbours.
            Some(rule) if rule.all || rule.roles.contains(&role) => return true,
            Some(rule) => self.pseudo_royals(rule, !us),
            None => Bitboard::EMPTY,
        };
        let king = self.royal(!us).map_or(Bitboard::EMPTY, Bitboard::from_square);
        let after = occupied.without(from).with(to);
        let ours = self.board.by_color(us).without(from);
        let piece = Piece { color: us, role };
        let arrived = attacks::attacks(to, piece, after | self.closed());
        (arrived & (king | pseudo_royals)).any()
            || (king | pseudo_royals)
                .into_iter()
                .any(|square| self.attackers(square, !us, after, ours).any())
    }

    /// Returns `true` if a move of the side to move gives check to a royal king.
    pub(super) fn gives_check(&self, m: Move) -> bool {
        let mut after = self.clone();
        after.make_move(m);
        after.in_check(!self.turn)
    }
}

/// Shifts squares by one rank in the direction of pawns of `color`.
pub(super) fn forward(color: Color, squares: Bitboard) -> Bitboard {
    squares.shift(color.fold_wb(8, -8))
}

#[cfg(test)]
mod tests {
    use crate::rules::{BoardId, Square};
    use crate::variant::Catalogue;

    #[test]
    fn checked_king_is_that_of_the_color_on_turn() {
        let checked = |variant: &str, fen: &str| {
            let variant = Catalogue::shipped().get(variant).expect("a shipped variant");
            let position = variant.position(fen, false).expect("a position");
            BoardId::ALL.map(|board| position.checked_king(board))
        };
        let check = "4k3/8/8/8/8/8/4R3/4K3 b - - 0 1";
        assert_eq!(checked("chess", check)[0], Some(Square::E8));
        assert_eq!(checked("atomic", check)[0], Some(Square::E8));
        assert_eq!(checked("duck", "4k3/8/8/8/8/8/4R3/4K3 b - - 0 1")[0], None);
        assert_eq!(checked("chess", "4k3/8/8/8/8/8/3R4/4K3 b - - 0 1")[0], None);
        assert_eq!(checked("tictacmo", "5/1a3/b1c2 a")[0], None);
        let boards = "4k3/8/8/8/8/8/8/4K3[] w - - 0 1|4k3/8/8/8/8/8/4R3/4K3[] b - - 0 1";
        assert_eq!(checked("bughouse2", boards), [None, Some(Square::E8)]);
    }
}
