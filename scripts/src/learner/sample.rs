//! One position to train on.

use menagerie::encoding::Shape;

/// A position and the targets of the heads.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSample {
    /// The input, `[planes, height, width]` flattened.
    pub planes: Vec<f32>,
    /// Policy indices of the legal moves; empty if there is no policy target.
    pub legal: Vec<u16>,
    /// The policy target, move by move as in `legal`; sums to 1.
    pub policy: Vec<f32>,
    /// The target over the outcome classes, relative to the mover; sums to 1. Empty if there is no outcome
    /// target.
    pub outcome: Vec<f32>,
    /// Turns left in the game; `None` if there is no such target.
    pub moves_left: Option<f32>,
    /// The weight of the sample in a batch, usually 1; may be 0.
    pub weight: f32,
}

/// Why a sample does not fit a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A part with too many or too few numbers.
    #[error("{part} has {found} numbers, expected {expected}")]
    Length {
        /// The part.
        part: &'static str,
        /// The number of numbers that the network needs.
        expected: usize,
        /// The number of numbers in the sample.
        found: usize,
    },
    /// A policy index that is out of range or occurs twice.
    #[error("legal move {index} is out of range (the policy has {policy} moves) or occurs twice")]
    Legal {
        /// The index.
        index: u16,
        /// Length of the policy.
        policy: usize,
    },
    /// A target that is not a distribution.
    #[error("{part} is not a distribution: its sum is {sum}, its least number {least}")]
    Distribution {
        /// The part.
        part: &'static str,
        /// The sum of its numbers.
        sum: f32,
        /// The least of its numbers.
        least: f32,
    },
    /// A number that is not finite, or negative where it must not be.
    #[error("{part} has the invalid number {value}")]
    Number {
        /// The part.
        part: &'static str,
        /// The number.
        value: f32,
    },
}

impl TrainingSample {
    /// Checks that the sample fits a network of this shape.
    ///
    /// # Errors
    /// [`SampleError`] for the first part that does not fit.
    pub fn check(&self, shape: Shape) -> Result<(), SampleError> {
        let length = |part, found, expected| {
            if found == expected {
                Ok(())
            } else {
                Err(SampleError::Length { part, expected, found })
            }
        };
        length("planes", self.planes.len(), shape.input())?;
        length("policy", self.policy.len(), self.legal.len())?;
        if !self.outcome.is_empty() {
            length("outcome", self.outcome.len(), shape.outcomes)?;
            check_distribution("outcome", &self.outcome)?;
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
        if self.legal.is_empty() { Ok(()) } else { check_distribution("policy", &self.policy) }
    }
}

fn check_distribution(part: &'static str, numbers: &[f32]) -> Result<(), SampleError> {
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

    fn sample() -> TrainingSample {
        TrainingSample {
            planes: vec![0.0, 1.0],
            legal: vec![3, 0],
            policy: vec![0.25, 0.75],
            outcome: vec![1.0, 0.0],
            moves_left: Some(4.0),
            weight: 1.0,
        }
    }

    #[test]
    fn check_accepts_samples_that_fit() {
        assert_eq!(sample().check(SHAPE), Ok(()));
        let value_only = TrainingSample { legal: vec![], policy: vec![], ..sample() };
        assert_eq!(value_only.check(SHAPE), Ok(()));
    }

    #[test]
    fn check_refuses_samples_that_do_not_fit() {
        let refused = [
            TrainingSample { planes: vec![0.0], ..sample() },
            TrainingSample { planes: vec![0.0, f32::NAN], ..sample() },
            TrainingSample { policy: vec![1.0], ..sample() },
            TrainingSample { policy: vec![0.5, f32::NAN], ..sample() },
            TrainingSample { policy: vec![1.5, -0.5], ..sample() },
            TrainingSample { legal: vec![3, 4], ..sample() },
            TrainingSample { legal: vec![3, 3], ..sample() },
            TrainingSample { outcome: vec![1.0, 0.5], ..sample() },
            TrainingSample { outcome: vec![1.0], ..sample() },
            TrainingSample { moves_left: Some(-1.0), ..sample() },
            TrainingSample { weight: f32::INFINITY, ..sample() },
        ];
        for sample in refused {
            assert!(sample.check(SHAPE).is_err(), "{sample:?}");
        }
    }
}
