//! Tables of solved games: what perfect play makes of each position of a set, a byte each.
//!
//! [`Index`] numbers the positions, [`SolvedTable`] holds their values, and a file is a table written
//! down. Nothing that a file says is believed before it agrees with the rules.

mod file;
mod index;

use std::ops::Range;

pub use file::TableError;
pub use index::{Block, Image, Index, IndexError};

use crate::rules::{Color, Move, MoveList, Position, Value};
use crate::variant::Variant;

/// The value of one number in a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry(pub u8);

impl Entry {
    /// The number is no position's.
    pub const NOBODY: Entry = Entry(0);
    /// The game has ended in a draw.
    pub const ENDED: Entry = Entry(1);
    /// Nobody can win, and the game goes on.
    pub const DRAW: Entry = Entry(2);
    /// The most plies until an end that an entry can say.
    pub const MOST_PLIES: u32 = 125;

    /// The entry that says so; `None` if there are more plies than it can say.
    pub fn of(value: Value) -> Option<Entry> {
        let so_many = |plies: u32| (plies <= Entry::MOST_PLIES).then_some(2 * plies as u8);
        Some(match value {
            Value::Draw => Entry::DRAW,
            Value::Loss(plies) => Entry(3 + so_many(plies)?),
            Value::Win(plies) => Entry(4 + so_many(plies)?),
        })
    }

    /// What it says; `None` if it is nobody's.
    pub fn value(self) -> Option<Value> {
        match self {
            Entry::NOBODY => None,
            Entry::ENDED | Entry::DRAW => Some(Value::Draw),
            Entry(lost) if lost % 2 == 1 => Some(Value::Loss(u32::from(lost - 3) / 2)),
            Entry(won) => Some(Value::Win(u32::from(won - 4) / 2)),
        }
    }
}

/// What perfect play makes of all positions of a set.
///
/// Counters and repetition do not enter: a draw by them is what play without progress comes to.
#[derive(Clone, Debug)]
pub struct SolvedTable {
    index: Index,
    entries: Vec<Entry>,
    scratch: Position,
}

/// How many positions with one side to move have which value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    entries: [u64; 256],
}

impl SolvedTable {
    /// The table with these entries, one for each number of `index`.
    ///
    /// # Panics
    /// If there are more or fewer.
    pub fn new(variant: &Variant, index: Index, entries: Vec<Entry>) -> SolvedTable {
        assert_eq!(entries.len() as u64, index.len());
        SolvedTable { index, entries, scratch: variant.start() }
    }

    /// The numbers of the positions.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// What perfect play makes of a position; `None` if it is not in the table.
    pub fn value(&self, position: &Position) -> Option<Value> {
        self.value_of(self.index.number(position)?)
    }

    /// What perfect play makes of the positions of a number; `None` if it is nobody's, or there is no
    /// such number.
    pub fn value_of(&self, number: u64) -> Option<Value> {
        self.entries.get(usize::try_from(number).ok()?)?.value()
    }

    /// The moves of a position that perfect play makes, and the positions after them: those that
    /// win soonest, draw, or lose last. `None` if some move leads out of the table.
    pub fn best(&self, position: &Position) -> Option<Vec<Move>> {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut next = position.clone();
        let mut ranked = Vec::with_capacity(legal.len());
        for m in legal {
            next.clone_from(position);
            next.play_unchecked(m);
            ranked.push((self.value(&next)?.before().rank(), m));
        }
        let most = ranked.iter().map(|(rank, _)| *rank).max();
        Some(ranked.into_iter().filter(|(rank, _)| Some(*rank) == most).map(|(_, m)| m).collect())
    }

    /// The moves from a position that is won or lost until the end, as perfect play has them; none
    /// from any other position.
    pub fn decided_line(&self, position: &Position) -> Vec<Move> {
        let mut position = position.clone();
        let mut line = Vec::new();
        while let Some(Value::Win(left @ 1..) | Value::Loss(left @ 1..)) = self.value(&position) {
            let best = self.best(&position).and_then(|best| best.first().copied());
            let Some(m) = best.filter(|_| line.len() < Entry::MOST_PLIES as usize) else { break };
            position.play_unchecked(m);
            line.push(m);
            if self.value(&position).is_none_or(|after| after.length() != Some(left - 1)) {
                break;
            }
        }
        line
    }

