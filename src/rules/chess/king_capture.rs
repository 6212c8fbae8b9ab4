//! Kings that are taken: how games are won in which no king is royal, whoever has none has lost, and the
//! duck ends each turn.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{ChessPosition, Verdict, Walling};
use crate::rules::{Mate, Move, MoveList, Rules};

/// A look for kings that can be taken, and how many more positions it may visit.
struct KingCaptureSearch {
    attacker: Color,
    left: u32,
}

impl ChessPosition {
    /// Whether a game is won by taking the king, and any duck may end a turn.
    pub(super) fn wins_by_king_capture(&self) -> bool {
        let variant_rules = &self.variant_rules;
        let duck =
            variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck && !walls.instead);
        let kings = variant_rules.extinction.as_ref().is_some_and(|rule| {
            let one = rule.count == 0 && rule.opponents == 0 && !rule.claim;
            one && rule.roles.contains(&Role::King) && rule.value == Verdict::Loss
        });
        duck && kings
            && !variant_rules.wall_may_lack()
            && !self.restricted
            && variant_rules.blast.is_none()
    }

    /// A win of the side to move that takes the king in at most so many of its turns, two at most, found
    /// within so many positions. Repetition and counters do not enter.
    pub(super) fn find_king_capture(&self, turns: u8, positions: u32) -> Option<Mate> {
        let mut search = KingCaptureSearch { attacker: self.turn, left: positions };
        if self.mid_turn() {
            if turns > 0 && self.kings(!self.turn).is_empty() && self.kings(self.turn).any() {
                let m = self.wall_squares().first().map(Move::Wall)?;
                return Some(Mate { m, turns: 1 });
            }
            let duck = if turns > 1 { search.duck(self)? } else { return None };
            return Some(Mate { m: Move::Wall(duck), turns: 2 });
        }
        if turns == 0 || self.ended().is_some() {
            return None;
        }
        let king = self.kings(!self.turn).single_square()?;
        let mut legal = MoveList::new();
        self.turns(&mut legal);
        let takes = |m: &&Move| matches!(m, Move::Step { to, .. } if *to == king);
        if let Some(&m) = legal.iter().find(takes) {
            return Some(Mate { m, turns: 1 });
        }
        let mut first = legal.into_iter().filter(|_| turns > 1);
        let m = first.find(|&m| {
            let mut after = self.clone();
            after.play_unchecked(m);
            search.duck(&after).is_some()
        });
        m.map(|m| Mate { m, turns: 2 })
    }

    /// Whether the other side will take the king of the side to move in its next turn, whatever is done
    /// about it: of one that is attacked already, if so many positions tell.
    pub(super) fn king_is_lost(&self, positions: u32) -> bool {
        let mut search = KingCaptureSearch { attacker: !self.turn, left: positions };
        let Some(king) = self.kings(self.turn).single_square() else { return false };
        let mut open = self.clone();
        open.walls = Bitboard::EMPTY;
        let (attackers_of_king, blocks) = search.attack(&open, king);
        if attackers_of_king.is_empty() || self.ended().is_some() {
            return false;
        }
        if self.mid_turn() {
            return (blocks & !self.walls).is_empty();
        }
        search.is_inescapable(self) == Some(true)
    }

    fn kings(&self, color: Color) -> Bitboard {
        self.board.kings() & self.board.by_color(color)
    }

    /// The position after the turn if it ended without a duck.
    fn without_duck(&self) -> ChessPosition {
        let mut open = self.clone();
        (open.owed, open.walls) = (None, Bitboard::EMPTY);
        open.end_turn();
        open
    }

    /// The squares on which a duck might prevent a move.
    fn in_the_way(&self, m: Move) -> Bitboard {
        match m {
            Move::Step { from, to, .. } if self.castles(from, to).is_some() => {
                Bitboard::from_rank(from.rank())
            }
            Move::Step { from, to, .. } => attacks::between(from, to).with(to),
            Move::Drop { to, .. } => Bitboard::from_square(to),
            Move::Wall(_) | Move::Place(_) | Move::Second(_) | Move::Pass => Bitboard::EMPTY,
        }
    }
}

/// How a king may escape that stands where it does.
enum Escape {
    /// Not at all.
    No,
    /// Behind a duck on one of these squares.
    Behind(Bitboard),
    /// Nothing attacks it.
    Free,
}

impl KingCaptureSearch {
    /// A duck to end the turn with, after which the king can be taken whatever the other side does.
    fn duck(&mut self, position: &ChessPosition) -> Option<Square> {
        let open = position.without_duck();
        let king = open.kings(open.turn).single_square()?;
        let (attackers_of_king, blocks) = self.attack(&open, king);
        if attackers_of_king.is_empty() {
            return None;
        }
        // If no duck helps, only who moves the king, takes a man or steps between may escape.
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
        open.turns(&mut replies);
        let mut ducks = position.wall_squares();
        for m in replies.into_iter().filter(|m| blocks.any() || may_help(m)) {
            ducks &= match self.escape(&open, m, Bitboard::EMPTY)? {
                Escape::No => continue,
                Escape::Behind(blocks) if blocks.more_than_one() => open.in_the_way(m),
                Escape::Behind(block) => open.in_the_way(m) | block,
                Escape::Free => open.in_the_way(m),
            };
            if ducks.is_empty() {
                return None;
            }
        }
        ducks.into_iter().find(|&duck| self.holds(position, duck) == Some(true))
    }

    /// [`KingCaptureSearch::is_inescapable`] after a turn that ends with this duck.
    fn holds(&mut self, position: &ChessPosition, duck: Square) -> Option<bool> {
        let mut after = position.clone();
        after.play_unchecked(Move::Wall(duck));
        self.is_inescapable(&after)
    }

    /// Whether each move leaves the king to be taken, and there is one; `None` if that takes too long.
    fn is_inescapable(&mut self, position: &ChessPosition) -> Option<bool> {
        let mut replies = MoveList::new();
        position.turns(&mut replies);
        // Whoever cannot move has won, or drawn.
        if position.ended().is_some() || replies.is_empty() {
            return Some(false);
        }
        for m in replies {
            if !matches!(self.escape(position, m, position.walls)?, Escape::No) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// How the king escapes by `m` from the duck's old place, where it may not stay; `None` if no more
    /// positions may be visited.
    fn escape(&mut self, position: &ChessPosition, m: Move, duck: Bitboard) -> Option<Escape> {
        self.left = self.left.checked_sub(1)?;
        let mut after = position.clone();
        after.play_unchecked(m);
        after.walls = Bitboard::EMPTY;
        let king = after.kings(!self.attacker).single_square();
        let Some(king) = king.filter(|_| after.ended().is_none()) else {
            return Some(Escape::Free);
        };
        let (attackers_of_king, blocks) = self.attack(&after, king);
        let blocks = blocks & !duck;
        Some(match attackers_of_king.first() {
            None => Escape::Free,
            Some(_) if blocks.is_empty() => Escape::No,
            Some(_) => Escape::Behind(blocks),
        })
    }

    /// Who attacks the king, and the squares on which a duck stops them all.
    fn attack(&self, position: &ChessPosition, king: Square) -> (Bitboard, Bitboard) {
        let men = position.board.by_color(self.attacker);
        let attackers_of_king =
            position.attackers(king, !self.attacker, position.board.occupied(), men);
        let between = |blocks: Bitboard, attacker| blocks & attacks::between(attacker, king);
        (attackers_of_king, attackers_of_king.into_iter().fold(Bitboard::FULL, between))
    }
}
