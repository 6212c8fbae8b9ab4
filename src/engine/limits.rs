//! How far a search is to go.

use std::time::Duration;

use crate::rules::{MAX_SIDES, Move, PerSide, Side};
use crate::search::Clock;

/// What ends a search. With nothing set it goes on until it is stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The players' clocks, as far as they are known.
    pub clocks: PerSide<Option<Clock>>,
    /// Those at the second of two tables, White's and Black's; the others are at the first.
    pub second: PerSide<Option<Clock>>,
    /// The time for this turn.
    pub time: Option<Duration>,
    /// New visits to the root.
    pub nodes: Option<u64>,
    /// The depth to reach. Depth counts new visits on a logarithmic scale, see `engine/depth.rs`.
    pub depth: Option<u64>,
    /// A win within this number of turns of the side to move.
    pub mate: Option<u64>,
    /// The best turn is held back until the search is stopped.
    pub infinite: bool,
    /// The opponent is searcher: clocks begin to count, and the best turn may be told, once it has
    /// played as expected.
    pub ponder: bool,
    /// The first plies to choose from; all if empty.
    pub moves: Vec<Move>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            clocks: PerSide::all(None),
            second: PerSide::all(None),
            time: None,
            nodes: None,
            depth: None,
            mate: None,
            infinite: false,
            ponder: false,
            moves: Vec::new(),
        }
    }
}

impl Limits {
    /// Whether there is something to end a search for `mover`, once it is no longer pondering.
    pub(super) fn end(&self, mover: Side) -> bool {
        let timed = self.time.is_some() || self.clocks[mover].is_some();
        !self.infinite && (timed || self.nodes.or(self.depth).or(self.mate).is_some())
    }

    /// A mover of whose clock nothing was told has the shortest of those that were.
    pub(super) fn assume_clock(&mut self, mover: Side) {
        let told = Side::all(MAX_SIDES).filter_map(|side| self.clocks[side]);
        let shortest = told.min_by_key(|clock| clock.remaining);
        self.clocks[mover] = self.clocks[mover].or(shortest);
    }

    /// Leaves of the first plies to choose from only those that are among `best`, unless none is.
    pub(super) fn narrow(&mut self, best: &[Move]) {
        if self.moves.is_empty() {
            self.moves = best.to_vec();
        } else if self.moves.iter().any(|m| best.contains(m)) {
            self.moves.retain(|m| best.contains(m));
        }
    }
}
