//! What a position is worth and which moves look good, for many positions at once.
//!
//! Never sees a tree. Evaluators decorate one another: [`Cached`] remembers.

mod batch;
mod cache;
mod mate_search;
pub mod network;
mod onnx;
mod plane_adapter;
pub mod runtime;
mod two_board_network;
mod uniform;
mod weights;

pub use batch::{Batch, Evaluation};
pub use cache::{Cache, Cached};
pub use onnx::{NetworkMetadata, Onnx, UnfitNetwork};
pub use uniform::Uniform;
pub use weights::{NetworkFile, Opened, Weights};

use std::sync::{Arc, Mutex};

use crate::encoding::{Encoding, Shape};
use crate::rules::{Move, Position, ProvenValue};

/// Why a batch could not be evaluated, in words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

/// A position whose evaluation is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// How the position is written.
    pub encoding: &'a Encoding,
    /// The position.
    pub position: &'a Position,
    /// Its legal moves.
    pub legal: &'a [Move],
}

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

    /// Writes the evaluation of a position over `into`, if it is known without work; says whether it
    /// is.
    fn probe(&self, _query: Query<'_>, _into: &mut CachedEval) -> bool {
        false
    }

    /// Takes `cache`, if it knows of parts of positions that are worth remembering by themselves;
    /// says whether it does. Then nobody need remember whole positions for it.
    fn remember_in(&mut self, _cache: &Arc<Mutex<Cache>>) -> bool {
        false
    }

    /// What perfect play makes of a position, if that is known for certain. Repetition does not
    /// enter.
    fn known(&self, _position: &Position) -> Option<ProvenValue> {
        None
    }

    /// Forgets what it remembers.
    fn forget(&mut self) {}

    /// An empty batch for it.
    fn new_batch(&self) -> Batch {
        Batch::new(self.shape())
    }
}

/// An evaluation on its own. Reused, it keeps its memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CachedEval {
    outcome: Vec<f32>,
    moves_left: f32,
    logits: Vec<f32>,
}

impl CachedEval {
    /// What was remembered.
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

    fn remember_in(&mut self, cache: &Arc<Mutex<Cache>>) -> bool {
        (**self).remember_in(cache)
    }

    fn known(&self, position: &Position) -> Option<ProvenValue> {
        (**self).known(position)
    }

    fn forget(&mut self) {
        (**self).forget();
    }

    fn new_batch(&self) -> Batch {
        (**self).new_batch()
    }
}
