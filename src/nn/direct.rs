//! Sparse networks that evaluate one position at a time, for searches that cannot gather batches.

use std::sync::Arc;

use super::batch::softmax;
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
    /// the outcome is wanted, which takes a fraction of the time. The result is that of the network in ONNX Runtime.
    ///
    /// # Errors
    /// If the position has more inputs than the network can sum.
    pub fn evaluate(
        &mut self,
        position: &Position,
        legal: &[Move],
    ) -> Result<Evaluation<'_>, EvalError> {
        self.encoding.write(position, legal, &mut self.input);
        if let Some(map) = &self.map {
            map.apply(&mut self.input);
        }
        let failed = |error: super::network::NetworkError| EvalError(error.to_string());
        let (outcome, moves_left) = self.session.value(&self.input.inputs).map_err(failed)?;
        self.outcome = outcome;
        softmax(&mut self.outcome);
        self.logits.clear();
        if !legal.is_empty() {
            self.session.policy(&self.input.move_rows, &mut self.logits).map_err(failed)?;
        }
        Ok(Evaluation { outcome: &self.outcome, moves_left, logits: &self.logits })
    }
}
