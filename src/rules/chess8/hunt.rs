//! Kings that are taken: how games are won in which no king is royal, whoever has none has lost, and the
//! duck ends each turn.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{Chess8, Verdict, Walling};
use crate::rules::{Mate, Move, MoveList, Rules};

/// A look for kings that can be taken, and how many more positions it may visit.
struct Hunt {
    hunter: Color,
    left: u32,
}

impl Chess8 {
    /// Whether a game is won by taking the king, and any duck may end a turn.
    pub(super) fn hunts_kings(&self) -> bool {
        let axes = &self.axes;
        let duck = axes.walls.is_some_and(|walls| walls.rule == Walling::Duck && !walls.instead);
        let kings = axes.extinction.as_ref().is_some_and(|rule| {
            let one = rule.count == 0 && rule.opponents == 0 && !rule.claim;
            one && rule.roles.contains(&Role::King) && rule.value == Verdict::Loss
        });
        duck && kings && !axes.wall_may_lack() && !self.restricted && axes.blast.is_none()
    }

    /// A win of the side to move that takes the king in at most so many of its turns, two at most, found
    /// within so many positions. Repetition and counters do not enter.
    pub(super) fn look_for_king(&self, turns: u8, positions: u32) -> Option<Mate> {
        let mut hunt = Hunt { hunter: self.turn, left: positions };
        if self.mid_turn() {
            if turns > 0 && self.kings(!self.turn).is_empty() && self.kings(self.turn).any() {
                let m = self.wall_squares().first().map(Move::Wall)?;
                return Some(Mate { m, turns: 1 });
            }
            let duck = if turns > 1 { hunt.duck(self)? } else { return None };
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
            hunt.duck(&after).is_some()
        });
        m.map(|m| Mate { m, turns: 2 })
    }

    /// Whether the other side will take the king of the side to move in its next turn, whatever is done
    /// about it: of one that is attacked already, if so many positions tell.
    pub(super) fn king_is_lost(&self, positions: u32) -> bool {
        let mut hunt = Hunt { hunter: !self.turn, left: positions };
        let Some(king) = self.kings(self.turn).single_square() else { return false };
        let mut open = self.clone();
        open.walls = Bitboard::EMPTY;
        let (hunters, blocks) = hunt.attack(&open, king);
        if hunters.is_empty() || self.ended().is_some() {
            return false;
        }
        if self.mid_turn() {
            return (blocks & !self.walls).is_empty();
        }
        hunt.is_inescapable(self) == Some(true)
    }

    fn kings(&self, color: Color) -> Bitboard {
        self.board.kings() & self.board.by_color(color)
    }

    /// The position after the turn if it ended without a duck.
    fn without_duck(&self) -> Chess8 {
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

impl Hunt {
    /// A duck to end the turn with, after which the king can be taken whatever the other side does.
    fn duck(&mut self, position: &Chess8) -> Option<Square> {
        let open = position.without_duck();
        let king = open.kings(open.turn).single_square()?;
        let (hunters, blocks) = self.attack(&open, king);
        if hunters.is_empty() {
            return None;
        }
        // If no duck helps, only who moves the king, takes a man or steps between may escape.
        let lines = |lines: Bitboard, hunter| lines | attacks::between(hunter, king);
        let useful = hunters.into_iter().fold(hunters, lines) | open.kings(self.hunter);
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

    /// [`Hunt::is_inescapable`] after a turn that ends with this duck.
    fn holds(&mut self, position: &Chess8, duck: Square) -> Option<bool> {
        let mut after = position.clone();
        after.play_unchecked(Move::Wall(duck));
        self.is_inescapable(&after)
    }

    /// Whether each move leaves the king to be taken, and there is one; `None` if that takes too long.
    fn is_inescapable(&mut self, position: &Chess8) -> Option<bool> {
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
    fn escape(&mut self, position: &Chess8, m: Move, duck: Bitboard) -> Option<Escape> {
        self.left = self.left.checked_sub(1)?;
        let mut after = position.clone();
        after.play_unchecked(m);
        after.walls = Bitboard::EMPTY;
        let king = after.kings(!self.hunter).single_square();
        let Some(king) = king.filter(|_| after.ended().is_none()) else {
            return Some(Escape::Free);
        };
        let (hunters, blocks) = self.attack(&after, king);
        let blocks = blocks & !duck;
        Some(match hunters.first() {
            None => Escape::Free,
            Some(_) if blocks.is_empty() => Escape::No,
            Some(_) => Escape::Behind(blocks),
        })
    }

    /// Who attacks the king, and the squares on which a duck stops them all.
    fn attack(&self, position: &Chess8, king: Square) -> (Bitboard, Bitboard) {
        let men = position.board.by_color(self.hunter);
        let hunters = position.attackers(king, !self.hunter, position.board.occupied(), men);
        let between = |blocks: Bitboard, hunter| blocks & attacks::between(hunter, king);
        (hunters, hunters.into_iter().fold(Bitboard::FULL, between))
    }
}
