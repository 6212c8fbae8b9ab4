//! A tree and an evaluator at work together.

use super::choice::Line;
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::encoding::Encoding;
use crate::evaluation::{Batch, EvalError, Evaluator};
use crate::rules::{Move, MoveList};

/// A search in progress: gathers leaves, has them evaluated in batches, and backs them up.
pub struct Thinking<'a> {
    tree: &'a mut Tree,
    evaluator: &'a mut dyn Evaluator,
    encoding: Encoding,
    batch: Batch,
    leaves: Vec<Leaf>,
    batch_size: usize,
    /// Whether the moves of the root have been looked up.
    looked_up: bool,
}

/// What one round of a search did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Descents that reached the tree, those that ended in a known end included.
    pub visits: u32,
    /// Positions that the evaluator was asked for.
    pub evaluations: u32,
    /// Whether the tree has no room to grow.
    pub full: bool,
}

/// After so many descents to known ends a round ends, so that it can be stopped.
const MOST_SETTLED: u32 = 256;
/// After so many descents to leaves that are awaited already a batch goes off as it is.
const MOST_COLLISIONS: usize = 1;

impl std::fmt::Debug for Thinking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thinking").field("batch_size", &self.batch_size).finish_non_exhaustive()
    }
}

impl<'a> Thinking<'a> {
    /// Lets `evaluator` serve `tree`, with at most `batch_size` leaves at once.
    pub fn new(
        tree: &'a mut Tree,
        evaluator: &'a mut dyn Evaluator,
        batch_size: usize,
    ) -> Thinking<'a> {
        let encoding = Encoding::of(tree.root());
        let batch = evaluator.new_batch();
        let batch_size = batch_size.max(1);
        let leaves = Vec::new();
        Thinking { tree, evaluator, encoding, batch, leaves, batch_size, looked_up: false }
    }

    /// The tree as it stands.
    pub fn tree(&self) -> &Tree {
        self.tree
    }

    /// One round: at most `most` visits.
    ///
    /// # Errors
    /// If the evaluator fails; the tree is as if the round had not gone to it.
    pub fn step(&mut self, most: u32) -> Result<Step, EvalError> {
        let mut step = Step::default();
        let mut collisions = 0;
        self.batch.clear();
        self.look_up();
        while self.batch.len() < self.batch_size
            && step.visits + (self.batch.len() as u32) < most
            && step.visits < MOST_SETTLED
            && !self.tree.settled()
        {
            if self.leaves.len() == self.batch.len() {
                self.leaves.push(Leaf::new(self.tree));
            }
            let leaf = &mut self.leaves[self.batch.len()];
            match self.tree.select(leaf) {
                Selection::NeedsEvaluation => {
                    let known = self.evaluator.known(&leaf.position);
                    if let Some(value) = known.filter(|_| !leaf.is_root()) {
                        self.tree.prove(leaf, value);
                        step.visits += 1;
                        continue;
                    }
                    let key = self.encoding.input_key(&leaf.position);
                    if let Some(known) = self.evaluator.recall(key, leaf.legal.len()) {
                        self.tree.backup(leaf, known.evaluation());
                        step.visits += 1;
                    } else {
                        self.batch.push(&self.encoding, &leaf.position, &leaf.legal);
                        // Nothing can be gathered before the root is known.
                        if self.tree.is_empty() {
                            break;
                        }
                    }
                }
                Selection::Settled => step.visits += 1,
                Selection::Collision => {
                    collisions += 1;
                    if collisions >= MOST_COLLISIONS {
                        break;
                    }
                }
                Selection::Full => {
                    step.full = true;
                    break;
                }
            }
        }
        if self.batch.is_empty() {
            return Ok(step);
        }
        let waiting = &self.leaves[..self.batch.len()];
        if let Err(error) = self.evaluator.evaluate(&mut self.batch) {
            waiting.iter().for_each(|leaf| self.tree.cancel(leaf));
            return Err(error);
        }
        for (row, leaf) in waiting.iter().enumerate() {
            self.tree.backup(leaf, self.batch.evaluation(row));
        }
        step.evaluations = waiting.len() as u32;
        step.visits += step.evaluations;
        self.look_up();
        Ok(step)
    }

    /// Once the root is known: if it is among the positions of which the end is known for certain,
    /// looks up what each of its moves leads to, which costs no visits.
    fn look_up(&mut self) {
        if self.looked_up || self.tree.is_empty() {
            return;
        }
        self.looked_up = true;
        if self.evaluator.known(self.tree.root()).is_none() {
            return;
        }
        let mut leaf = Leaf::new(self.tree);
        for (m, _) in self.tree.root_priors() {
            if self.tree.select_through(&mut leaf, m) == Selection::NeedsEvaluation {
                match self.evaluator.known(&leaf.position) {
                    Some(value) => self.tree.prove(&leaf, value),
                    None => self.tree.cancel(&leaf),
                }
            }
        }
    }

    /// The first whole turn of `line`. Where the search saw no more than a part of it, each ply
    /// that is missing costs one evaluation: the one with the highest prior.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn whole_turn(&mut self, line: &Line) -> Result<MoveList, EvalError> {
        let mut position = self.tree.root().clone();
        let mut turn = MoveList::new();
        for &m in &line.moves {
            turn.push(m);
            position.play_unchecked(m);
            if !position.mid_turn() {
                return Ok(turn);
            }
        }
        let mut legal = MoveList::new();
        loop {
            position.legal_moves(&mut legal);
            if legal.is_empty() {
                return Ok(turn);
            }
            self.batch.clear();
            let row = self.batch.push(&self.encoding, &position, &legal);
            self.evaluator.evaluate(&mut self.batch)?;
            let logits = self.batch.evaluation(row).logits;
            let best =
                (0..legal.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]).then(b.cmp(&a)));
            let m: Move = legal[best.unwrap_or(0)];
            turn.push(m);
            position.play_unchecked(m);
            if !position.mid_turn() {
                return Ok(turn);
            }
        }
    }
}
