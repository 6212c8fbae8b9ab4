//! Search for captures of the king in duck chess: kings are not royal, a side without a king has lost, and
//! each turn ends with the duck.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, EndValue, Walling};
use crate::rules::{Mate, Move, MoveList, Rules};

/// A search for captures of the king.
struct KingCaptureSearch {
    attacker: Color,
    /// The number of positions that may still be visited.
    left: u32,
}

impl ChessPosition {
    /// Returns `true` if capturing the king wins and any square for the duck is legal.
    pub(super) fn wins_by_king_capture(&self) -> bool {
        let variant_rules = &self.variant_rules;
        let duck = variant_rules
            .walls
            .is_some_and(|walls| walls.rule == Walling::Duck && !walls.wall_or_move);
        let kings = variant_rules.extinction.as_ref().is_some_and(|rule| {
            let single = rule.piece_count == 0 && rule.opponent_piece_count == 0 && !rule.claim;
            single && rule.roles.contains(&Role::King) && rule.value == EndValue::Loss
        });
        duck && kings
            && !variant_rules.wall_may_be_impossible()
            && !self.restricted
            && variant_rules.blast.is_none()
    }

    /// Searches for a capture of the king in at most `turns` turns, and at most two, of the side to move,
    /// visiting at most `positions` positions. Repetitions and counters are ignored.
    pub(super) fn find_king_capture(&self, turns: u8, positions: u32) -> Option<Mate> {
        let mut search = KingCaptureSearch { attacker: self.turn, left: positions };
        if self.mid_turn() {
            if turns > 0 && self.kings(!self.turn).is_empty() && self.kings(self.turn).any() {
                let m = self.wall_squares().first().map(Move::Wall)?;
                return Some(Mate { m, turns: 1 });
            }
            let duck = if turns > 1 { search.find_duck(self)? } else { return None };
            return Some(Mate { m: Move::Wall(duck), turns: 2 });
        }
        if turns == 0 || self.variant_end().is_some() {
            return None;
        }
        let king = self.kings(!self.turn).single_square()?;
        let mut legal = MoveList::new();
        self.add_moves(&mut legal);
        let captures_king = |m: &&Move| matches!(m, Move::Step { to, .. } if *to == king);
        if let Some(&m) = legal.iter().find(captures_king) {
            return Some(Mate { m, turns: 1 });
        }
        if turns == 1 {
            return None;
        }
        let m = legal.into_iter().find(|&m| {
            let mut after = self.clone();
            after.play_unchecked(m);
            search.find_duck(&after).is_some()
        })?;
        Some(Mate { m, turns: 2 })
    }

    /// Returns `true` if at most `positions` positions prove that the opponent captures the king of the side
    /// to move in its next turn. The king must be attacked already.
    pub(super) fn king_is_lost(&self, positions: u32) -> bool {
        let mut search = KingCaptureSearch { attacker: !self.turn, left: positions };
        let Some(king) = self.kings(self.turn).single_square() else { return false };
        let mut open = self.clone();
        open.walls = Bitboard::EMPTY;
        let (attackers_of_king, blocks) = search.attack(&open, king);
        if attackers_of_king.is_empty() || self.variant_end().is_some() {
            return false;
        }
        if self.mid_turn() {
            return (blocks & !self.walls).is_empty();
        }
        search.is_inescapable(self) == Some(true)
    }

    /// Returns the score of the side to move and the plies to the end if it has captured the king or can do so, or if it has
    /// moved and no square for the duck shields its own king.
    pub(super) fn king_capture(&self) -> Option<(i8, usize)> {
        if !self.wins_by_king_capture() {
            return None;
        }
        let own = self.kings(self.turn).single_square()?;
        let Some(other) = self.kings(!self.turn).single_square() else {
            // The duck ends the turn in which the king was captured.
            return (self.mid_turn() && self.kings(!self.turn).is_empty()).then_some((1, 1));
        };
        let attackers = |king, color: Color, blocked| {
            self.attackers_through(king, color, blocked, self.board.by_color(!color))
        };
        if !self.mid_turn() {
            let blocked = self.board.occupied() | self.closed();
            return attackers(other, !self.turn, blocked).any().then_some((1, 2));
        }
        // The duck leaves its square, and may block one line or several.
        let attackers = attackers(own, self.turn, self.board.occupied() | !self.area);
        let between = |squares: Bitboard, attacker| squares & attacks::between(attacker, own);
        let blocks = attackers.into_iter().fold(self.wall_squares(), between);
        (attackers.any() && blocks.is_empty()).then_some((-1, 3))
    }

    fn kings(&self, color: Color) -> Bitboard {
        self.board.kings() & self.board.by_color(color)
    }

