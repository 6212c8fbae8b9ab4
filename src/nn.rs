//! Evaluators: value and policy of batches of positions, by networks or without.
//!
//! Evaluators do not see the search tree. They can wrap one another: [`Cached`] adds a cache.

mod batch;
mod cache;
mod direct;
mod mate_eval;
pub mod network;
mod onnx;
mod plane_adapter;
pub mod runtime;
mod two_board_network;
mod uniform;
mod weights;

pub use batch::{Batch, Evaluation};
pub use cache::{Cache, Cached};
pub use direct::DirectNetwork;
pub use onnx::{Fit, NetworkMetadata, Onnx, UnfitNetwork};
pub use uniform::Uniform;
pub use weights::{NetworkFile, Opened, Weights};

use crate::encoding::{Encoding, Shape};
use crate::rules::{Move, Position, ProvenValue};

/// Why a batch could not be evaluated, as an error message of one line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

/// A position to evaluate.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The encoding of the game.
    pub encoding: &'a Encoding,
    /// The position.
    pub position: &'a Position,
    /// Its legal moves.
    pub legal: &'a [Move],
}

/// An evaluator of positions. Each thread has its own.
pub trait Evaluator: Send {
    /// Returns the tensor sizes of its batches.
    fn shape(&self) -> Shape;

    /// Returns the number of positions of a batch that it evaluates efficiently.
    fn preferred_batch(&self) -> usize;

    /// Fills in the evaluation of every row.
    ///
    /// # Errors
    /// If the network fails. The content of the rows is then unspecified.
    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError>;

    /// Writes the evaluation of a position to `into` if it is known without the network. Returns `true` if it
    /// was.
    fn probe(&self, _query: Query<'_>, _into: &mut CachedEval) -> bool {
        false
    }

    /// Returns the value of a position under perfect play, if it is proven. Repetition is not considered.
    fn proven_value(&self, _position: &Position) -> Option<ProvenValue> {
        None
    }

    /// Returns the network in a form that evaluates one position at a time, if there is one.
    fn direct(&self) -> Option<DirectNetwork> {
        None
    }

    /// Clears its caches.
    fn clear_caches(&mut self) {}

    /// Returns an empty batch for it.
    fn new_batch(&self) -> Batch {
        Batch::new(self.shape())
    }
}

/// An evaluation outside a batch. Reusing it reuses its memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CachedEval {
    outcome: Vec<f32>,
    moves_left: f32,
    logits: Vec<f32>,
}

impl CachedEval {
    /// Returns the evaluation.
    pub fn evaluation(&self) -> Evaluation<'_> {
        Evaluation { outcome: &self.outcome, moves_left: self.moves_left, logits: &self.logits }
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

    fn probe(&self, query: Query<'_>, into: &mut CachedEval) -> bool {
        (**self).probe(query, into)
    }

    fn proven_value(&self, position: &Position) -> Option<ProvenValue> {
        (**self).proven_value(position)
    }

    fn direct(&self) -> Option<DirectNetwork> {
        (**self).direct()
    }

    fn clear_caches(&mut self) {
        (**self).clear_caches();
    }

    fn new_batch(&self) -> Batch {
        (**self).new_batch()
    }
}
