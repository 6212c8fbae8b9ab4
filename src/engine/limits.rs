//! The limits of a search.

use std::time::Duration;

use crate::rules::{MAX_SIDES, Move, PerSide, Side};
use crate::search::Clock;

/// The limits of a search. Without any, it continues until it is stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The clocks of the sides, as far as they are known. With two boards, those at the first, unless
    /// `Session::set_seat_clocks` gives all four.
    pub clocks: PerSide<Option<Clock>>,
    /// The time for this turn.
    pub time: Option<Duration>,
    /// The number of new visits to the root, or of nodes of alpha-beta.
    pub nodes: Option<u64>,
    /// The depth to reach. In Monte-Carlo tree search it counts new visits on a logarithmic scale, see
    /// `engine/limits.rs`.
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

    /// Limits the visits to those of the depth limit, for a search whose depth counts visits.
    pub(super) fn limit_visits_by_depth(&mut self) {
        if let Some(depth) = self.depth {
            self.limit_nodes(visits_of_depth(depth));
        }
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

// Depth is the number of visits on a logarithmic scale. UCI and XBoard limit searches by depth, and scripts and
// GUIs expect each depth to cost a few times the previous one. No property of a Monte-Carlo tree has this growth:
// the principal variation has 12 turns after 200 visits and 17 after 400,000, and the mean depth of all descents,
// which lc0 and Monty report, hardly grows at all where many moves are legal. So depth `d` is reached by the
// `BASE^(d-1)`-th visit of a search: depth 12 takes 15,217 visits and depth 20 takes 16,749,953, in every variant.

/// The factor from the visits of one depth to those of the next.
const BASE: f64 = 2.4;

/// Returns the depth that a search has reached with `visits` visits; 0 without any.
pub(super) fn depth_of_visits(visits: u64) -> usize {
    (0..).take_while(|&depth| visits_of_depth(depth + 1) <= visits).count()
}

/// Returns the number of visits with which a search has reached `depth`, at least 1.
pub(super) fn visits_of_depth(depth: u64) -> u64 {
    // The cast saturates.
    libm::pow(BASE, depth.saturating_sub(1) as f64).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_visits_agree() {
        assert_eq!([0, 1, 2, 3, 6].map(depth_of_visits), [0, 1, 1, 2, 3]);
        for depth in 1..40 {
            let visits = visits_of_depth(depth);
            assert_eq!(depth_of_visits(visits), depth as usize, "{visits}");
            assert_eq!(depth_of_visits(visits - 1), depth as usize - 1, "{visits}");
        }
        assert_eq!([0, 1].map(visits_of_depth), [1, 1]);
        assert_eq!([12, 20].map(visits_of_depth), [15_217, 16_749_953]);
        assert_eq!(visits_of_depth(u64::MAX), u64::MAX);
    }
}
