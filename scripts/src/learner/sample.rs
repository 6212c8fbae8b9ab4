//! One position to learn from.

use menagerie::encoding::Shape;

/// A position and what a network should say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The input, `[planes, height, width]` flattened.
    pub planes: Vec<f32>,
    /// Policy indices of the legal moves. Empty: the policy is not trained on this position.
    pub legal: Vec<u16>,
    /// The target over `legal`, move by move; sums to 1.
    pub policy: Vec<f32>,
    /// The target over the outcome's classes, relative to the mover; sums to 1. Empty: the outcome
    /// is not trained on this position.
    pub outcome: Vec<f32>,
    /// Turns left in the game. `None`: the moves left are not trained on this position.
    pub moves_left: Option<f32>,
    /// How much the sample counts beside others; 1 as a rule, 0 for not at all.
    pub weight: f32,
}

/// Why a sample does not fit a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A part with too many or too few numbers.
    #[error("its {part} holds {found} numbers instead of {expected}")]
    Length {
        /// Which part.
        part: &'static str,
        /// Numbers needed.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// A policy index beyond the policy, or given twice.
    #[error("the legal move {index} is beyond the policy's {policy} moves, or is given twice")]
    Legal {
        /// The index.
        index: u16,
        /// Length of the policy.
        policy: usize,
    },
    /// A target that is no distribution.
    #[error("its {part} is no distribution: the numbers sum to {sum} and the least is {least}")]
    Distribution {
        /// Which part.
        part: &'static str,
        /// What its numbers sum to.
        sum: f32,
        /// The least of its numbers.
        least: f32,
    },
    /// A number that is infinite or not a number, or negative where it may not be.
    #[error("its {part} holds {value}")]
    Number {
        /// Which part.
        part: &'static str,
        /// The number.
        value: f32,
    },
}

impl Sample {
    /// Checks that the sample fits a network of this shape.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, shape: Shape) -> Result<(), SampleError> {
        let length = |part, found, expected| {
            let fits = found == expected;
            if fits { Ok(()) } else { Err(SampleError::Length { part, expected, found }) }
        };
        length("planes", self.planes.len(), shape.input())?;
        length("policy", self.policy.len(), self.legal.len())?;
        if !self.outcome.is_empty() {
            length("outcome", self.outcome.len(), shape.outcomes)?;
            distribution("outcome", &self.outcome)?;
        }
        if let Some(&value) = self.planes.iter().find(|value| !value.is_finite()) {
            return Err(SampleError::Number { part: "planes", value });
        }
        for (part, value) in
            [("moves_left", self.moves_left.unwrap_or(0.0)), ("weight", self.weight)]
        {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SampleError::Number { part, value });
            }
        }
        let policy = shape.policy();
        if let Some(&index) = self.legal.iter().find(|&&index| usize::from(index) >= policy) {
            return Err(SampleError::Legal { index, policy });
        }
        if !self.legal.is_sorted_by(|a, b| a < b) {
            let mut sorted = self.legal.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(SampleError::Legal { index: pair[0], policy });
            }
        }
        if self.legal.is_empty() { Ok(()) } else { distribution("policy", &self.policy) }
    }
}

fn distribution(part: &'static str, numbers: &[f32]) -> Result<(), SampleError> {
    let sum: f32 = numbers.iter().sum();
    let least = numbers.iter().copied().fold(f32::INFINITY, f32::min);
    // A NaN among the numbers makes the sum NaN, which fails here too.
    if least >= 0.0 && (sum - 1.0).abs() <= 1e-3 {
        Ok(())
    } else {
        Err(SampleError::Distribution { part, sum, least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { planes: 1, height: 1, width: 2, policy_planes: 2, outcomes: 2 };

    fn sample() -> Sample {
        Sample {
            planes: vec![0.0, 1.0],
            legal: vec![3, 0],
            policy: vec![0.25, 0.75],
            outcome: vec![1.0, 0.0],
            moves_left: Some(4.0),
            weight: 1.0,
        }
    }

    #[test]
    fn a_sample_that_fits_is_taken() {
        assert_eq!(sample().check(SHAPE), Ok(()));
        let value_only = Sample { legal: vec![], policy: vec![], ..sample() };
        assert_eq!(value_only.check(SHAPE), Ok(()));
    }

    #[test]
    fn a_sample_that_does_not_fit_is_refused() {
        let refused = [
            Sample { planes: vec![0.0], ..sample() },
            Sample { planes: vec![0.0, f32::NAN], ..sample() },
            Sample { policy: vec![1.0], ..sample() },
            Sample { policy: vec![0.5, f32::NAN], ..sample() },
            Sample { policy: vec![1.5, -0.5], ..sample() },
            Sample { legal: vec![3, 4], ..sample() },
            Sample { legal: vec![3, 3], ..sample() },
            Sample { outcome: vec![1.0, 0.5], ..sample() },
            Sample { outcome: vec![1.0], ..sample() },
            Sample { moves_left: Some(-1.0), ..sample() },
            Sample { weight: f32::INFINITY, ..sample() },
        ];
        for sample in refused {
            assert!(sample.check(SHAPE).is_err(), "{sample:?}");
        }
    }
}
