//! Inner nodes of the search.

use super::evaluation::StaticEvaluator;
use super::score::{MATE, Score};
use super::table::Entry;
use super::task::{Kind, NodeFacts, NodeTask};
use super::worker::{MAX_PLY, Shared, Worker};
use crate::rules::{Key, PackedMove};

/// The least depth at which a node without a move of the table is searched a ply less.
const NO_TABLE_MOVE_DEPTH: i32 = 4;

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the score of the position at a node, or a bound outside its window. If the search is stopped the
    /// result means nothing.
    pub(super) fn node(&mut self, shared: &Shared<'_>, mut task: NodeTask) -> Score {
        let NodeTask { ply, kind, .. } = task;
        if kind == Kind::Principal {
            self.frames[ply].line.clear();
        }
        if task.depth <= 0 {
            return self.quiescence(shared, ply, 0, task.alpha, task.beta);
        }
        if self.is_over(shared) {
            return 0;
        }
        if let Some(score) = self.known_score(shared, ply) {
            return score;
        }
        // No line is better than a mate that is nearer to the root.
        task.alpha = task.alpha.max(-MATE + ply as Score);
        task.beta = task.beta.min(MATE - ply as Score - 1);
        if task.alpha >= task.beta {
            return task.alpha;
        }
        let excluded = self.frames[ply].excluded;
        let key = keyed(self.frames[ply].key, excluded);
        let found = self.probe(shared, key, ply);
        if let Some((entry, score)) = found
            && kind != Kind::Principal
            && entry.depth >= task.depth
            && entry.decides(score, task.alpha, task.beta)
        {
            return score;
        }
        let in_check = self.in_check(ply);
        // A node that may stand pat is pruned before its moves are generated.
        let may_stand_pat = !in_check && self.frames[ply].position.may_stand_pat();
        if !may_stand_pat && let Some(score) = self.generate(ply) {
            return score;
        }
        if ply >= MAX_PLY {
            return self.evaluate(ply);
        }
        let mut facts = self.node_facts(task, found, in_check, may_stand_pat);
        if facts.is_quiet() && excluded.is_none() {
            self.learn_from_evaluation(ply);
        }
        self.frames[ply + 1].excluded = None;
        if excluded.is_none()
            && let Some(score) = self.prune(shared, task, facts, guess(facts, found))
        {
            return score;
        }
        if self.stopped {
            return 0;
        }
        if may_stand_pat {
            if let Some(score) = self.generate(ply) {
                return score;
            }
            facts.forced = self.has_only_tactical(ply);
            facts.single = self.frames[ply].legal.len() == 1;
        }
        let has_table_move = found.is_some_and(|(entry, _)| entry.best.is_some());
        if task.depth >= NO_TABLE_MOVE_DEPTH && !has_table_move && kind != Kind::All {
            task.depth -= 1;
        }
        self.search_moves(shared, task, facts, key, found)
    }

    /// Evaluates a node, and returns what is known of it. The moves of one that may stand pat are not generated yet.
    #[inline]
    fn node_facts(
        &mut self,
        task: NodeTask,
        found: Option<(Entry, Score)>,
        in_check: bool,
        may_stand_pat: bool,
    ) -> NodeFacts {
        let NodeTask { ply, kind, .. } = task;
        let forced = !may_stand_pat && self.has_only_tactical(ply);
        let is_quiet = !in_check && !forced;
        let static_eval = match found {
            Some((entry, _)) => entry.eval,
            None if is_quiet => self.evaluate(ply),
            None => 0,
        };
        let eval_before = self.eval_before(ply);
        let eval =
            if is_quiet { self.corrected(ply, static_eval) } else { eval_before.unwrap_or(0) };
        self.frames[ply].eval = eval;
        self.frames[ply].is_evaluated = is_quiet;
        NodeFacts {
            static_eval,
            eval,
            in_check,
            improving: eval_before.is_some_and(|before| eval > before),
            forced,
            single: !may_stand_pat && self.frames[ply].legal.len() == 1,
            was_principal: kind == Kind::Principal
                || found.is_some_and(|(entry, _)| entry.was_principal),
        }
    }

    /// Searches the position after the move that was made at `task.ply`, to the depth of `task`, and returns its score for
    /// the side that made it, whose window `task` has. `kind` is what is expected of it as a position of the opponent;
    /// one in which the same side completes its turn is expected to confirm its move where an opponent would not refute it.
    pub(super) fn successor(&mut self, shared: &Shared<'_>, task: NodeTask, kind: Kind) -> Score {
        let NodeTask { ply, depth, alpha, beta, .. } = task;
        if self.continues(ply) {
            let kind = if kind == Kind::Principal { kind } else { kind.next() };
            return self.node(shared, NodeTask { ply: ply + 1, depth, alpha, beta, kind });
        }
        let (alpha, beta) = (-beta, -alpha);
        -self.node(shared, NodeTask { ply: ply + 1, depth, alpha, beta, kind })
    }

    /// Returns `true` if all legal moves at `ply` are tactical.
    fn has_only_tactical(&self, ply: usize) -> bool {
        self.frames[ply].legal.iter().all(|&m| self.candidate(ply, m).is_tactical)
    }
}

/// Returns the evaluation of a node, or the score of the table if its bound makes it a better one.
fn guess(facts: NodeFacts, found: Option<(Entry, Score)>) -> Score {
    match found {
        Some((entry, score)) if entry.improves(score, facts.eval) => score,
        _ => facts.eval,
    }
}

/// Returns the key of a position, or of its alternatives to a move.
fn keyed(key: Key, excluded: Option<PackedMove>) -> Key {
    excluded.map_or(key, |m| Key(key.0 ^ (u64::from(m.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}
