//! The evaluator without a network: a uniform policy and a draw.

use super::{Batch, EvalError, Evaluator};
use crate::encoding::Shape;
use crate::rules::MAX_SIDES;

/// Evaluates every position as a draw, with a uniform policy.
#[derive(Clone, Debug)]
pub struct Uniform {
    shape: Shape,
}

/// The number of turns left in every position.
const MOVES_LEFT: f32 = 40.0;

impl Uniform {
    /// Returns an evaluator of positions encoded in `shape`.
    pub fn new(shape: Shape) -> Uniform {
        Uniform { shape }
    }
}

impl Evaluator for Uniform {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn preferred_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        let mut outcome = [0.0; MAX_SIDES + 1];
        let draw = self.shape.outcomes - 1;
        outcome[draw] = 1.0;
        for row in 0..batch.len() {
            batch.fill(row, &outcome[..=draw], MOVES_LEFT, |_| 0.0);
        }
        Ok(())
    }
}
