//! The search of the moves of a node.

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::extensions::{CHECK_DEPTH, Singular};
use super::history_updates::Tried;
use super::move_pruning::{Earlier, Skip};
use super::policy::{Policy, reduction_by_policy};
use super::reduction::{Late, late_reduction, may_reduce};
use super::score::{INFINITE, MATE_BOUND, Score};
use super::table::{Bound, Entry};
use super::task::{Kind, NodeFacts, NodeTask};
use super::worker::{Shared, Worker};
use crate::rules::{Key, Move, PackedMove};

/// What the searched moves of a node have given.
#[derive(Clone, Copy)]
struct NodeResult {
    score: Score,
    /// The best move, if one is above alpha.
    best: Option<PackedMove>,
    best_is_tactical: bool,
}

/// What a move does that was made.
#[derive(Clone, Copy)]
struct MadeMove {
    /// The number of the move in the order.
    nth: usize,
    /// Its index among the legal ones.
    index: usize,
    candidate: Candidate,
    gives_check: bool,
    /// It is quiet and compels a capture: it sacrifices a piece, or uncovers an attack.
    compels: bool,
}

impl<E: StaticEvaluator> Worker<E> {
    /// Searches the moves of a node, whose entry of the table is `found`, and stores the result.
    pub(super) fn search_moves(
        &mut self,
        shared: &Shared<'_>,
        mut task: NodeTask,
        facts: NodeFacts,
        key: Key,
        found: Option<(Entry, Score)>,
    ) -> Score {
        let NodeTask { ply, depth, alpha: first_alpha, beta, kind } = task;
        let excluded = self.frames[ply].excluded;
        let mut order = self.lazy_order(ply, found.and_then(|(entry, _)| entry.best));
        let mut tried = Tried::default();
        let mut result = NodeResult { score: -INFINITE, best: None, best_is_tactical: false };
        for nth in 0..self.frames[ply].legal.len() {
            let Some(index) = self.next_index(task, facts, &mut order, nth) else { break };
            let candidate = self.candidate(ply, self.frames[ply].legal[index]);
            if Some(candidate.packed) == excluded {
                continue;
            }
            let mut extension = 0;
            if let Some((entry, score)) = found
                && entry.best == Some(candidate.packed)
                && excluded.is_none()
                && self.may_extend(ply)
            {
                // It uses the frame as well, which is not ordered yet, and has the same moves after it.
                let singular = self.singular(shared, task, candidate, entry, score);
                match singular {
                    _ if self.stopped => break,
                    Singular::Extension(plies) => extension = plies,
                    Singular::Refuted(score) => return score,
                }
            }
            let quiet_count = tried.quiet.len();
            let earlier = Earlier { count: nth, quiet_count, best: result.score };
            let skip = self.skip(task, facts, candidate, earlier);
            if skip == Skip::Yes {
                continue;
            }
            self.make(shared, ply, candidate);
            let gives_check = self.in_check(ply + 1);
            let compels = !candidate.is_tactical && self.frames[ply + 1].position.must_capture();
            if skip == Skip::UnlessForcing && !gives_check && !compels {
                self.nodes -= 1;
                continue;
            }
            if extension == 0
                && self.may_extend(ply)
                && (facts.single || gives_check && depth <= CHECK_DEPTH)
            {
                extension = 1;
            }
            let made = MadeMove { nth, index, candidate, gives_check, compels };
            let reduction = self.reduction_of(task, facts, order.policy, made);
            let after = NodeTask { depth: depth - 1 + extension, ..task };
            let is_first = result.score == -INFINITE;
            let score = self.search_reduced(shared, after, reduction, is_first);
            if self.stopped {
                break;
            }
            if score > result.score {
                result.score = score;
                if score > task.alpha {
                    task.alpha = score;
                    result.best = Some(candidate.packed);
                    result.best_is_tactical = candidate.is_tactical;
                    if kind == Kind::Principal {
                        self.extend_line(ply, candidate.m);
                    }
                    if score >= beta {
                        self.learn_from_cutoff(ply, depth, candidate, &tried);
                        break;
                    }
                }
            }
            tried.push(candidate);
        }
        if self.stopped {
            return 0;
        }
        if result.score == -INFINITE {
            // The only move is left out.
            return first_alpha;
        }
        if excluded.is_none() {
            let task = NodeTask { alpha: first_alpha, ..task };
            self.store_result(shared, task, facts, key, result);
        }
        result.score
    }

    /// Returns the plies by which a move is searched less at first; `None` if it is not late.
    #[inline]
    fn reduction_of(
        &self,
        task: NodeTask,
        facts: NodeFacts,
        policy: Policy,
        made: MadeMove,
    ) -> Option<i32> {
        let NodeTask { ply, depth, kind, .. } = task;
        let MadeMove { nth, index, candidate, .. } = made;
        if !may_reduce(depth, nth) || facts.single {
            return None;
        }
        let late = Late {
            depth,
            nth,
            kind,
            is_forcing: made.gives_check || facts.in_check || made.compels,
            was_principal: facts.was_principal,
        };
        let history = self.history_of(ply, candidate);
        let probability = policy.probability(&self.frames[ply].logits, index);
        let by_policy = probability.map_or(0, reduction_by_policy);
        Some(late_reduction(late, candidate, history, by_policy, facts.improving))
    }

    /// Sets the principal variation at `ply` to a move and the variation after it.
    fn extend_line(&mut self, ply: usize, m: Move) {
        let (before, after) = self.frames.split_at_mut(ply + 1);
        let line = &mut before[ply].line;
        line.clear();
        line.push(m);
        line.extend_from_slice(&after[0].line);
    }

    /// Learns from the result of a node and stores it in the table.
    #[inline]
    fn store_result(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        facts: NodeFacts,
        key: Key,
        result: NodeResult,
    ) {
        let NodeTask { ply, depth, alpha, beta, .. } = task;
        let score = result.score;
        let bound = if score >= beta {
            Bound::Lower
        } else if score > alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        let says_more = match bound {
            Bound::Lower => score > facts.eval,
            Bound::Upper => score < facts.eval,
            Bound::Exact => true,
        };
        if says_more && facts.is_quiet() && !result.best_is_tactical && score.abs() < MATE_BOUND {
            self.correct(ply, score - facts.eval, depth);
        }
        if bound == Bound::Upper {
            self.learn_from_fail_low(ply, depth);
        }
        let entry = Entry {
            score,
            eval: facts.static_eval,
            best: result.best,
            depth,
            bound,
            was_principal: facts.was_principal,
        };
        self.store(shared, key, ply, entry);
    }
}
