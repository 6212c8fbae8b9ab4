//! Extensions: checks, single moves, and moves without a good alternative (singular extensions).

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::score::{MATE_BOUND, Score};
use super::table::{Bound, Entry};
use super::task::{Kind, NodeTask};
use super::worker::{Shared, Worker};

/// The greatest depth at which checks are extended.
pub(super) const CHECK_DEPTH: i32 = 6;
/// The least depth of the search for alternatives to the table's move (singular extensions).
const SINGULAR_DEPTH: i32 = 7;
/// How many plies shallower than the node the table's entry may be for it.
const SINGULAR_ENTRY_DEPTH: i32 = 3;
/// By how much all others must be worse, for each two plies of depth.
const SINGULAR_MARGIN: Score = 5;

/// The result of a search for alternatives.
pub(super) enum Singular {
    /// The table's move is searched this number of plies more.
    Extension(i32),
    /// The node has at least this score, without the table's move.
    Refuted(Score),
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns `true` if a line is still short enough for extensions.
    pub(super) fn may_extend(&self, ply: usize) -> bool {
        (ply as i32) < 2 * self.root_depth
    }

    /// Asks whether all other moves are worse than the table's by a margin; then that one is extended.
    pub(super) fn singular(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        candidate: Candidate,
        entry: Entry,
        score: Score,
    ) -> Singular {
        let NodeTask { ply, depth, beta, .. } = task;
        let applies = depth >= SINGULAR_DEPTH
            && entry.bound != Bound::Upper
            && entry.depth >= depth - SINGULAR_ENTRY_DEPTH
            && score.abs() < MATE_BOUND;
        if !applies {
            return Singular::Extension(0);
        }
        let target = score - SINGULAR_MARGIN * depth / 2;
        self.frames[ply].excluded = Some(candidate.packed);
        let others = self.node(
            shared,
            NodeTask {
                depth: (depth - 1) / 2,
                alpha: target - 1,
                beta: target,
                kind: if task.kind == Kind::Principal { Kind::Cut } else { task.kind },
                ..task
            },
        );
        self.frames[ply].excluded = None;
        if others < target {
            Singular::Extension(1)
        } else if target >= beta {
            // Several moves refute the one before.
            Singular::Refuted(target)
        } else {
            Singular::Extension(-i32::from(score >= beta))
        }
    }
}
