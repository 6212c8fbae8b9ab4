//! What the search asks of a network.

use super::score::{Score, score_of};
use crate::nn::{DirectNetwork, EvalError};
use crate::rules::{Move, Position};

/// Evaluates single positions. Each thread has its own.
pub trait StaticEvaluator: Send {
    /// Returns the score for the side to move.
    ///
    /// # Errors
    /// If the network fails.
    fn score(&mut self, position: &Position) -> Result<Score, EvalError>;

    /// Replaces `logits` by a logit for each of the legal moves.
    ///
    /// # Errors
    /// If the network fails.
    fn policy(
        &mut self,
        position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError>;
}

impl StaticEvaluator for DirectNetwork {
    fn score(&mut self, position: &Position) -> Result<Score, EvalError> {
        let evaluation = self.evaluate(position, &[])?;
        let [win, loss, draw] = evaluation.outcome else { return Ok(0) };
        Ok(score_of([*win, *loss, *draw]))
    }

    fn policy(
        &mut self,
        position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        let evaluation = self.evaluate(position, legal)?;
        logits.clear();
        logits.extend_from_slice(evaluation.logits);
        Ok(())
    }
}
