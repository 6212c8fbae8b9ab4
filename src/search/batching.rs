//! Leaf batching: collects leaves of a tree for one call of the evaluator.

use super::mate_search::MateSearch;
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::encoding::Encoding;
use crate::nn::{Batch, CachedEval, EvalError, Evaluator, Query};

/// Gathers leaves, evaluates them in one batch, and backs them up.
///
/// Only the evaluation takes long, and it does not need the tree. Threads that share a tree gather and back
/// up one at a time, and evaluate in parallel.
#[derive(Debug)]
pub struct Gatherer {
    encoding: Encoding,
    batch: Batch,
    /// The leaves of the rows of the batch, then leaves kept for their memory.
    leaves: Vec<Leaf>,
    /// Descents that ended at a leaf in flight.
    collided: Vec<Leaf>,
    mate_search: MateSearch,
    /// The evaluation of a leaf that is known without the network.
    known_eval: CachedEval,
    batch_size: usize,
}

/// The counts of one round of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BatchStats {
    /// Descents that were backed up, those with a known outcome included.
    pub visits: u32,
    /// Positions that were evaluated.
    pub evaluations: u32,
    /// Whether the tree is full and nothing more can be reclaimed.
    pub full: bool,
}

/// The greatest batch size. Nodes count visits in flight in 16 bits.
const MAX_LEAVES: usize = 1 << 12;
/// A round ends after this number of visits without an evaluation, so that the search can be stopped.
const MAX_TERMINAL_VISITS: u32 = 256;
/// A batch is evaluated as it is after one collision for each of this number of leaves of its full size. In
/// the small batches of a CPU that is the first collision.
const LEAVES_PER_COLLISION: usize = 8;

impl Gatherer {
    /// Returns a gatherer of at most `batch_size` leaves of `tree` for `evaluator`.
    pub fn new(tree: &Tree, evaluator: &dyn Evaluator, batch_size: usize) -> Gatherer {
        Gatherer {
            encoding: Encoding::of(tree.root()),
            batch: evaluator.new_batch(),
            leaves: Vec::new(),
            collided: Vec::new(),
            mate_search: MateSearch::new(tree.params()),
            known_eval: CachedEval::default(),
            batch_size: batch_size.clamp(1, MAX_LEAVES),
        }
    }

    /// Returns the number of leaves to evaluate.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Returns `true` if there is no leaf to evaluate.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Descends at most `max_visits` times. Backs up at once what needs no evaluation.
    pub fn gather(
        &mut self,
        tree: &mut Tree,
        evaluator: &dyn Evaluator,
        max_visits: u32,
    ) -> BatchStats {
        let mut step = BatchStats::default();
        probe_root_moves(tree, evaluator);
        let mut collisions = 0;
        while self.batch.len() < self.batch_size
            && step.visits + (self.batch.len() as u32) < max_visits
            && step.visits < MAX_TERMINAL_VISITS
            && !tree.is_proven()
        {
            if self.leaves.len() == self.batch.len() {
                self.leaves.push(Leaf::new(tree));
            }
            let leaf = &mut self.leaves[self.batch.len()];
            match tree.select(leaf) {
                Selection::NeedsEvaluation => {
                    if !leaf.is_root() {
                        let value = evaluator.proven_value(&leaf.position);
                        let value = value.or_else(|| self.mate_search.proven_value(&leaf.position));
                        if let Some(value) = value {
                            tree.prove(leaf, value);
                            step.visits += 1;
                            continue;
                        }
                    }
                    let query = Query {
                        encoding: &self.encoding,
                        position: &leaf.position,
                        legal: &leaf.legal,
                    };
                    if evaluator.probe(query, &mut self.known_eval)
                        || self.mate_search.evaluate(query, &mut self.known_eval)
                    {
                        tree.backup(leaf, self.known_eval.evaluation());
                        step.visits += 1;
                        // The leaf may have been the root.
                        probe_root_moves(tree, evaluator);
                    } else {
                        self.batch.push(query);
                        // Before the root is evaluated there is nothing to descend to.
                        if tree.is_empty() {
                            break;
                        }
                    }
                }
                Selection::Terminal => step.visits += 1,
                Selection::Collision => {
                    collisions += 1;
                    if collisions * LEAVES_PER_COLLISION >= self.batch_size {
                        break;
                    }
                    // Virtual visits send the next descents elsewhere.
                    tree.add_virtual_visits(leaf);
                    if self.collided.len() < collisions {
                        self.collided.push(Leaf::new(tree));
                    }
                    std::mem::swap(leaf, &mut self.collided[collisions - 1]);
                }
                Selection::Full => {
                    step.full = !tree.reclaim();
                    if step.full {
                        break;
                    }
                }
            }
        }
        // The collision that ended the loop, if one did, added no virtual visits.
        let with_virtual_visits = collisions.min((self.batch_size - 1) / LEAVES_PER_COLLISION);
        for leaf in &self.collided[..with_virtual_visits] {
            tree.cancel(leaf);
        }
        step
    }

    /// Evaluates the leaves.
    ///
    /// # Errors
    /// If the evaluator fails. The leaves stay in flight.
    pub fn evaluate(&mut self, evaluator: &mut dyn Evaluator) -> Result<(), EvalError> {
        if self.batch.is_empty() { Ok(()) } else { evaluator.evaluate(&mut self.batch) }
    }

    /// Backs up the evaluations. Returns their number.
    pub fn backup(&mut self, tree: &mut Tree, evaluator: &dyn Evaluator) -> u32 {
        for (row, leaf) in self.leaves[..self.batch.len()].iter().enumerate() {
            tree.backup(leaf, self.batch.evaluation(row));
        }
        let count = self.batch.len() as u32;
        self.batch.clear();
        probe_root_moves(tree, evaluator);
        count
    }

    /// Drops all leaves.
    pub fn cancel(&mut self, tree: &mut Tree) {
        for leaf in &self.leaves[..self.batch.len()] {
            tree.cancel(leaf);
        }
        self.batch.clear();
    }
}

/// Probes the proven values of all root moves, once the root is evaluated and if its own value is proven.
/// This costs no visits.
fn probe_root_moves(tree: &mut Tree, evaluator: &dyn Evaluator) {
    if tree.is_empty() || std::mem::replace(&mut tree.root_moves_probed, true) {
        return;
    }
    if evaluator.proven_value(tree.root()).is_none() {
        return;
    }
    let mut leaf = Leaf::new(tree);
    for (m, _) in tree.root_priors() {
        if tree.select_through(&mut leaf, m) == Selection::NeedsEvaluation {
            match evaluator.proven_value(&leaf.position) {
                Some(value) => tree.prove(&leaf, value),
                None => tree.cancel(&leaf),
            }
        }
    }
}