    /// How the positions with each side to move are valued.
    pub fn counts(&self) -> [Counts; 2] {
        let mut counts = [Counts { entries: [0; 256] }, Counts { entries: [0; 256] }];
        for block in self.index.blocks() {
            let sides = match block.turn {
                None => 0..2,
                Some(Color::White) => 0..1,
                Some(Color::Black) => 1..2,
            };
            let range = block.numbers.start as usize..block.numbers.end as usize;
            for entry in &self.entries[range] {
                for side in sides.clone() {
                    counts[side].entries[usize::from(entry.0)] += block.images;
                }
            }
        }
        counts
    }

    /// Every position with its value, images too.
    pub fn positions(&self) -> impl Iterator<Item = (Position, Value)> + '_ {
        (0..self.index.len()).flat_map(|number| self.positions_of(number))
    }

    /// The positions that share a number, with their value; none if it is nobody's.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn positions_of(&self, number: u64) -> Vec<(Position, Value)> {
        let Some(value) = self.value_of(number) else { return Vec::new() };
        let position = |image| {
            let mut position = self.scratch.clone();
            self.index.set_up(number, image, &mut position);
            (position, value)
        };
        self.index.images_of(number).into_iter().map(position).collect()
    }

    /// Looks at `count` numbers, evenly spread, and works their values out by one move; gives the
    /// FEN of one that the table has otherwise.
    fn disagrees(&self, count: u64) -> Option<String> {
        let all = self.index.len();
        let step = (all / count.max(1)).max(1);
        let mut position = self.scratch.clone();
        (0..all).step_by(step as usize).find_map(|number| {
            let entry = self.entries[number as usize];
            let reachable = self.index.set_up(number, Image::default(), &mut position);
            let right = if reachable { self.worked_out(&position) } else { Some(Entry::NOBODY) };
            (right != Some(entry)).then(|| position.fen())
        })
    }

    /// The entry of a position by the entries of those after its moves.
    fn worked_out(&self, position: &Position) -> Option<Entry> {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if let Some(outcome) = position.outcome_given(&legal) {
            return match outcome.score(position.turn()) {
                -1 => Entry::of(Value::Loss(0)),
                0 => Some(Entry::ENDED),
                _ => Entry::of(Value::Win(0)),
            };
        }
        let mut next = position.clone();
        next.play_unchecked(*self.best(position)?.first()?);
        Entry::of(self.value(&next)?.before())
    }
}

impl Counts {
    fn over(&self, range: Range<usize>, wanted: impl Fn(Value) -> bool) -> u64 {
        let entries = self.entries[range.clone()].iter().zip(range);
        let fits = |&(_, entry): &(&u64, usize)| Entry(entry as u8).value().is_some_and(&wanted);
        entries.filter(fits).map(|(count, _)| count).sum()
    }

    /// How many positions have a value that is `wanted`.
    pub fn of(&self, wanted: impl Fn(Value) -> bool) -> u64 {
        self.over(0..256, wanted)
    }

    /// How many are drawn because the game has ended.
    pub fn ended_drawn(&self) -> u64 {
        self.entries[usize::from(Entry::ENDED.0)]
    }

    /// The plies of the longest win.
    pub fn longest_win(&self) -> Option<u32> {
        (0..=Entry::MOST_PLIES).rev().find(|&plies| self.of(|value| value == Value::Win(plies)) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_one_value_or_none() {
        assert_eq!(Entry::NOBODY.value(), None);
        for byte in 2..=u8::MAX {
            let value = Entry(byte).value();
            if value.is_some_and(|value| Entry::of(value).is_some()) {
                assert_eq!(value.and_then(Entry::of), Some(Entry(byte)));
            }
        }
        for plies in 0..=Entry::MOST_PLIES {
            for value in [Value::Win(plies), Value::Loss(plies)] {
                assert_eq!(Entry::of(value).and_then(Entry::value), Some(value));
            }
        }
        assert_eq!(Entry::of(Value::Win(Entry::MOST_PLIES + 1)), None);
    }
}
