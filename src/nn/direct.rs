//! Sparse networks that evaluate one position at a time, for searches that cannot gather batches.

use std::sync::Arc;

use super::batch::softmax;
use super::network::NetworkError;
use super::network::sparse::DirectSession;
use super::{EvalError, Evaluation};
use crate::encoding::sparse::IndexMap;
use crate::encoding::{SparseEncoding, SparseInput};
use crate::rules::{Move, Position};

/// A sparse network without ONNX Runtime, for the positions of one game. Clones share the weights; each thread
/// has its own.
#[derive(Clone, Debug)]
pub struct DirectNetwork {
    session: DirectSession,
    encoding: SparseEncoding,
    /// The map from indices of the encoding to those of the network, if it is a base.
    map: Option<Arc<IndexMap>>,
    input: SparseInput,
    outcome: [f32; 3],
    logits: Vec<f32>,
}

impl DirectNetwork {
    pub(super) fn new(
        session: DirectSession,
        encoding: &SparseEncoding,
        map: Option<Arc<IndexMap>>,
    ) -> DirectNetwork {
        DirectNetwork {
            session,
            encoding: encoding.clone(),
            map,
            input: SparseInput::default(),
            outcome: [0.0; 3],
            logits: Vec::new(),
        }
    }

    /// Evaluates a position of its game. `legal` are the moves that need a logit: the legal moves, or none if only
    /// the outcome is wanted. The result is that of the network in ONNX Runtime.
    ///
    /// # Errors
    /// If the position has more inputs than the network can sum.
    pub fn evaluate(
        &mut self,
        position: &Position,
        legal: &[Move],
    ) -> Result<Evaluation<'_>, EvalError> {
        self.outcome = self.outcome(0, position)?;
        let moves_left = self.session.moves_left().map_err(failed)?;
        let mut logits = std::mem::take(&mut self.logits);
        logits.clear();
        if !legal.is_empty() {
            self.policy(0, position, legal, &mut logits)?;
        }
        self.logits = logits;
        Ok(Evaluation { outcome: &self.outcome, moves_left, logits: &self.logits })
    }

    /// Returns the probabilities of the outcomes of a position: the side to move wins, the other side wins, draw.
    /// `ply` is its distance from the root of a search: with the right one it takes a fraction of the time, and
    /// the result is the same for any.
    ///
    /// # Errors
    /// If the position has more inputs than the network can sum.
    pub fn outcome(&mut self, ply: usize, position: &Position) -> Result<[f32; 3], EvalError> {
        self.write(position, &[]);
        let mut outcome = self.session.outcome(ply, &self.input.inputs).map_err(failed)?;
        softmax(&mut outcome);
        Ok(outcome)
    }

    /// Replaces `logits` by a logit for each of the moves `legal` of a position. `ply` is that of
    /// [`DirectNetwork::outcome`].
    ///
    /// # Errors
    /// If the position has more inputs than the network can sum.
    pub fn policy(
        &mut self,
        ply: usize,
        position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        self.write(position, legal);
        let SparseInput { inputs, move_rows } = &self.input;
        self.session.policy(ply, inputs, move_rows, logits).map_err(failed)
    }

    /// Writes the inputs of a position, each at its place, and the rows of moves, as the network numbers them.
    fn write(&mut self, position: &Position, legal: &[Move]) {
        self.encoding.write_placed(position, legal, &mut self.input);
        if let Some(map) = &self.map {
            map.apply_placed(&mut self.input);
        }
    }
}

fn failed(error: NetworkError) -> EvalError {
    EvalError(error.to_string())
}
