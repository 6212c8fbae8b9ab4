//! Exact solution of games of few positions: every placing of the men, worked backwards from the
//! ends of the game. The oracle against which learning is measured.

use std::collections::HashMap;

use menagerie::rules::{Key, MoveList, Position};
use menagerie::variant::Variant;

use crate::starts;

/// What perfect play makes of a position, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// It wins in so many plies, an odd number.
    Win(u32),
    /// Nobody can win.
    Draw,
    /// It loses in so many plies, an even number; 0 if it is mated.
    Loss(u32),
}

/// All positions of a game of two sides with a given set of men, solved.
///
/// Counters and repetition do not enter: a draw by them is what play without progress comes to.
#[derive(Debug)]
pub struct Solution {
    positions: Vec<Position>,
    values: Vec<Value>,
    index: HashMap<Key, usize>,
}

/// Why a game cannot be solved here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnsolvableGame {
    /// The variant does not say of which men its positions are made.
    #[error("[{0}] has no selfPlayMen, so its positions cannot be counted")]
    NoMen(String),
    /// A move leads out of the set: a promotion, say, to a man that is not in it.
    #[error("a move from \"{fen}\" leads to a position that the men of selfPlayMen do not make")]
    Open {
        /// Where the move starts.
        fen: String,
    },
}

impl Solution {
    /// Solves the positions with at most the men of `selfPlayMen`, kings always among them.
    ///
    /// # Errors
    /// If the variant names no men, or its moves lead out of the positions that they make.
    pub fn of(variant: &Variant) -> Result<Solution, UnsolvableGame> {
        let men =
            variant.self_play_men().ok_or(UnsolvableGame::NoMen(variant.name().to_owned()))?;
        let positions = placings(variant, men);
        let index: HashMap<_, _> =
            positions.iter().enumerate().map(|(nth, position)| (position.key(), nth)).collect();
        let mut legal = MoveList::new();
        let mut graph = Vec::with_capacity(positions.len());
        for position in &positions {
            position.legal_moves(&mut legal);
            let after = |&m: &_| {
                let mut next = position.clone();
                next.play_unchecked(m);
                index.get(&next.key()).copied()
            };
            let next: Option<Vec<_>> = legal.iter().map(after).collect();
            graph.push(next.ok_or_else(|| UnsolvableGame::Open { fen: position.fen() })?);
        }
        let values = solve(&positions, &graph);
        Ok(Solution { positions, values, index })
    }

    /// All positions with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&Position, Value)> {
        self.positions.iter().zip(self.values.iter().copied())
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The value of a position; `None` if its men are not of the set.
    pub fn value(&self, position: &Position) -> Option<Value> {
        self.index.get(&position.key()).map(|&nth| self.values[nth])
    }
}

impl Value {
    /// 1 for a win of the side to move, 0 for a draw, -1 for a loss.
    pub fn score(self) -> i8 {
        match self {
            Value::Win(_) => 1,
            Value::Draw => 0,
            Value::Loss(_) => -1,
        }
    }

    /// The value of a position from which a move leads to a position of this value.
    pub fn before(self) -> Value {
        match self {
            Value::Win(plies) => Value::Loss(plies + 1),
            Value::Draw => Value::Draw,
            Value::Loss(plies) => Value::Win(plies + 1),
        }
    }
}

/// Every legal placing of a subset of `men`, the kings always among it, with either side to move.
fn placings(variant: &Variant, men: &str) -> Vec<Position> {
    let anatomy = variant.start().anatomy();
    let cells = anatomy.files * anatomy.ranks;
    let (kings, others): (Vec<char>, Vec<char>) =
        men.chars().partition(|man| man.eq_ignore_ascii_case(&'k'));
    let mut found = Vec::new();
    for subset in 0..1_u32 << others.len() {
        let chosen = others.iter().enumerate().filter(|(nth, _)| subset >> nth & 1 == 1);
        let men: Vec<char> = kings.iter().copied().chain(chosen.map(|(_, man)| *man)).collect();
        place(&men, cells, &mut Vec::new(), &mut |squares| {
            let board = starts::board(&men, squares, anatomy.files, anatomy.ranks);
            for side in ['w', 'b'] {
                let position = variant.position(&format!("{board} {side} - - 0 1"), false);
                found.extend(position.ok().filter(|position| !position.opponent_in_check()));
            }
        });
    }
    found
}

/// Calls `each` with every way of giving the men different squares.
fn place(men: &[char], cells: usize, squares: &mut Vec<usize>, each: &mut impl FnMut(&[usize])) {
    if squares.len() == men.len() {
        return each(squares);
    }
    for square in 0..cells {
        if !squares.contains(&square) {
            squares.push(square);
            place(men, cells, squares, each);
            squares.pop();
        }
    }
}

/// Works backwards: in round `n` all that is won or lost in `n` plies becomes known.
fn solve(positions: &[Position], graph: &[Vec<usize>]) -> Vec<Value> {
    let ended = |(position, next): (&Position, &Vec<usize>)| {
        let outcome = next.is_empty().then(|| position.outcome()).flatten()?;
        Some(match outcome.score(position.turn()) {
            -1 => Value::Loss(0),
            0 => Value::Draw,
            _ => Value::Win(0),
        })
    };
    let mut values: Vec<Option<Value>> = positions.iter().zip(graph).map(ended).collect();
    for plies in 1.. {
        let reach = |next: &Vec<usize>| {
            let after = || next.iter().map(|&nth| values[nth]);
            let loses = |value| matches!(value, Some(Value::Loss(at)) if at + 1 == plies);
            if after().any(loses) {
                Some(Value::Win(plies))
            } else if after().all(|value| matches!(value, Some(Value::Win(_)))) {
                Some(Value::Loss(plies))
            } else {
                None
            }
        };
        let open = graph.iter().enumerate().filter(|(nth, _)| values[*nth].is_none());
        let known: Vec<_> = open.filter_map(|(nth, next)| Some((nth, reach(next)?))).collect();
        if known.is_empty() {
            break;
        }
        known.into_iter().for_each(|(nth, value)| values[nth] = Some(value));
    }
    values.into_iter().map(|value| value.unwrap_or(Value::Draw)).collect()
}
