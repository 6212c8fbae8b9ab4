//! The threads that search one tree together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::stoppers::Stoppers;
use crate::nn::{EvalError, Evaluator};
use crate::search::{Gatherer, Step, Tree};

/// So long a thread waits for another's news before it looks at the clock itself.
const WAIT: Duration = Duration::from_millis(20);

/// What the threads share. Whoever gathers or backs up has it alone; while one thread waits for its
/// network, the others have their turn.
struct Shared<'a, 'b> {
    tree: &'a mut Tree,
    stoppers: &'a mut Stoppers<'b>,
    /// How many threads there are.
    threads: u32,
    /// Leaves that wait for their evaluation, in all threads.
    waiting: u32,
    /// Threads that have nothing to do until another's evaluation arrives.
    idle: u32,
    over: bool,
    failed: Option<EvalError>,
}

/// The shared state, and the news that it has changed.
struct Team<'a, 'b> {
    shared: Mutex<Shared<'a, 'b>>,
    changed: Condvar,
}

/// Searches `tree` until `stoppers` says that it is over, by a thread for each of `evaluators`, this one
/// among them.
///
/// # Errors
/// If an evaluator fails; the tree is as if its last round had not gone to it.
pub(super) fn search_together(
    tree: &mut Tree,
    evaluators: &mut [impl Evaluator],
    stoppers: &mut Stoppers<'_>,
) -> Result<(), EvalError> {
    let threads = evaluators.len() as u32;
    let shared = Shared { tree, stoppers, threads, waiting: 0, idle: 0, over: false, failed: None };
    let team = Team { shared: Mutex::new(shared), changed: Condvar::new() };
    thread::scope(|scope| {
        let Some((first, others)) = evaluators.split_first_mut() else { return };
        for evaluator in others {
            let thread = thread::Builder::new().name("search".to_owned());
            // One that cannot be started is done without.
            if let Err(error) = thread.spawn_scoped(scope, || team.work(evaluator)) {
                log::warn!("a thread cannot be started: {error}");
            }
        }
        team.work(first);
    });
    let shared = team.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    shared.failed.map_or(Ok(()), Err)
}

impl<'a, 'b> Team<'a, 'b> {
    fn lock(&self) -> MutexGuard<'_, Shared<'a, 'b>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's part.
    fn work(&self, evaluator: &mut impl Evaluator) {
        let mut shared = self.lock();
        let batch = shared.stoppers.batch().unwrap_or_else(|| evaluator.preferred_batch());
        let mut gatherer = Gatherer::new(shared.tree, evaluator, batch);
        while !shared.is_over() {
            let step = match shared.room() {
                0 => Step::default(),
                room => shared.gather(&mut gatherer, evaluator, room),
            };
            if gatherer.is_empty() {
                if step.visits == 0 && shared.waiting > 0 {
                    shared.idle += 1;
                    let waited = self.changed.wait_timeout(shared, WAIT);
                    shared = waited.unwrap_or_else(PoisonError::into_inner).0;
                    shared.idle -= 1;
                }
                continue;
            }
            drop(shared);
            let result = gatherer.evaluate(evaluator);
            shared = self.lock();
            shared.take(&mut gatherer, evaluator, result);
            if shared.idle > 0 {
                self.changed.notify_all();
            }
        }
        self.changed.notify_all();
    }
}

impl Shared<'_, '_> {
    fn is_over(&mut self) -> bool {
        if let Some(part) = self.stoppers.part(self.tree) {
            self.tree.halve(part);
        }
        self.over = self.over || self.stoppers.is_over(self.tree);
        self.over
    }

    /// How many more leaves one thread may let wait now: its share of what may wait in all, so that the
    /// others are not left without work in a young tree.
    fn room(&self) -> u32 {
        // Without one evaluation there is nothing to choose from.
        let most = self.tree.breadth().min(self.stoppers.left()).max(1);
        most.saturating_sub(self.waiting).min(most.div_ceil(self.threads))
    }

    fn gather(&mut self, gatherer: &mut Gatherer, evaluator: &dyn Evaluator, room: u32) -> Step {
        let step = gatherer.gather(self.tree, evaluator, room);
        self.stoppers.count(step);
        self.waiting += gatherer.len() as u32;
        step
    }

    fn take(
        &mut self,
        gatherer: &mut Gatherer,
        evaluator: &dyn Evaluator,
        result: Result<(), EvalError>,
    ) {
        self.waiting -= gatherer.len() as u32;
        match result {
            Ok(()) => {
                let visits = gatherer.backup(self.tree, evaluator);
                self.stoppers.count(Step { visits, evaluations: visits, full: false });
            }
            Err(error) => {
                gatherer.cancel(self.tree);
                (self.over, self.failed) = (true, Some(error));
            }
        }
    }
}
