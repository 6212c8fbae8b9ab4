//! The minimax player of Bug0 (Ardeshna, Selwyn and Singhal, section III.D): alpha-beta with a
//! transposition table over men and squares.
//!
//! Of two tables it sees the one at which it is asked, and searches that board alone: what is taken
//! leaves it, and nobody at the other table moves ("the immediate response by the opponent on the
//! same board"). Men in hand may be dropped and count nothing. The values of men and squares are
//! those of its authors' program. That program takes a mate at the end of a line for a level
//! position; here it is what it is.

use std::collections::HashMap;

use menagerie::rules::{
    Color, Key, Move, MoveList, Outcome, Position, Reason, Role, Side, Square, Table, View,
};

/// The player; it remembers what it searched for one move only.
#[derive(Debug)]
pub struct Minimax {
    depth: u32,
    /// Whether whoever has no move waits for a man, as at two tables.
    waits: bool,
    known: HashMap<Key, ProvenValue>,
    /// Moves at each depth, so that they are allocated once.
    spare: Vec<MoveList>,
}

/// What is known of a position searched to a depth.
#[derive(Clone, Copy, Debug)]
struct ProvenValue {
    depth: u32,
    value: i32,
    bound: Bound,
    best: Move,
}

/// What a value that was found within a window tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

/// A mate is worth this and one more for each ply of depth that is left: quick ones are better.
pub const MATE: i32 = 1_000_000;
/// Beyond all values.
const INFINITE: i32 = 2 * MATE;

impl Minimax {
    /// A player that looks `depth` plies beyond its own, at least one: at 1 it sees the reply.
    pub fn new(depth: u32) -> Minimax {
        Minimax { depth, waits: false, known: HashMap::new(), spare: Vec::new() }
    }

    /// The best of the legal moves, the first if several are; `None` if there is none.
    pub fn best_move(&mut self, position: &Position) -> Option<Move> {
        let (board, table) = self.begin(position);
        let mut moves = MoveList::new();
        board.legal_moves(&mut moves);
        in_order(&board, None, &mut moves);
        let us = board.turn();
        let mut best = None;
        let mut highest = -INFINITE;
        for m in moves {
            let mut next = board.clone();
            next.play_unchecked(m);
            let value = self.seen_by(us, &next, self.depth, highest, INFINITE);
            if value > highest || best.is_none() {
                (highest, best) = (value, Some(m));
            }
        }
        best.map(|m| table.map_or(m, |table| m.at(table)))
    }

    /// What `position` is worth to whoever is to move, after `depth` more plies, in hundredths of
    /// a pawn; of two tables, what the board is worth at which a move is asked for.
    pub fn value(&mut self, position: &Position, depth: u32) -> i32 {
        let board = self.begin(position).0;
        self.search(&board, depth, -INFINITE, INFINITE)
    }

    /// The board that is searched, and the table at which it stands if there are two.
    fn begin(&mut self, position: &Position) -> (Position, Option<Table>) {
        self.known.clear();
        let view = position.view();
        let table = if view.seat.asked { Table::A } else { Table::B };
        let board = position.at_table(table);
        self.waits = board.is_some();
        (board.unwrap_or_else(|| position.clone()), self.waits.then_some(table))
    }

    /// What `position` is worth to `us`, who may be the one to move.
    fn seen_by(&mut self, us: Side, position: &Position, depth: u32, low: i32, high: i32) -> i32 {
        if position.turn() == us {
            self.search(position, depth, low, high)
        } else {
            -self.search(position, depth, -high, -low)
        }
    }

    /// The value for the mover: exact if it lies between `low` and `high`, else a bound.
    fn search(&mut self, position: &Position, depth: u32, low: i32, high: i32) -> i32 {
        let key = position.key();
        // Of the same depth only, so that the table changes no value.
        let known = self.known.get(&key).filter(|_| depth > 0).copied();
        if let Some(known) = known.filter(|known| known.depth == depth) {
            let tells = match known.bound {
                Bound::Exact => true,
                Bound::AtLeast => known.value >= high,
                Bound::AtMost => known.value <= low,
            };
            if tells {
                return known.value;
            }
        }
        let mut moves = self.spare.pop().unwrap_or_default();
        position.legal_moves(&mut moves);
        let value = match position.outcome_given(&moves) {
            Some(outcome) => self.end(position, outcome, depth),
            None if depth == 0 => standing(position),
            None => {
                in_order(position, known.map(|known| known.best), &mut moves);
                self.best_of(position, &moves, key, depth, (low, high))
            }
        };
        self.spare.push(moves);
        value
    }

    /// The end of a game for the mover, with so many plies of depth left.
    fn end(&self, position: &Position, outcome: Outcome, depth: u32) -> i32 {
        match outcome.winner {
            Some(winner) if winner == position.turn() => MATE + depth as i32,
            Some(_) => -MATE - depth as i32,
            None if outcome.reason == Reason::Stalemate && self.waits => standing(position),
            None => 0,
        }
    }

