//! Several evaluators that share the work of a batch.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::{Batch, EvalError, Evaluator};
use crate::encoding::Shape;

/// Splits each batch over evaluators that work side by side: two sessions of one thread are
/// faster than one of two. What comes out does not depend on how many there are.
#[derive(Debug)]
pub struct Pooled<E> {
    first: E,
    workers: Vec<Worker>,
    part: Batch,
}

#[derive(Debug)]
struct Worker {
    /// Taken when the pool ends, which ends the thread.
    work: Option<Sender<Batch>>,
    done: Receiver<(Batch, Result<(), EvalError>)>,
    /// The batch that is not at work, kept for its memory.
    spare: Option<Batch>,
    thread: Option<JoinHandle<()>>,
}

impl<E: Evaluator + 'static> Pooled<E> {
    /// A pool of one thread for each of `others`, beside the thread that asks, which works with
    /// `first`.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn new(first: E, others: Vec<E>) -> std::io::Result<Pooled<E>> {
        let part = first.new_batch();
        let workers = others.into_iter().map(Worker::start).collect::<Result<_, _>>()?;
        Ok(Pooled { first, workers, part })
    }
}

impl Worker {
    fn start<E: Evaluator + 'static>(mut evaluator: E) -> std::io::Result<Worker> {
        let (work, jobs) = channel::<Batch>();
        let (results, done) = channel();
        let spare = Some(evaluator.new_batch());
        let run = move || {
            for mut batch in jobs {
                let result = evaluator.evaluate(&mut batch);
                if results.send((batch, result)).is_err() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("evaluator".to_owned()).spawn(run)?;
        Ok(Worker { work: Some(work), done, spare, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

impl<E: Evaluator> Evaluator for Pooled<E> {
    fn shape(&self) -> Shape {
        self.first.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.first.preferred_batch() * (self.workers.len() + 1)
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        let shares = self.workers.len() + 1;
        // The share of the asking thread comes first and is never smaller than another.
        let bounds: Vec<_> = (0..=shares).map(|n| (batch.len() * n).div_ceil(shares)).collect();
        let lost = || EvalError("a thread of the evaluator ended".to_owned());
        for (worker, bound) in self.workers.iter_mut().zip(bounds[1..].windows(2)) {
            let mut part = worker.spare.take().ok_or_else(lost)?;
            part.clear();
            (bound[0]..bound[1]).for_each(|row| part.push_row(batch, row));
            worker.work.as_ref().ok_or_else(lost)?.send(part).map_err(|_| lost())?;
        }
        self.part.clear();
        (0..bounds[1]).for_each(|row| self.part.push_row(batch, row));
        let mut result = self.first.evaluate(&mut self.part);
        copy_back(&self.part, batch, 0);
        for (worker, &start) in self.workers.iter_mut().zip(&bounds[1..]) {
            let (part, part_result) = worker.done.recv().map_err(|_| lost())?;
            copy_back(&part, batch, start);
            worker.spare = Some(part);
            result = result.and(part_result);
        }
        result
    }
}

fn copy_back(part: &Batch, batch: &mut Batch, start: usize) {
    for row in 0..part.len() {
        let evaluation = part.evaluation(row);
        let logits = evaluation.logits;
        batch.fill(start + row, evaluation.outcome, evaluation.moves_left, |nth, _| logits[nth]);
    }
}
