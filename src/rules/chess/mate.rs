//! Mates by checks alone, each of which the other side must answer.

use shakmaty::{Bitboard, Role, Square, attacks};

use super::attack::Danger;
use super::{ChessPosition, Verdict};
use crate::rules::{Mate, Move, MoveList, Rules};

/// A look for mates, and how many more positions it may visit.
struct MateSearch {
    left: u32,
}

impl ChessPosition {
    /// A mate of the side to move in at most so many turns, each of its moves a check, found within so
    /// many positions. Repetition and counters do not enter.
    pub(super) fn find_mate(&self, turns: u8, positions: u32) -> Option<Mate> {
        let variant_rules = &self.variant_rules;
        let plain =
            !self.restricted && variant_rules.walls.is_none() && variant_rules.blast.is_none();
        if !plain || variant_rules.ends.checkmate != Verdict::Loss || self.ended().is_some() {
            return None;
        }
        let mut look = MateSearch { left: positions };
        (1..=turns).find_map(|turns| look.attack(self, turns).map(|m| Mate { m, turns }))
    }

    /// The moves that may give check: all that do but castling.
    fn checking_moves(&self, king: Square, danger: Danger, out: &mut MoveList) {
        let (us, blocked) = (self.turn, self.board.occupied() | self.closed());
        let from = |role: Role| match role {
            Role::Pawn => attacks::pawn_attacks(!us, king),
            Role::Knight => attacks::knight_attacks(king),
            Role::Bishop => attacks::bishop_attacks(king, blocked),
            Role::Rook => attacks::rook_attacks(king, blocked),
            Role::Queen => attacks::queen_attacks(king, blocked),
            Role::King => Bitboard::EMPTY,
        };
        for (role, squares) in self.drop_squares(danger) {
            out.extend((squares & from(role)).into_iter().map(|to| Move::Drop { role, to }));
        }
        let uncovering = self.uncovering(king);
        let promoting = self.variant_rules.promotion.area[us];
        self.each_man(danger, |start, to, pawn| {
            let role = self.board.role_at(start).unwrap_or(Role::King);
            let open = uncovering.contains(start);
            let passing = self.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
            let may = |role| if open { Bitboard::FULL } else { from(role) };
            let plain = if pawn { to & !promoting } else { to };
            let checks = plain & (may(role) | if pawn { passing } else { Bitboard::EMPTY });
            let step = |to| Move::Step { from: start, to, promotion: None };
            out.extend(checks.into_iter().map(step));
            if pawn && (to & promoting).any() {
                for role in self.promotions() {
                    // It may attack through the square that it left.
                    let behind = attacks::attacks(
                        king,
                        shakmaty::Piece { color: us, role },
                        blocked.without(start),
                    );
                    let checks = to & promoting & (may(role) | behind);
                    let step = |to| Move::Step { from: start, to, promotion: Some(role) };
                    out.extend(checks.into_iter().map(step));
                }
            }
        });
    }

    /// The mover's men without which another of its men would attack the other side's king.
    fn uncovering(&self, king: Square) -> Bitboard {
        let (us, board, closed) = (self.board.by_color(self.turn), &self.board, self.closed());
        let far = us
            & (attacks::rook_attacks(king, closed) & board.rooks_and_queens()
                | attacks::bishop_attacks(king, closed) & board.bishops_and_queens());
        let between = |sniper| attacks::between(king, sniper) & board.occupied();
        let alone = |men: &Bitboard| !men.more_than_one();
        us & far.into_iter().map(between).filter(alone).fold(Bitboard::EMPTY, |all, men| all | men)
    }

    /// How many answers the side to move has, in check as it is; none if that has lost it the game, by
    /// mate or by another rule. `None` if it is not in check or has won.
    fn answers(&self) -> Option<u64> {
        if let Some(end) = self.ended() {
            return (end.winner == Some((!self.turn).into())).then_some(0);
        }
        if self.in_check(self.turn) { self.count_moves() } else { None }
    }
}

impl MateSearch {
    /// A check that mates in so many turns or fewer.
    fn attack(&mut self, position: &ChessPosition, turns: u8) -> Option<Move> {
        let king = position.royal(!position.turn)?;
        let mut checks = MoveList::new();
        position.checking_moves(king, position.danger(), &mut checks);
        let mut tried = Vec::new();
        for m in checks {
            self.left = self.left.checked_sub(1)?;
            let mut after = position.clone();
            after.play_unchecked(m);
            match after.answers() {
                Some(0) => return Some(m),
                Some(answers) if turns > 1 => tried.push((answers, m, after)),
                _ => {}
            }
        }
        // Whoever has fewer answers is mated sooner.
        tried.sort_by_key(|(answers, ..)| *answers);
        let mated = tried.into_iter().find(|(_, _, after)| self.defend(after, turns - 1));
        mated.map(|(_, m, _)| m)
    }

    /// Whether every answer is mated in so many turns or fewer.
    fn defend(&mut self, position: &ChessPosition, turns: u8) -> bool {
        let mut answers = MoveList::new();
        position.turns(&mut answers);
        answers.into_iter().all(|m| {
            let mut after = position.clone();
            after.play_unchecked(m);
            // An answer may win by another rule.
            after.ended().is_none() && self.attack(&after, turns).is_some()
        })
    }
}
