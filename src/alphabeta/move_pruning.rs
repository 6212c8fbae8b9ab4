//! Pruning of moves: late quiet moves, and moves that lose an exchange.

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::ordering::piece_value;
use super::reduction::{PLY, reduction};
use super::score::{MATE_BOUND, Score};
use super::task::{Kind, NodeFacts, NodeTask};
use super::worker::Worker;

/// Moves of a principal variation that are never left out.
const KEPT_MOVES: usize = 4;
/// The greatest depth at which late quiet moves are left out.
const LATE_MOVE_DEPTH: i32 = 6;
/// The number of quiet moves after which they are left out: this and the square of the depth, divided by the first
/// divisor where the evaluation has improved, else by the second.
const LATE_MOVE_COUNT: i32 = 12;
const LATE_MOVE_DIVISORS: (i32, i32) = (3, 6);
/// The greatest reduced depth of futility pruning, its margin, and that for each ply of depth.
const FUTILITY: (i32, Score, Score) = (5, 76, 68);
/// What a quiet move may gain beyond that where checks are counted.
const COUNTED_CHECK: Score = 120;
/// The greatest depth at which quiet moves of bad history are left out, and how bad, for each ply of depth.
const HISTORY_PRUNING: (i32, i32) = (4, -3200);
/// The greatest depth at which moves that lose an exchange are left out, and what they may lose for each ply of
/// depth: tactical moves, others.
const LOSING_EXCHANGES: (i32, i32, i32) = (6, 100, 70);

/// Whether a move is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skip {
    /// It is searched.
    No,
    /// It is left out unless it gives check or compels a capture, which is known once it is made.
    UnlessForcing,
    /// It is left out.
    Yes,
}

/// The moves of a node that come before one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier {
    /// Their number.
    pub(super) count: usize,
    /// The number of quiet ones that were searched.
    pub(super) quiet_count: usize,
    /// The best score.
    pub(super) best: Score,
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns whether a move is left out. `task` has the alpha of the moves before it.
    #[inline]
    pub(super) fn skip(
        &self,
        task: NodeTask,
        facts: NodeFacts,
        candidate: Candidate,
        earlier: Earlier,
    ) -> Skip {
        let may_skip = facts.is_quiet()
            && earlier.best > -MATE_BOUND
            && (task.kind != Kind::Principal || earlier.count >= KEPT_MOVES);
        if !may_skip {
            return Skip::No;
        }
        let is_late = !candidate.is_tactical && self.is_late(task, facts, candidate, earlier);
        let position = &self.frames[task.ply].position;
        // Most late moves surely force nothing, which is known without making them.
        if is_late
            && !position.may_give_check(candidate.m)
            && !position.may_compel_capture(candidate.m)
        {
            return Skip::Yes;
        }
        if self.loses_exchange(task, candidate) {
            Skip::Yes
        } else if is_late {
            Skip::UnlessForcing
        } else {
            Skip::No
        }
    }

    /// Returns `true` if a quiet move need not be searched by its number, the evaluation or its history.
    #[inline]
    fn is_late(
        &self,
        task: NodeTask,
        facts: NodeFacts,
        candidate: Candidate,
        earlier: Earlier,
    ) -> bool {
        let gain = if self.counts_checks { COUNTED_CHECK } else { 0 };
        skips_by_count(task, facts, earlier.quiet_count)
            || skips_by_score(task, facts, task.alpha - gain, earlier.count)
            || skips_by_history(task.depth, self.history_of(task.ply, candidate))
    }

    /// Returns `true` if a move need not be searched because it loses an exchange.
    #[inline]
    fn loses_exchange(&self, task: NodeTask, candidate: Candidate) -> bool {
        let position = &self.frames[task.ply].position;
        let (max_depth, margin, quiet_margin) = LOSING_EXCHANGES;
        let least = -task.depth * if candidate.is_tactical { margin } else { quiet_margin };
        task.depth <= max_depth
            && !(self.counts_checks && position.may_give_check(candidate.m))
            && !position.exchange_wins(candidate.m, least, piece_value)
    }
}

/// Returns `true` if a quiet move need not be searched because many were.
#[inline]
fn skips_by_count(task: NodeTask, facts: NodeFacts, quiet_count: usize) -> bool {
    let depth = task.depth;
    let (improving, worse) = LATE_MOVE_DIVISORS;
    let divisor = if facts.improving { improving } else { worse };
    let many = (LATE_MOVE_COUNT + depth * depth) / divisor;
    depth <= LATE_MOVE_DEPTH && quiet_count as i32 > many
}

/// Returns `true` if a quiet move need not be searched because it can hardly reach alpha.
#[inline]
fn skips_by_score(task: NodeTask, facts: NodeFacts, alpha: Score, nth: usize) -> bool {
    let (max_depth, margin, margin_per_ply) = FUTILITY;
    let reduced = (task.depth - reduction(task.depth, nth) / PLY).max(0);
    reduced <= max_depth && facts.eval + margin + margin_per_ply * reduced <= alpha
}

/// Returns `true` if a quiet move need not be searched because it did badly elsewhere.
#[inline]
fn skips_by_history(depth: i32, history: i32) -> bool {
    let (max_depth, least) = HISTORY_PRUNING;
    depth <= max_depth && history < least * depth
}
