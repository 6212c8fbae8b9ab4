//! The minimax player of the paper (section III.D): alpha-beta with a transposition table, over piece
//! values and piece-square tables.
//!
//! In bughouse it searches only the board on which it is to move: captured pieces leave that board,
//! and no one moves on the other ("the immediate response by the opponent on the same board"). Pieces
//! in the pocket can be dropped but have no value.
//!
//! The authors' program evaluates a mate at the end of a line as a level position; here it is scored
//! as a mate.

pub mod static_eval;

use std::collections::HashMap;

use menagerie::rules::{BoardId, Key, Move, MoveList, Outcome, Position, Reason, Side};

use static_eval::{evaluate, piece_value};

/// The alpha-beta player. Its transposition table is cleared before each move.
#[derive(Debug)]
pub struct Minimax {
    depth: u32,
    /// Whether the searched position is one of two boards, on which a player without a legal move
    /// waits for a piece.
    one_of_two_boards: bool,
    transpositions: HashMap<Key, Transposition>,
    /// Move lists that are not in use, kept so that they are not allocated again.
    spare_lists: Vec<MoveList>,
}

/// The result of a search in the transposition table.
#[derive(Clone, Copy, Debug)]
struct Transposition {
    depth: u32,
    value: i32,
    bound: Bound,
    best: Move,
}

/// The relation of a stored value to the exact one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bound {
    Exact,
    Lower,
    Upper,
}

impl Transposition {
    /// Whether the stored value settles a search with this window.
    fn is_cutoff(&self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.value >= beta,
            Bound::Upper => self.value <= alpha,
        }
    }
}

/// The score of a mate with no depth left. Each remaining ply adds 1, so that earlier mates score
/// higher.
pub const MATE_SCORE: i32 = 1_000_000;
/// Above all scores.
const INFINITE_SCORE: i32 = 2 * MATE_SCORE;

impl Minimax {
    /// Creates a player that searches `depth` plies after its own move. With 1 it sees the reply.
    pub fn new(depth: u32) -> Minimax {
        Minimax {
            depth,
            one_of_two_boards: false,
            transpositions: HashMap::new(),
            spare_lists: Vec::new(),
        }
    }

    /// Returns the best legal move, the first one if several are equal, or `None` if there is none.
    pub fn best_move(&mut self, position: &Position) -> Option<Move> {
        let (board, table) = self.reset(position);
        let mut moves = MoveList::new();
        board.legal_moves(&mut moves);
        order_moves(&board, None, &mut moves);
        let side = board.turn();
        let mut best = None;
        let mut highest = -INFINITE_SCORE;
        for m in moves {
            let mut next = board.clone();
            next.play_unchecked(m);
            let value = self.search_for(side, &next, self.depth, highest, INFINITE_SCORE);
            if value > highest || best.is_none() {
                highest = value;
                best = Some(m);
            }
        }
        let best = best?;
        Some(if let Some(table) = table { best.on(table) } else { best })
    }

    /// Returns the value of a position for the side to move after `depth` plies, in centipawns. In
    /// bughouse it is the value of the board on which a move is to be made.
    pub fn value(&mut self, position: &Position, depth: u32) -> i32 {
        let (board, _) = self.reset(position);
        self.search(&board, depth, -INFINITE_SCORE, INFINITE_SCORE)
    }

    /// Prepares the search of `position`. Returns the board to search and, in bughouse, which of the
    /// two boards it is.
    fn reset(&mut self, position: &Position) -> (Position, Option<BoardId>) {
        self.transpositions.clear();
        let table = if position.board().team.may_move { BoardId::A } else { BoardId::B };
        let board = position.board_position(table);
        self.one_of_two_boards = board.is_some();
        match board {
            Some(board) => (board, Some(table)),
            None => (position.clone(), None),
        }
    }

    /// Returns the value of `position` for `side`, which need not be the side to move.
    fn search_for(
        &mut self,
        side: Side,
        position: &Position,
        depth: u32,
        alpha: i32,
        beta: i32,
    ) -> i32 {
        if position.turn() == side {
            self.search(position, depth, alpha, beta)
        } else {
            -self.search(position, depth, -beta, -alpha)
        }
    }

    /// Returns the value for the side to move: exact between `alpha` and `beta`, otherwise a bound.
    fn search(&mut self, position: &Position, depth: u32, alpha: i32, beta: i32) -> i32 {
        let key = position.key();
        let stored = if depth > 0 { self.transpositions.get(&key).copied() } else { None };
        // A value of another depth is not used, so that the table does not change the result.
        if let Some(stored) = stored
            && stored.depth == depth
            && stored.is_cutoff(alpha, beta)
        {
            return stored.value;
        }
        let mut moves = self.spare_lists.pop().unwrap_or_default();
        position.legal_moves(&mut moves);
        let value = match position.outcome_given(&moves) {
            Some(outcome) => self.outcome_value(position, outcome, depth),
            None if depth == 0 => evaluate(position),
            None => {
                order_moves(position, stored.map(|stored| stored.best), &mut moves);
                self.search_moves(position, &moves, key, depth, (alpha, beta))
            }
        };
        self.spare_lists.push(moves);
        value
    }

    /// Returns the value of the end of a game for the side to move, with `depth` plies left.
    fn outcome_value(&self, position: &Position, outcome: Outcome, depth: u32) -> i32 {
        match outcome.winner {
            Some(winner) if winner == position.turn() => MATE_SCORE + depth as i32,
            Some(_) => -MATE_SCORE - depth as i32,
            None if outcome.reason == Reason::Stalemate && self.one_of_two_boards => {
                evaluate(position)
            }
            None => 0,
        }
    }

    fn search_moves(
        &mut self,
        position: &Position,
        moves: &[Move],
        key: Key,
        depth: u32,
        (alpha, beta): (i32, i32),
    ) -> i32 {
        let side = position.turn();
        let mut value = -INFINITE_SCORE;
        let mut best = moves[0];
        let mut next = position.clone();
        for &m in moves {
            next.clone_from(position);
            next.play_unchecked(m);
            let move_value = self.search_for(side, &next, depth - 1, alpha.max(value), beta);
            if move_value > value {
                value = move_value;
                best = m;
            }
            if value >= beta {
                break;
            }
        }
        let bound = if value >= beta {
            Bound::Lower
        } else if value <= alpha {
            Bound::Upper
        } else {
            Bound::Exact
        };
        self.transpositions.insert(key, Transposition { depth, value, bound, best });
        value
    }
}

/// Sorts `first` to the front, then captures by most valuable victim and least valuable attacker.
/// Other moves keep their order.
fn order_moves(position: &Position, first: Option<Move>, moves: &mut MoveList) {
    moves.sort_by_cached_key(
        |&m| {
            if Some(m) == first { i32::MIN } else { capture_order(position, m) }
        },
    );
}

/// The sort key of a move: negative for captures, 0 for other moves.
fn capture_order(position: &Position, m: Move) -> i32 {
    let Move::Step { from, to, .. } = m else { return 0 };
    let board = position.board().pieces;
    match (board.role_at(from), board.role_at(to)) {
        (Some(attacker), Some(victim)) => piece_value(attacker) - 16 * piece_value(victim),
        _ => 0,
    }
}
