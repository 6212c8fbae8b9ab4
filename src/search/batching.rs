//! Leaves of a tree on their way through an evaluator.

use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::encoding::Encoding;
use crate::nn::{Batch, CachedEval, EvalError, Evaluator, Query};

/// Gathers leaves, has them evaluated in one batch, and backs them up.
///
/// Only the evaluation takes long, and it does not need the tree: several threads that share one
/// gather and back up in turn, and evaluate side by side.
#[derive(Debug)]
pub struct Gatherer {
    encoding: Encoding,
    batch: Batch,
    /// The leaves of the batch first, row by row; those after them are kept for their memory.
    leaves: Vec<Leaf>,
    /// Descents that ended where another's evaluation is awaited.
    collided: Vec<Leaf>,
    cached_eval: CachedEval,
    batch_size: usize,
}

/// What one round of a search did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Descents that reached the tree, those that ended in a known end included.
    pub visits: u32,
    /// Positions that the evaluator was asked for.
    pub evaluations: u32,
    /// Whether the tree has no room to grow, though all that could be reclaimed has been.
    pub full: bool,
}

/// No batch is larger: nodes count visits on their way in 16 bits.
const MOST_LEAVES: usize = 1 << 12;
/// After so many descents to known ends a round ends, so that it can be stopped.
const MOST_SETTLED: u32 = 256;
/// A batch goes off as it is after one collision for each so many leaves it may have: in small
/// batches, of CPUs, after the first.
const LEAVES_A_COLLISION: usize = 8;

impl Gatherer {
    /// A gatherer for `tree`, of at most `batch_size` leaves at once for `evaluator`.
    pub fn new(tree: &Tree, evaluator: &dyn Evaluator, batch_size: usize) -> Gatherer {
        Gatherer {
            encoding: Encoding::of(tree.root()),
            batch: evaluator.new_batch(),
            leaves: Vec::new(),
            collided: Vec::new(),
            cached_eval: CachedEval::default(),
            batch_size: batch_size.clamp(1, MOST_LEAVES),
        }
    }

    /// How many leaves wait for their evaluation.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether no leaf waits for its evaluation.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Goes down at most `most` times, and takes into the tree at once what needs no evaluation.
    pub fn gather(&mut self, tree: &mut Tree, evaluator: &dyn Evaluator, most: u32) -> Step {
        let mut step = Step::default();
        look_up(tree, evaluator);
        let mut collisions = 0;
        while self.batch.len() < self.batch_size
            && step.visits + (self.batch.len() as u32) < most
            && step.visits < MOST_SETTLED
            && !tree.settled()
        {
            if self.leaves.len() == self.batch.len() {
                self.leaves.push(Leaf::new(tree));
            }
            let leaf = &mut self.leaves[self.batch.len()];
            match tree.select(leaf) {
                Selection::NeedsEvaluation => {
                    let known = evaluator.known(&leaf.position);
                    if let Some(known) = known.filter(|_| !leaf.is_root()) {
                        tree.prove(leaf, known);
                        step.visits += 1;
                        continue;
                    }
                    let (position, legal) = (&leaf.position, &leaf.legal);
                    let query = Query { encoding: &self.encoding, position, legal };
                    if evaluator.probe(query, &mut self.cached_eval) {
                        tree.backup(leaf, self.cached_eval.evaluation());
                        step.visits += 1;
                        // If it was the root.
                        look_up(tree, evaluator);
                    } else {
                        self.batch.push(query);
                        // Nothing can be gathered before the root is known.
                        if tree.is_empty() {
                            break;
                        }
                    }
                }
                Selection::Settled => step.visits += 1,
                Selection::Collision => {
                    collisions += 1;
                    if collisions * LEAVES_A_COLLISION >= self.batch_size {
                        break;
                    }
                    // Counted as a visit for a while, it sends the next descent elsewhere.
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
        let departed = collisions.min((self.batch_size - 1) / LEAVES_A_COLLISION);
        self.collided[..departed].iter().for_each(|leaf| tree.cancel(leaf));
        step
    }

    /// Has the leaves evaluated.
    ///
    /// # Errors
    /// If the evaluator fails; the leaves wait on.
    pub fn evaluate(&mut self, evaluator: &mut dyn Evaluator) -> Result<(), EvalError> {
        if self.batch.is_empty() { Ok(()) } else { evaluator.evaluate(&mut self.batch) }
    }

    /// Takes the evaluations into the tree; says how many there were.
    pub fn backup(&mut self, tree: &mut Tree, evaluator: &dyn Evaluator) -> u32 {
        for (row, leaf) in self.leaves[..self.batch.len()].iter().enumerate() {
            tree.backup(leaf, self.batch.evaluation(row));
        }
        let count = self.batch.len() as u32;
        self.batch.clear();
        look_up(tree, evaluator);
        count
    }

    /// Gives up all leaves.
    pub fn cancel(&mut self, tree: &mut Tree) {
        self.leaves[..self.batch.len()].iter().for_each(|leaf| tree.cancel(leaf));
        self.batch.clear();
    }
}

/// Once the root is known: if it is among the positions of which the end is known for certain,
/// looks up what each of its moves leads to, which costs no visits.
fn look_up(tree: &mut Tree, evaluator: &dyn Evaluator) {
    if tree.is_empty() || std::mem::replace(&mut tree.looked_up, true) {
        return;
    }
    if evaluator.known(tree.root()).is_none() {
        return;
    }
    let mut leaf = Leaf::new(tree);
    for (m, _) in tree.root_priors() {
        if tree.select_through(&mut leaf, m) == Selection::NeedsEvaluation {
            match evaluator.known(&leaf.position) {
                Some(known) => tree.prove(&leaf, known),
                None => tree.cancel(&leaf),
            }
        }
    }
}
