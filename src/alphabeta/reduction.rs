//! Reductions: late moves are searched less deep at first.

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::score::Score;
use super::task::{Kind, NodeTask};
use super::worker::{Shared, Worker};

/// A ply, in the units of reductions.
pub(super) const PLY: i32 = 1024;
/// The least depth of late move reductions.
const REDUCTION_DEPTH: i32 = 3;
/// Moves that are searched in full before others are reduced.
const FULL_MOVES: usize = 2;
/// The least reduction of late moves, and what the product of the logarithms of depth and number adds, in 1,024ths of
/// a ply.
const REDUCTION: (i32, i32) = (1035, 563);
/// The reduction of tactical moves is this part of that of others, of 1,024.
const TACTICAL_PART: i32 = 593;
/// Further reductions, in 1,024ths of a ply: at nodes that a move is expected to refute, and at nodes that are not better
/// than two plies before.
const CUT_REDUCTION: i32 = 592;
const WORSE_REDUCTION: i32 = 1318;
/// A history of this much is worth a ply of reductions, up to a number of plies.
const HISTORY_PER_PLY: i32 = 4800;
const MAX_HISTORY_PLIES: i32 = 2;
/// The reduction is smaller by this at nodes that are or were on a principal variation.
const PRINCIPAL_REDUCTION: i32 = 1024;

/// Natural logarithms of 0 (as 0) to 63, times 1,024.
const LOGARITHMS: [i32; 64] = logarithms();

const fn logarithms() -> [i32; 64] {
    let mut logarithms = [0; 64];
    let mut sum = 0.0;
    let mut number = 2;
    while number < 64 {
        // ln n = ln (n - 1) + 2 artanh (1 / (2 n - 1)), of which three terms of the series are enough.
        let step = 1.0 / (2 * number - 1) as f64;
        let cube = step * step * step;
        sum += 2.0 * (step + cube / 3.0 + cube * step * step / 5.0);
        logarithms[number] = (sum * 1024.0 + 0.5) as i32;
        number += 1;
    }
    logarithms
}

/// Returns by how much less late moves are searched, by depth and number of the move, in 1,024ths of a ply.
#[inline]
pub(super) fn reduction(depth: i32, nth: usize) -> i32 {
    let log = |number: usize| LOGARITHMS[number.min(LOGARITHMS.len() - 1)];
    let product = log(depth.max(0) as usize) * log(nth) / 1024;
    REDUCTION.0 + product * REDUCTION.1 / 1024
}

/// Returns `true` if the move number `nth` of a node of this depth may be reduced.
#[inline]
pub(super) fn may_reduce(depth: i32, nth: usize) -> bool {
    depth >= REDUCTION_DEPTH && nth >= FULL_MOVES
}

/// A move that comes late in its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) depth: i32,
    /// The number of the move.
    pub(super) nth: usize,
    pub(super) kind: Kind,
    /// The move gives or answers a check, or compels a capture.
    pub(super) is_forcing: bool,
    /// The node is on a principal variation, or was on one before.
    pub(super) was_principal: bool,
}

/// Returns the plies by which a late move is searched less at first.
#[inline]
pub(super) fn late_reduction(
    late: Late,
    candidate: Candidate,
    history: i32,
    by_policy: i32,
    improving: bool,
) -> i32 {
    let by_number = reduction(late.depth, late.nth);
    let by_move = if candidate.is_tactical {
        by_number * TACTICAL_PART / 1024
    } else {
        let max = MAX_HISTORY_PLIES * PLY;
        by_number - (history * PLY / HISTORY_PER_PLY).clamp(-max, max)
    };
    let by_kind = match late.kind {
        Kind::Principal => -PLY,
        Kind::Cut => CUT_REDUCTION,
        Kind::All => 0,
    };
    let by_line = if late.was_principal { -PRINCIPAL_REDUCTION } else { 0 };
    let by_node = by_kind + by_line + if improving { 0 } else { WORSE_REDUCTION };
    let by_plies = by_policy - i32::from(late.is_forcing);
    (by_move + by_node + by_plies * PLY).max(0) / PLY
}

impl<E: StaticEvaluator> Worker<E> {
    /// Searches the position after a move that was made at `task.ply`, to the depth of `task`, and returns its score for
    /// the side that made it. `task` has the window and the kind of the node of the move.
    ///
    /// The search is first a reduced one if there is a `reduction` in plies, then one of a null window, then one of the whole
    /// window, as long as the score is above alpha. The first move of a principal variation has the whole window at once.
    #[inline]
    pub(super) fn search_reduced(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        reduction: Option<i32>,
        is_first: bool,
    ) -> Score {
        let NodeTask { depth, alpha, kind, .. } = task;
        let is_principal = kind == Kind::Principal;
        let null_window = NodeTask { beta: alpha + 1, ..task };
        let mut score = alpha + 1;
        if let Some(plies) = reduction {
            let reduced = (depth - plies).max(1).min(depth);
            let window = NodeTask { depth: reduced, ..null_window };
            score = self.successor(shared, window, Kind::Cut);
            if score > alpha && reduced < depth {
                score = self.successor(shared, null_window, kind.next());
            }
        } else if !is_principal || !is_first {
            score = self.successor(shared, null_window, kind.next());
        }
        if is_principal && (is_first || score > alpha) {
            score = self.successor(shared, task, Kind::Principal);
        }
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_grow_with_depth_and_number() {
        for depth in 1..64 {
            for nth in 1..64 {
                let [least, factor] = [REDUCTION.0, REDUCTION.1].map(|x| f64::from(x) / 1024.0);
                let exact = least + f64::from(depth).ln() * (nth as f64).ln() * factor;
                let found = f64::from(reduction(depth, nth)) / 1024.0;
                assert!((found - exact).abs() < 0.01, "{depth} {nth} {found} {exact}");
            }
        }
        assert_eq!(reduction(200, 500), reduction(63, 63));
    }
}
