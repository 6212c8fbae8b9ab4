//! The thread that searches: it owns the tree and the evaluators until it ends.

use std::thread;

use super::evaluators::EvaluatorPool;
use super::search_info::{EvalStats, Event, SearchResult};
use super::search_job::Search;
use super::stoppers::Stoppers;
use super::tablebases::TablebaseEvaluator;
use super::team::search_together;
use crate::nn::{Evaluator, Uniform};
use crate::search::{GumbelParams, Line, Searcher, Tree};

impl Search {
    /// Searches until a limit is reached, and tells the best turn when it may. If the evaluator
    /// fails, one that knows nothing takes its place.
    pub(super) fn run(&self, tree: &mut Tree, pool: &mut EvaluatorPool) {
        tree.restrict(&self.limits.moves);
        if self.gumbel {
            tree.plan(GumbelParams::default());
        }
        let mut stoppers = Stoppers::new(self);
        loop {
            let evaluators = pool.evaluators.iter_mut();
            let mut evaluators: Vec<_> = evaluators
                .map(|evaluator| TablebaseEvaluator::new(&mut **evaluator, &self.tablebases))
                .collect();
            let Err(error) = search_together(tree, &mut evaluators, &mut stoppers) else { break };
            self.note(&format!("{error}; the search goes on without a network"));
            pool.give_up();
        }
        if stoppers.part(tree).is_some() {
            tree.halve(1.0);
        }
        self.report(tree, stoppers.progress(), true);
        while self.held() {
            thread::park();
        }
        let picked = self.skill.map_or(0, |skill| skill.pick(&tree.root_moves(), &mut rand::rng()));
        if picked > 0 {
            // The last line is that of the move which is played.
            self.report_line(tree, stoppers.progress(), picked);
        }
        let best = self.best(tree, pool.first(), picked);
        (self.sink)(Event::Best(SearchResult { asked: stoppers.progress().asked, ..best }));
    }

    /// Whether the best turn may not be told yet.
    fn held(&self) -> bool {
        !self.is_stopped() && (self.limits.infinite || self.pondering())
    }

    /// The turn of the line that ranks `picked`-th, from 0, and the reply to it.
    fn best(&self, tree: &mut Tree, evaluator: &mut dyn Evaluator, picked: usize) -> SearchResult {
        let root = tree.root().clone();
        let choices = tree.root_moves().into_iter();
        let choices = choices.map(|choice| (root.move_text(choice.m), choice)).collect();
        let mut best = SearchResult {
            turn: None,
            reply: None,
            choices,
            mover: root.turn(),
            asked: EvalStats::default(),
        };
        let Some(line) = tree.lines(picked + 1).pop() else { return best };
        let mut turns = self.texts(tree, &line).into_iter();
        (best.turn, best.reply) = (turns.next(), turns.next());
        if best.turn.is_none() {
            best.turn = whole_turn(tree, evaluator, &line);
        }
        best
    }
}

/// The whole turn that begins as `line` does, of which the search saw no more than a part.
fn whole_turn(tree: &mut Tree, evaluator: &mut dyn Evaluator, line: &Line) -> Option<String> {
    let root = tree.root().clone();
    let turn = Searcher::new(tree, evaluator, 1).whole_turn(line).or_else(|_| {
        let mut uniform = Uniform::new(evaluator.shape());
        Searcher::new(tree, &mut uniform, 1).whole_turn(line)
    });
    turn.ok().map(|turn| root.turn_text(&turn))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::encoding::Encoding;
    use crate::engine::Limits;
    use crate::rules::Position;

    #[test]
    fn the_best_turn_is_whole() {
        // The first ply of either turn is only half of it.
        let test_tree = Position::test_tree("a(+a(b(ab)=)+a(=b(ab)))", 2).expect("a game tree");
        let mut uniform = Uniform::new(Encoding::of(&test_tree).shape());
        let search = Search {
            limits: Limits::default(),
            batch: 0,
            gumbel: false,
            skill: None,
            lines: 1,
            overhead: Duration::ZERO,
            begun: Instant::now(),
            control: Arc::default(),
            sink: Arc::new(|_| ()),
            tablebases: Default::default(),
        };
        for visits in [1, 2, 3, 20] {
            let mut tree = Tree::new(test_tree.clone(), Default::default(), 1 << 20);
            let mut searcher = Searcher::new(&mut tree, &mut uniform, 1);
            for _ in 0..visits {
                searcher.step(1).expect("Uniform never fails");
            }
            let turn = search.best(&mut tree, &mut uniform, 0).turn.expect("a turn");
            assert_eq!(turn.split(',').count(), 2, "{turn} after {visits}");
            assert!(test_tree.parse_turn(&turn).is_some());
        }
    }
}