    fn best_of(
        &mut self,
        position: &Position,
        moves: &[Move],
        key: Key,
        depth: u32,
        (low, high): (i32, i32),
    ) -> i32 {
        let us = position.turn();
        let (mut value, mut best) = (-INFINITE, moves[0]);
        let mut next = position.clone();
        for &m in moves {
            next.clone_from(position);
            next.play_unchecked(m);
            let found = self.seen_by(us, &next, depth - 1, low.max(value), high);
            if found > value {
                (value, best) = (found, m);
            }
            if value >= high {
                break;
            }
        }
        let bound = match value {
            _ if value >= high => Bound::AtLeast,
            _ if value <= low => Bound::AtMost,
            _ => Bound::Exact,
        };
        self.known.insert(key, ProvenValue { depth, value, bound, best });
        value
    }
}

/// What the men are worth where they stand, for the mover.
pub fn standing(position: &Position) -> i32 {
    let view = position.view();
    let worth = |color: Color| {
        let squares = view.board.by_color(color).into_iter();
        squares.map(|square| man(&view, square, color)).sum::<i32>()
    };
    worth(view.turn) - worth(!view.turn)
}

fn man(view: &View<'_>, square: Square, color: Color) -> i32 {
    let Some(role) = view.board.role_at(square) else { return 0 };
    // The tables' first rank is the mover's eighth.
    let rank = usize::from(square.rank());
    let rank = if color.is_white() { 7 - rank } else { rank };
    worth(role) + 5 * i32::from(table(role)[rank][usize::from(square.file())])
}

/// The value of a man, without the square. The king's changes nothing, as he is never taken.
fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 310,
        Role::Bishop => 320,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}

/// Captures first, of great men by small ones; before them `first`. Otherwise in the order in which
/// the rules have them.
fn in_order(position: &Position, first: Option<Move>, moves: &mut MoveList) {
    let view = position.view();
    let gain = |m: &Move| match *m {
        _ if Some(*m) == first => i32::MIN,
        Move::Step { from, to, .. } => match (view.board.role_at(from), view.board.role_at(to)) {
            (Some(man), Some(taken)) => worth(man) - 16 * worth(taken),
            _ => 0,
        },
        _ => 0,
    };
    moves.sort_by_cached_key(gain);
}

/// What squares are worth in steps of five, from the eighth rank down, files from a to h.
type Squares = [[i8; 8]; 8];

fn table(role: Role) -> &'static Squares {
    match role {
        Role::Pawn => &PAWN,
        Role::Knight => &KNIGHT,
        Role::Bishop => &BISHOP,
        Role::Rook => &ROOK,
        Role::Queen => &QUEEN,
        Role::King => &KING,
    }
}

const PAWN: Squares = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [12, 12, 12, 12, 14, 12, 12, 12],
    [8, 8, 8, 10, 12, 8, 8, 8],
    [4, 4, 4, 8, 10, 4, 4, 4],
    [1, 1, 3, 6, 8, 2, 1, 1],
    [1, 1, 2, 4, 6, 1, 1, 1],
    [1, 1, 1, -6, -6, 1, 1, 1],
    [0, 0, 0, 0, 0, 0, 0, 0],
];

const KNIGHT: Squares = [
    [-4, -2, -2, -2, -2, -2, -2, -4],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 2, 3, 3, 3, -1, -2],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-4, 0, -2, -2, -2, -2, 0, -4],
];

const BISHOP: Squares = [
    [-4, 0, 0, 0, 0, 0, 0, -4],
    [-3, 0, 0, 0, 0, 0, 0, -3],
    [-2, 0, 0, 1, 1, 0, 0, -2],
    [-2, 2, 2, 6, 6, 2, 2, -2],
    [1, 1, 2, 5, 5, 2, 1, 1],
    [1, 1, 1, 2, 2, 1, 1, 1],
    [-2, 1, 1, 2, 2, 1, 1, -2],
    [-4, -2, -2, -2, -2, -2, -2, -4],
];

const ROOK: Squares = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [3, 3, 3, 4, 4, 3, 3, 3],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 2, 2, 2, 0, 0],
];

const QUEEN: Squares = [
    [-6, -4, -2, -2, -2, -2, -4, -6],
    [-4, -2, -1, -1, -1, -1, -2, -4],
    [-2, -1, 2, 2, 2, 2, -1, -2],
    [-2, -1, 2, 4, 4, 2, -1, -2],
    [-2, -1, 2, 4, 4, 2, -1, -2],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-4, -2, -1, -1, -1, -1, -2, -4],
    [-6, -4, -2, -2, -2, -2, -4, -6],
];

const KING: Squares = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 4, 4, 0, 0, 0],
    [0, 0, 0, 4, 4, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, -2, -2, 0, 0, 0],
    [0, 0, 4, -2, -2, 0, 4, 0],
];
