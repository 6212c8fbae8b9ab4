//! What a search remembers of the boards it has been to.

use super::imagined::{DECIDED, Imagined};
use crate::rules::blind::Step;

/// Boards that are remembered, a power of two. A newer one takes the place of an older.
const ENTRIES: usize = 1 << 15;

/// How a value that was found relates to the true one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Exact,
    AtLeast,
    AtMost,
}

/// What was found of a board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    key: u64,
    value: i16,
    /// From and to of the best step, or of one that was enough.
    best: Option<(u8, u8)>,
    /// Plies that it was searched.
    pub(super) depth: u8,
    pub(super) kind: Kind,
}

impl Entry {
    /// The value, as it is `ply` plies after the root.
    pub(super) fn value(&self, ply: usize) -> i32 {
        let value = i32::from(self.value);
        // How soon a king is taken counts from the root.
        if value.abs() >= DECIDED { value - value.signum() * ply as i32 } else { value }
    }

    /// Whether that step was the best.
    pub(super) fn prefers(&self, step: &Step) -> bool {
        self.best == Some(ends(step))
    }
}

fn ends(step: &Step) -> (u8, u8) {
    (u8::from(step.from), u8::from(step.to))
}

/// The memory of one search.
#[derive(Debug)]
pub(super) struct Transpositions {
    entries: Vec<Option<Entry>>,
}

impl Default for Transpositions {
    fn default() -> Transpositions {
        Transpositions { entries: vec![None; ENTRIES] }
    }
}

impl Transpositions {
    /// A board's name, which differs from others' nearly always.
    pub(super) fn key(board: &Imagined) -> u64 {
        let turn = u64::from(board.turn.is_black()).wrapping_neg();
        board.armies.white.hash() ^ board.armies.black.hash().rotate_left(29) ^ turn
    }

    pub(super) fn get(&self, key: u64) -> Option<&Entry> {
        self.entries[place(key)].as_ref().filter(|entry| entry.key == key)
    }

    /// Remembers what was found at a board `ply` plies after the root.
    pub(super) fn put(
        &mut self,
        key: u64,
        (value, kind): (i32, Kind),
        depth: u32,
        ply: usize,
        best: Option<&Step>,
    ) {
        let ply = ply as i32;
        let value = if value.abs() >= DECIDED { value + value.signum() * ply } else { value };
        let (value, depth) = (value as i16, depth.min(u32::from(u8::MAX)) as u8);
        let best = best.map(ends);
        self.entries[place(key)] = Some(Entry { key, value, best, depth, kind });
    }
}

fn place(key: u64) -> usize {
    key as usize % ENTRIES
}
