//! What a position is worth and which moves look good, for many positions at once.
//!
//! Never sees a tree. Evaluators decorate one another: [`Cached`] remembers, [`Pooled`] spreads a
//! batch over several threads.

mod batch;
mod cache;
pub mod network;
mod onnx;
mod pool;
pub mod runtime;
mod uniform;
mod weights;

use std::sync::Arc;

pub use batch::{Batch, Evaluation};
pub use cache::Cached;
pub use onnx::{Onnx, Passport, UnfitNetwork};
pub use pool::Pooled;
pub use uniform::Uniform;
pub use weights::{NetworkFile, Opened, Weights};

use crate::encoding::Shape;
use crate::rules::{Key, Position, Value};

/// Why a batch could not be evaluated, in words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

/// Something that evaluates positions; each thread has its own.
pub trait Evaluator: Send {
    /// The tensor sizes of its batches.
    fn shape(&self) -> Shape;

    /// How many positions it likes to have in a batch.
    fn preferred_batch(&self) -> usize;

    /// Fills in the evaluation of every row.
    ///
    /// # Errors
    /// In words, if the network fails; the rows then hold nothing to rely on.
    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError>;

    /// The evaluation of a position with that input key and as many legal moves, if it is known
    /// without work.
    fn recall(&self, _key: Key, _legal_moves: usize) -> Option<Arc<Remembered>> {
        None
    }

    /// What perfect play makes of a position, if that is known for certain. Counters and repetition
    /// do not enter.
    fn known(&self, _position: &Position) -> Option<Value> {
        None
    }

    /// Forgets what it remembers.
    fn forget(&mut self) {}

    /// An empty batch for it.
    fn new_batch(&self) -> Batch {
        Batch::new(self.shape())
    }
}

/// An evaluation on its own, as a cache keeps it.
#[derive(Clone, PartialEq, Debug)]
pub struct Remembered {
    outcome: Box<[f32]>,
    moves_left: f32,
    logits: Box<[f32]>,
}

impl Remembered {
    /// What was remembered.
    pub fn evaluation(&self) -> Evaluation<'_> {
        Evaluation { outcome: &self.outcome, moves_left: self.moves_left, logits: &self.logits }
    }

    /// The memory it takes behind an `Arc`, in bytes: itself, the counters, its two boxes, and
    /// some 16 bytes of the allocator's for each of the three.
    fn bytes(&self) -> usize {
        let numbers = self.outcome.len() + self.logits.len();
        size_of::<Remembered>() + 2 * size_of::<usize>() + 4 * numbers + 3 * 16
    }
}

impl From<Evaluation<'_>> for Remembered {
    fn from(evaluation: Evaluation<'_>) -> Remembered {
        Remembered {
            outcome: evaluation.outcome.into(),
            moves_left: evaluation.moves_left,
            logits: evaluation.logits.into(),
        }
    }
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn preferred_batch(&self) -> usize {
        (**self).preferred_batch()
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        (**self).evaluate(batch)
    }

    fn recall(&self, key: Key, legal_moves: usize) -> Option<Arc<Remembered>> {
        (**self).recall(key, legal_moves)
    }

    fn known(&self, position: &Position) -> Option<Value> {
        (**self).known(position)
    }

    fn forget(&mut self) {
        (**self).forget();
    }
}
