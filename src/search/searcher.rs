//! A tree and an evaluator at work together.

use super::batching::{Gatherer, Step};
use super::root_move::Line;
use super::tree::Tree;
use crate::encoding::Encoding;
use crate::nn::{EvalError, Evaluator, Query};
use crate::rules::{Move, MoveList};

/// A search in progress by one thread: gathers leaves, has them evaluated in batches, and backs
/// them up.
pub struct Searcher<'a> {
    tree: &'a mut Tree,
    evaluator: &'a mut dyn Evaluator,
    gatherer: Gatherer,
}

impl std::fmt::Debug for Searcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searcher").field("gatherer", &self.gatherer).finish_non_exhaustive()
    }
}

impl<'a> Searcher<'a> {
    /// Lets `evaluator` serve `tree`, with at most `batch_size` leaves at once.
    pub fn new(
        tree: &'a mut Tree,
        evaluator: &'a mut dyn Evaluator,
        batch_size: usize,
    ) -> Searcher<'a> {
        let gatherer = Gatherer::new(tree, evaluator, batch_size);
        Searcher { tree, evaluator, gatherer }
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
        let mut step = self.gatherer.gather(self.tree, self.evaluator, most);
        if let Err(error) = self.gatherer.evaluate(self.evaluator) {
            self.gatherer.cancel(self.tree);
            return Err(error);
        }
        step.evaluations = self.gatherer.backup(self.tree, self.evaluator);
        step.visits += step.evaluations;
        Ok(step)
    }

    /// Rounds until there were so many visits, nothing is left to find out, the memory is full, or
    /// `goes_on` says no; the root is expanded in any case. Gives how many visits there were.
    ///
    /// # Errors
    /// If the evaluator fails; what was found before stays in the tree.
    pub fn visit(&mut self, visits: u32, goes_on: impl Fn() -> bool) -> Result<u32, EvalError> {
        let mut spent = 0;
        while self.tree.is_empty() || spent < visits && goes_on() && !self.tree.settled() {
            let most = self.tree.breadth().min(visits.saturating_sub(spent)).max(1);
            let step = self.step(most)?;
            spent += step.visits;
            if step.full {
                break;
            }
        }
        Ok(spent)
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
        let (encoding, mut batch) = (Encoding::of(&position), self.evaluator.new_batch());
        let mut legal = MoveList::new();
        loop {
            position.legal_moves(&mut legal);
            if legal.is_empty() {
                return Ok(turn);
            }
            batch.clear();
            let row = batch.push(Query { encoding: &encoding, position: &position, legal: &legal });
            self.evaluator.evaluate(&mut batch)?;
            let logits = batch.evaluation(row).logits;
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
