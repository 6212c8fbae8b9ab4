//! A search by one thread: a tree, an evaluator and rounds of both.

use super::batching::{BatchStats, Gatherer};
use super::root_move::Line;
use super::tree::Tree;
use crate::encoding::Encoding;
use crate::nn::{EvalError, Evaluator, Query};
use crate::rules::{Move, MoveList};

/// A search by one thread, which gathers leaves, evaluates them in batches and backs them up.
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
    /// Returns a search of `tree` by `evaluator`, with batches of at most `batch_size` leaves.
    pub fn new(
        tree: &'a mut Tree,
        evaluator: &'a mut dyn Evaluator,
        batch_size: usize,
    ) -> Searcher<'a> {
        let gatherer = Gatherer::new(tree, evaluator, batch_size);
        Searcher { tree, evaluator, gatherer }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        self.tree
    }

    /// Runs a round of at most `max_visits` visits.
    ///
    /// # Errors
    /// If the evaluator fails. The visits without an evaluation have been backed up.
    pub fn step(&mut self, max_visits: u32) -> Result<BatchStats, EvalError> {
        let mut step = self.gatherer.gather(self.tree, self.evaluator, max_visits);
        if let Err(error) = self.gatherer.evaluate(self.evaluator) {
            self.gatherer.cancel(self.tree);
            return Err(error);
        }
        step.evaluations = self.gatherer.backup(self.tree, self.evaluator);
        step.visits += step.evaluations;
        Ok(step)
    }

    /// Runs rounds until there were `visits` visits, the root is solved, the memory is full, or
    /// `may_continue` returns `false`. The root is expanded in any case. Returns the number of visits.
    ///
    /// # Errors
    /// If the evaluator fails. Earlier rounds stay in the tree.
    pub fn visit(
        &mut self,
        visits: u32,
        may_continue: impl Fn() -> bool,
    ) -> Result<u32, EvalError> {
        let mut spent = 0;
        while self.tree.is_empty() || spent < visits && may_continue() && !self.tree.is_proven() {
            let max_visits = self.tree.breadth().min(visits.saturating_sub(spent)).max(1);
            let step = self.step(max_visits)?;
            spent += step.visits;
            if step.full {
                break;
            }
        }
        Ok(spent)
    }

    /// Returns the first whole turn of `line`. If the line has only a part of it, each missing ply is the one
    /// with the greatest prior, which takes an evaluation.
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
        let encoding = Encoding::of(&position);
        let mut batch = self.evaluator.new_batch();
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
