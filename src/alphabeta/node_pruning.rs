//! Pruning of nodes by their evaluation, before their moves are searched.

use super::evaluation::StaticEvaluator;
use super::reduction::PLY;
use super::score::{MATE_BOUND, Score};
use super::task::{Kind, NodeFacts, NodeTask};
use super::worker::{Shared, Worker};

/// The greatest depth of reverse futility pruning, and its margin for each ply of depth.
const REVERSE_FUTILITY: (i32, Score) = (7, 118);
/// The greatest depth of razoring, and its margin for each ply of depth.
const RAZORING: (i32, Score) = (3, 265);
/// The least depth of the null-move test.
const NULL_MOVE_DEPTH: i32 = 3;
/// By how much the evaluation may be below beta for the null-move test.
const NULL_MOVE_MARGIN: Score = 20;
/// By how much less a passed turn is searched, in 1,024ths of a ply: always, and for each ply of depth.
const NULL_MOVE_REDUCTION: (i32, i32) = (2890, 326);
/// The score above beta that is worth a ply more of it, up to a number of plies.
const NULL_MOVE_SCORE: Score = 112;
const MAX_NULL_MOVE_SCORE_PLIES: i32 = 3;

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the score of a node that need not be searched. `guess` is its evaluation, or the score of the table if
    /// that is better.
    pub(super) fn prune(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        facts: NodeFacts,
        guess: Score,
    ) -> Option<Score> {
        if task.kind == Kind::Principal || !facts.is_quiet() {
            return None;
        }
        if is_futile_for_opponent(task, facts, guess) {
            return Some(guess);
        }
        if let Some(score) = self.razor(shared, task, guess) {
            return Some(score);
        }
        self.null_move_score(shared, task, facts, guess)
    }

    /// Returns the score of a node that only captures could raise above alpha, if they do not.
    fn razor(&mut self, shared: &Shared<'_>, task: NodeTask, guess: Score) -> Option<Score> {
        let NodeTask { ply, depth, alpha, .. } = task;
        let (max_depth, margin) = RAZORING;
        if depth > max_depth || guess + margin * depth >= alpha {
            return None;
        }
        let score = self.quiescence(shared, ply, 0, alpha, alpha + 1);
        if score <= alpha || self.stopped { Some(score) } else { None }
    }

    /// Returns the score of a node that is at least beta even if the side to move passes its turn.
    fn null_move_score(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        facts: NodeFacts,
        guess: Score,
    ) -> Option<Score> {
        let NodeTask { ply, depth, beta, kind, .. } = task;
        let after_pass = ply > 0 && self.before(ply).is_none();
        let applies = depth >= NULL_MOVE_DEPTH
            && guess >= beta
            && facts.eval >= beta - NULL_MOVE_MARGIN
            && !after_pass
            && beta.abs() < MATE_BOUND
            && self.pass(ply);
        if !applies {
            return None;
        }
        let (always, per_ply) = NULL_MOVE_REDUCTION;
        let by_score = (guess - beta) * PLY / NULL_MOVE_SCORE;
        let by_score = by_score.min(MAX_NULL_MOVE_SCORE_PLIES * PLY);
        let reduced = depth - (always + depth * per_ply + by_score + PLY / 2) / PLY;
        let window = NodeTask { depth: reduced, alpha: beta - 1, beta, ..task };
        let score = self.successor(shared, window, kind.next());
        if score < beta || self.stopped {
            return None;
        }
        Some(if score > MATE_BOUND { beta } else { score })
    }
}

/// Returns `true` if the opponent can hardly bring the score below beta (reverse futility pruning).
fn is_futile_for_opponent(task: NodeTask, facts: NodeFacts, guess: Score) -> bool {
    let NodeTask { depth, beta, .. } = task;
    let (max_depth, margin) = REVERSE_FUTILITY;
    let margin = margin * (depth - i32::from(facts.improving));
    let is_decided = guess >= MATE_BOUND || beta <= -MATE_BOUND;
    depth <= max_depth && guess - margin >= beta && !is_decided
}
