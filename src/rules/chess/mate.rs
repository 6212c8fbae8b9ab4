//! Mate search: mates in which all moves of the mating side give check.

use shakmaty::{Bitboard, Role, Square, attacks};

use super::attack::CheckInfo;
use super::{ChessPosition, EndValue};
use crate::rules::{Mate, Move, MoveList, Rules};

/// The memory of mate searches. Reusing it saves allocations.
#[derive(Debug, Default)]
pub(in crate::rules) struct MateBuffers {
    spare: Vec<Frame>,
}

/// The memory of a search at one position.
#[derive(Debug, Default)]
struct Frame {
    moves: MoveList,
    /// Checks that do not mate at once, with the number of replies.
    tried: Vec<(u64, Move)>,
    /// The position after a move.
    after: Option<ChessPosition>,
}

/// A search for mates.
struct CheckSearch<'a> {
    /// The number of positions that may still be visited.
    left: u32,
    buffers: &'a mut MateBuffers,
}

impl ChessPosition {
    /// Searches for a mate of the side to move in at most `turns` turns in which all its moves give check,
    /// visiting at most `positions` positions. Repetitions and counters are ignored.
    pub(super) fn find_checkmate(
        &self,
        turns: u8,
        positions: u32,
        buffers: &mut MateBuffers,
    ) -> Option<Mate> {
        let variant_rules = &self.variant_rules;
        let is_supported =
            !self.restricted && variant_rules.walls.is_none() && variant_rules.blast.is_none();
        if !is_supported
            || variant_rules.ends.checkmate != EndValue::Loss
            || self.variant_end().is_some()
        {
            return None;
        }
        let mut search = CheckSearch { left: positions, buffers };
        (1..=turns).find_map(|turns| search.attack(self, turns).map(|m| Mate { m, turns }))
    }

    /// Returns the position after a move, in `buffer`.
    fn after<'a>(&self, m: Move, buffer: &'a mut Option<ChessPosition>) -> &'a mut ChessPosition {
        let after = match buffer {
            Some(after) => {
                after.clone_from(self);
                after
            }
            None => buffer.insert(self.clone()),
        };
        after.play_unchecked(m);
        after
    }

    /// Adds the moves that can give check: all checks but castling.
    fn checking_moves(&self, king: Square, check_info: CheckInfo, out: &mut MoveList) {
        let us = self.turn;
        let blocked = self.board.occupied() | self.closed();
        let checks_by = |role: Role| match role {
            Role::Pawn => attacks::pawn_attacks(!us, king),
            Role::Knight => attacks::knight_attacks(king),
            Role::Bishop => attacks::bishop_attacks(king, blocked),
            Role::Rook => attacks::rook_attacks(king, blocked),
            Role::Queen => attacks::queen_attacks(king, blocked),
            Role::King => Bitboard::EMPTY,
        };
        for (role, squares) in self.drop_squares(check_info) {
            out.extend((squares & checks_by(role)).into_iter().map(|to| Move::drop(role, to)));
        }
        let discoverers = self.discoverers(king);
        let promoting = self.variant_rules.promotion.area[us];
        self.for_each_piece(check_info, Bitboard::FULL, |start, to, pawn| {
            let role = self.board.role_at(start).unwrap_or(Role::King);
            let open = discoverers.contains(start);
            let passing = self.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
            let may = |role| if open { Bitboard::FULL } else { checks_by(role) };
            let plain = if pawn { to & !promoting } else { to };
            let checks = plain & (may(role) | if pawn { passing } else { Bitboard::EMPTY });
            let step = |to| Move::step(start, to, None);
            out.extend(checks.into_iter().map(step));
            if pawn && (to & promoting).any() {
                for role in self.promotions() {
                    // The piece can attack through the square that it left.
                    let behind = attacks::attacks(
                        king,
                        shakmaty::Piece { color: us, role },
                        blocked.without(start),
                    );
                    let checks = to & promoting & (may(role) | behind);
                    let step = |to| Move::step(start, to, Some(role));
                    out.extend(checks.into_iter().map(step));
                }
            }
        });
    }

    /// Returns the pieces of the side to move whose moves can give a discovered check.
    fn discoverers(&self, king: Square) -> Bitboard {
        let us = self.board.by_color(self.turn);
        let board = &self.board;
        let closed = self.closed();
        let snipers = us
            & (attacks::rook_attacks(king, closed) & board.rooks_and_queens()
                | attacks::bishop_attacks(king, closed) & board.bishops_and_queens());
        let between = |sniper| attacks::between(king, sniper) & board.occupied();
        let alone = |pieces: &Bitboard| !pieces.more_than_one();
        let blockers = snipers.into_iter().map(between).filter(alone);
        us & blockers.fold(Bitboard::EMPTY, |all, blocker| all | blocker)
    }

    /// Returns the number of legal replies of the side to move, which is in check; 0 if it has lost, by mate
    /// or another rule. `None` if it is not in check or has won.
    fn count_replies(&self) -> Option<u64> {
        if let Some(end) = self.variant_end() {
            return (end.winner == Some((!self.turn).into())).then_some(0);
        }
        if self.in_check(self.turn) { self.count_moves() } else { None }
    }
}

impl CheckSearch<'_> {
    /// Returns a check that mates in at most `turns` turns.
    fn attack(&mut self, position: &ChessPosition, turns: u8) -> Option<Move> {
        let king = position.royal(!position.turn)?;
        let mut frame = self.buffers.spare.pop().unwrap_or_default();
        let mate = self.attack_in(&mut frame, position, king, turns);
        self.buffers.spare.push(frame);
        mate
    }

    fn attack_in(
        &mut self,
        frame: &mut Frame,
        position: &ChessPosition,
        king: Square,
        turns: u8,
    ) -> Option<Move> {
        let Frame { moves, tried, after } = frame;
        moves.clear();
        tried.clear();
        position.checking_moves(king, position.check_info(), moves);
        for &m in moves.iter() {
            self.left = self.left.checked_sub(1)?;
            match position.after(m, after).count_replies() {
                Some(0) => return Some(m),
                Some(replies) if turns > 1 => tried.push((replies, m)),
                _ => {}
            }
        }
        // Checks with fewer replies are more likely to mate.
        tried.sort_by_key(|&(replies, _)| replies);
        let mated = tried.iter().find(|&&(_, m)| self.defend(position.after(m, after), turns - 1));
        mated.map(|&(_, m)| m)
    }

    /// Returns `true` if every reply is mated in at most `turns` turns.
    fn defend(&mut self, position: &ChessPosition, turns: u8) -> bool {
        let mut frame = self.buffers.spare.pop().unwrap_or_default();
        let Frame { moves, after, .. } = &mut frame;
        moves.clear();
        position.add_moves(moves);
        let is_mated = moves.iter().all(|&m| {
            let after = position.after(m, after);
            // A reply can win by another rule.
            after.variant_end().is_none() && self.attack(after, turns).is_some()
        });
        self.buffers.spare.push(frame);
        is_mated
    }
}