    /// Returns the position after the turn, as if it ended without a duck.
    fn without_duck(&self) -> ChessPosition {
        let mut open = self.clone();
        open.pending_wall = None;
        open.walls = Bitboard::EMPTY;
        open.end_turn();
        open
    }

    /// Returns the squares on which a duck could prevent a move.
    fn blocking_squares(&self, m: Move) -> Bitboard {
        match m {
            Move::Step { from, to, .. } if self.castles(from, to).is_some() => {
                Bitboard::from_rank(from.rank())
            }
            Move::Step { from, to, .. } => attacks::between(from, to).with(to),
            Move::Drop { to, .. } => Bitboard::from_square(to),
            Move::Wall(_) | Move::Place(_) | Move::Pass => Bitboard::EMPTY,
        }
    }
}

/// Whether an attacked king can escape.
enum Escape {
    /// It cannot escape.
    No,
    /// It is safe if the duck is on one of these squares.
    Behind(Bitboard),
    /// It is not attacked.
    Free,
}

impl KingCaptureSearch {
    /// Returns a square for the duck after which the king is lost whatever the opponent plays.
    fn find_duck(&mut self, position: &ChessPosition) -> Option<Square> {
        let open = position.without_duck();
        let king = open.kings(open.turn).single_square()?;
        let (attackers_of_king, blocks) = self.attack(&open, king);
        if attackers_of_king.is_empty() {
            return None;
        }
        // If the duck cannot block, only king moves, captures and blocks can help.
        let lines = |lines: Bitboard, attacker| lines | attacks::between(attacker, king);
        let useful = attackers_of_king.into_iter().fold(attackers_of_king, lines)
            | open.kings(self.attacker);
        let passing = open.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
        let may_help = |m: &Move| match *m {
            Move::Step { from, to, .. } => from == king || (useful | passing).contains(to),
            Move::Drop { to, .. } => useful.contains(to),
            _ => true,
        };
        let mut replies = MoveList::new();
        open.add_moves(&mut replies);
        let mut duck_squares = position.wall_squares();
        for m in replies.into_iter().filter(|m| blocks.any() || may_help(m)) {
            duck_squares &= match self.escape(&open, m, Bitboard::EMPTY)? {
                Escape::No => continue,
                Escape::Behind(blocks) if blocks.more_than_one() => open.blocking_squares(m),
                Escape::Behind(block) => open.blocking_squares(m) | block,
                Escape::Free => open.blocking_squares(m),
            };
            if duck_squares.is_empty() {
                return None;
            }
        }
        duck_squares.into_iter().find(|&duck| self.wins_with_duck(position, duck) == Some(true))
    }

    /// Applies [`KingCaptureSearch::is_inescapable`] to the position after the duck is placed.
    fn wins_with_duck(&mut self, position: &ChessPosition, duck: Square) -> Option<bool> {
        let mut after = position.clone();
        after.play_unchecked(Move::Wall(duck));
        self.is_inescapable(&after)
    }

    /// Returns whether there are legal moves and each loses the king, or `None` if the limit of positions is
    /// reached.
    fn is_inescapable(&mut self, position: &ChessPosition) -> Option<bool> {
        let mut replies = MoveList::new();
        position.add_moves(&mut replies);
        // A side without a legal move has won or drawn.
        if position.variant_end().is_some() || replies.is_empty() {
            return Some(false);
        }
        for m in replies {
            if !matches!(self.escape(position, m, position.walls)?, Escape::No) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Returns whether the king escapes by `m`. The duck must leave its square `duck`. `None` if the limit of
    /// positions is reached.
    fn escape(&mut self, position: &ChessPosition, m: Move, duck: Bitboard) -> Option<Escape> {
        self.left = self.left.checked_sub(1)?;
        let mut after = position.clone();
        after.play_unchecked(m);
        after.walls = Bitboard::EMPTY;
        let king = after.kings(!self.attacker).single_square();
        let Some(king) = king else { return Some(Escape::Free) };
        if after.variant_end().is_some() {
            return Some(Escape::Free);
        }
        let (attackers_of_king, blocks) = self.attack(&after, king);
        let blocks = blocks & !duck;
        Some(match attackers_of_king.first() {
            None => Escape::Free,
            Some(_) if blocks.is_empty() => Escape::No,
            Some(_) => Escape::Behind(blocks),
        })
    }

    /// Returns the attackers of the king, and the squares on which a duck blocks all of them.
    fn attack(&self, position: &ChessPosition, king: Square) -> (Bitboard, Bitboard) {
        let pieces = position.board.by_color(self.attacker);
        let attackers_of_king =
            position.attackers(king, !self.attacker, position.board.occupied(), pieces);
        let between = |blocks: Bitboard, attacker| blocks & attacks::between(attacker, king);
        (attackers_of_king, attackers_of_king.into_iter().fold(Bitboard::FULL, between))
    }
}
