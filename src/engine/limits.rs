//! The limits of a search.

use std::time::Duration;

use crate::rules::{MAX_SIDES, Move, PerSide, Side};
use crate::search::Clock;

/// The limits of a search. Without any, it continues until it is stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The players' clocks, as far as they are known. With two boards, those at the first.
    pub clocks: PerSide<Option<Clock>>,
    /// White's and Black's clocks at the second of two boards.
    pub second_clocks: PerSide<Option<Clock>>,
    /// The time for this turn.
    pub time: Option<Duration>,
    /// The number of new visits to the root.
    pub nodes: Option<u64>,
    /// The depth to reach. Depth counts new visits on a logarithmic scale, see `engine/depth.rs`.
    pub depth: Option<u64>,
    /// A win within this number of turns of the side to move.
    pub mate: Option<u64>,
    /// Whether the best move is not printed until the search is stopped.
    pub infinite: bool,
    /// Whether the opponent is to move. Clocks count, and the best move may be printed, after it has played
    /// the expected move.
    pub ponder: bool,
    /// The first plies to choose from; all if empty.
    pub moves: Vec<Move>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            clocks: PerSide::all(None),
            second_clocks: PerSide::all(None),
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
    /// Returns `true` if a limit can end a search for `mover` that is not pondering.
    pub(super) fn can_end(&self, mover: Side) -> bool {
        let is_timed = self.time.is_some() || self.clocks[mover].is_some();
        !self.infinite && (is_timed || self.nodes.or(self.depth).or(self.mate).is_some())
    }

    /// Limits the number of visits to at most `nodes`.
    pub(super) fn limit_nodes(&mut self, nodes: u64) {
        self.nodes = Some(self.nodes.map_or(nodes, |limit| limit.min(nodes)));
    }

    /// Gives `mover`, if its clock is not known, the shortest clock that is.
    pub(super) fn assume_clock(&mut self, mover: Side) {
        let known = Side::all(MAX_SIDES).filter_map(|side| self.clocks[side]);
        let shortest = known.min_by_key(|clock| clock.remaining);
        self.clocks[mover] = self.clocks[mover].or(shortest);
    }

    /// Removes the first plies that are not among `best`, unless none would be left.
    pub(super) fn narrow(&mut self, best: &[Move]) {
        if self.moves.is_empty() {
            self.moves = best.to_vec();
        } else if self.moves.iter().any(|m| best.contains(m)) {
            self.moves.retain(|m| best.contains(m));
        }
    }
}
