//! Tablebases of solved games: the value of each position of a set, one byte a position.
//!
//! [`Index`] numbers the positions, and [`SolvedTable`] holds their values. A table that is read from a file
//! is checked against the rules on a sample.

mod file;
mod index;

pub use file::TableError;
pub use index::{Image, Index, IndexBlock, IndexError};

use crate::rules::{Color, Move, MoveList, Position, Value};
use crate::variant::Variant;

/// The value of an index number in a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableEntry(pub u8);

impl TableEntry {
    /// The number has no legal position.
    pub const NONE: TableEntry = TableEntry(0);
    /// The game has ended in a draw.
    pub const ENDED: TableEntry = TableEntry(1);
    /// The game is drawn with best play, and continues.
    pub const DRAW: TableEntry = TableEntry(2);
    /// The greatest number of plies to the end that an entry can hold.
    pub const MOST_PLIES: u32 = 125;

    /// Returns the entry of a value, or `None` if it takes more than [`TableEntry::MOST_PLIES`] plies.
    pub fn of(value: Value) -> Option<TableEntry> {
        match value {
            Value::Draw => Some(TableEntry::DRAW),
            Value::Loss(plies) | Value::Win(plies) if plies > TableEntry::MOST_PLIES => None,
            Value::Loss(plies) => Some(TableEntry(3 + 2 * plies as u8)),
            Value::Win(plies) => Some(TableEntry(4 + 2 * plies as u8)),
        }
    }

    /// Returns the value, or `None` for [`TableEntry::NONE`].
    pub fn value(self) -> Option<Value> {
        match self {
            TableEntry::NONE => None,
            TableEntry::ENDED | TableEntry::DRAW => Some(Value::Draw),
            TableEntry(lost) if lost % 2 == 1 => Some(Value::Loss(u32::from(lost - 3) / 2)),
            TableEntry(won) => Some(Value::Win(u32::from(won - 4) / 2)),
        }
    }
}

/// The values of all positions of a set under perfect play.
///
/// Move counters and repetition are not considered, because play without progress is a draw anyway.
#[derive(Clone, Debug)]
pub struct SolvedTable {
    index: Index,
    entries: Vec<TableEntry>,
    scratch: Position,
}

/// The number of positions with one side to move by value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    entries: [u64; 256],
}

impl SolvedTable {
    /// Returns the table with these entries, one for each number of `index`.
    ///
    /// # Panics
    /// If the number of entries is another one.
    pub fn new(variant: &Variant, index: Index, entries: Vec<TableEntry>) -> SolvedTable {
        assert_eq!(entries.len() as u64, index.len());
        SolvedTable { index, entries, scratch: variant.start() }
    }

    /// Returns the index of the positions.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the value of a position, or `None` if it is not in the table.
    pub fn value(&self, position: &Position) -> Option<Value> {
        self.value_of(self.index.number(position)?)
    }

    /// Returns the value of the positions with a number, or `None` if there are none.
    pub fn value_of(&self, number: u64) -> Option<Value> {
        self.entries.get(usize::try_from(number).ok()?)?.value()
    }

    /// Returns the best moves of a position: those that win soonest, draw, or lose last. `None` if a move
    /// leads out of the table.
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

    /// Returns the moves of perfect play from a won or lost position to the end of the game. Empty for other
    /// positions.
    pub fn decided_line(&self, position: &Position) -> Vec<Move> {
        let mut position = position.clone();
        let mut line = Vec::new();
        while let Some(Value::Win(left @ 1..) | Value::Loss(left @ 1..)) = self.value(&position) {
            if line.len() >= TableEntry::MOST_PLIES as usize {
                break;
            }
            let best = self.best(&position).and_then(|best| best.first().copied());
            let Some(m) = best else { break };
            position.play_unchecked(m);
            line.push(m);
            if self.value(&position).is_none_or(|after| after.length() != Some(left - 1)) {
                break;
            }
        }
        line
    }

    /// Returns the number of positions by value, for each side to move.
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

    /// Returns every position with its value, images included.
    pub fn positions(&self) -> impl Iterator<Item = (Position, Value)> + '_ {
        (0..self.index.len()).flat_map(|number| self.positions_of(number))
    }

    /// Returns the positions that share a number, with their value. Empty if the number has no legal
    /// position.
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

    /// Compares the entries of about `count` numbers, evenly spread, with those after their moves. Returns
    /// the FEN of a position with a wrong entry.
    fn find_wrong_entry(&self, count: u64) -> Option<String> {
        let all = self.index.len();
        let step = (all / count.max(1)).max(1);
        let mut position = self.scratch.clone();
        (0..all).step_by(step as usize).find_map(|number| {
            let entry = self.entries[number as usize];
            let reachable = self.index.set_up(number, Image::default(), &mut position);
            let right = if reachable { self.recompute(&position) } else { Some(TableEntry::NONE) };
            if right == Some(entry) { None } else { Some(position.fen()) }
        })
    }

    /// Returns the entry of a position by the entries after its moves.
    fn recompute(&self, position: &Position) -> Option<TableEntry> {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if let Some(outcome) = position.outcome_given(&legal) {
            return match outcome.score(position.turn()) {
                -1 => TableEntry::of(Value::Loss(0)),
                0 => Some(TableEntry::ENDED),
                _ => TableEntry::of(Value::Win(0)),
            };
        }
        let mut next = position.clone();
        next.play_unchecked(*self.best(position)?.first()?);
        TableEntry::of(self.value(&next)?.before())
    }
}

impl Counts {
    /// Returns the number of positions with a value for which `predicate` is true.
    pub fn of(&self, predicate: impl Fn(Value) -> bool) -> u64 {
        let entries = (0..=u8::MAX).zip(&self.entries);
        entries
            .filter(|&(entry, _)| TableEntry(entry).value().is_some_and(&predicate))
            .map(|(_, count)| count)
            .sum()
    }

    /// Returns the number of positions in which the game has ended in a draw.
    pub fn ended_drawn(&self) -> u64 {
        self.entries[usize::from(TableEntry::ENDED.0)]
    }

    /// Returns the number of plies of the longest win.
    pub fn longest_win(&self) -> Option<u32> {
        (0..=TableEntry::MOST_PLIES)
            .rev()
            .find(|&plies| self.of(|value| value == Value::Win(plies)) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_bijective() {
        assert_eq!(TableEntry::NONE.value(), None);
        for byte in 2..=u8::MAX {
            let value = TableEntry(byte).value();
            if value.is_some_and(|value| TableEntry::of(value).is_some()) {
                assert_eq!(value.and_then(TableEntry::of), Some(TableEntry(byte)));
            }
        }
        for plies in 0..=TableEntry::MOST_PLIES {
            for value in [Value::Win(plies), Value::Loss(plies)] {
                assert_eq!(TableEntry::of(value).and_then(TableEntry::value), Some(value));
            }
        }
        assert_eq!(TableEntry::of(Value::Win(TableEntry::MOST_PLIES + 1)), None);
    }
}
