//! What the search asks of a network.

use super::score::{Score, score_of};
use crate::nn::{DirectNetwork, EvalError};
use crate::rules::{Move, Position};

/// Evaluates single positions. Each thread has its own.
pub trait StaticEvaluator: Send {
    /// Returns the score for the side to move of a position `ply` plies from the root. The plies tell an
    /// evaluator which of the positions before it are similar; the score is the same for any.
    ///
    /// # Errors
    /// If the network fails.
    fn score(&mut self, ply: usize, position: &Position) -> Result<Score, EvalError>;

    /// Replaces `logits` by a logit for each of the legal moves of a position `ply` plies from the root.
    ///
    /// # Errors
    /// If the network fails.
    fn policy(
        &mut self,
        ply: usize,
        position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError>;
}

impl StaticEvaluator for DirectNetwork {
    fn score(&mut self, ply: usize, position: &Position) -> Result<Score, EvalError> {
        Ok(score_of(self.outcome(ply, position)?))
    }

    fn policy(
        &mut self,
        ply: usize,
        position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        DirectNetwork::policy(self, ply, position, legal, logits)
    }
}
