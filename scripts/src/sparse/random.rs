//! Weights of a network that has not learned anything, for tests and measurements.

use menagerie::encoding::SparseShape;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::SparseWeights;

impl SparseWeights {
    /// Returns small random weights of an encoding's shape: about half of the sums of the first layer are
    /// between 0 and 1.
    ///
    /// `hidden_size` is the width of the first layer, `policy_size` how many of its outputs the policy
    /// reads, `value_hidden` the hidden units of the value head.
    pub fn random(
        shape: SparseShape,
        [hidden_size, policy_size, value_hidden]: [usize; 3],
        seed: u64,
    ) -> SparseWeights {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut numbers = |count: usize, range: f32, middle: f32| -> Vec<f32> {
            (0..count).map(|_| middle + rng.random_range(-range..range)).collect()
        };
        let SparseShape { inputs, move_rows, outcomes, .. } = shape;
        SparseWeights {
            layout: String::new(),
            inputs,
            move_rows,
            outcomes,
            hidden_size,
            policy_size,
            value_hidden,
            input_table: numbers(inputs * hidden_size, 0.1, 0.0),
            input_bias: numbers(hidden_size, 0.2, 0.5),
            value_w1: numbers(value_hidden * hidden_size / 2, 0.2, 0.0),
            value_b1: numbers(value_hidden, 0.2, 0.1),
            outcome_w: numbers(outcomes * value_hidden, 0.5, 0.0),
            outcome_b: numbers(outcomes, 0.2, 0.0),
            moves_left_w: numbers(value_hidden, 0.5, 0.0),
            moves_left_b: 2.0,
            move_table: numbers(move_rows * policy_size, 0.2, 0.0),
        }
    }
}
