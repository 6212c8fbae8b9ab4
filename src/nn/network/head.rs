//! The head of a two-board network, which joins two boards.

use ort::value::TensorRef;

use super::{NetworkError, PLANES, run_error, select};

/// The names of the outputs with the weights of the head, from `value.hidden` and the dense layers `outcome`
/// and `moves_left`: `[units]`, `[units, outcomes]`, `[outcomes]`, `[units, 1]`, `[1]`.
pub const HEAD: [&str; 5] =
    ["value.hidden.bias", "outcome.weight", "outcome.bias", "moves_left.weight", "moves_left.bias"];

/// The number of turns of one unit of the moves-left head.
///
/// The last dense layer computes a number `raw`, and the output is `MOVES_LEFT_SCALE * softplus(raw)` turns,
/// so that games of 5 and of 200 turns both need small weights only.
pub const MOVES_LEFT_SCALE: f32 = 10.0;

/// Returns the moves left, in turns, of the number `raw` that the last dense layer computes.
pub(super) fn turns_left(raw: f32) -> f32 {
    // The logarithm of 1 + e^raw without overflow.
    MOVES_LEFT_SCALE * (raw.max(0.0) + libm::log1pf(libm::expf(-raw.abs())))
}

/// The last layers of a two-board network: hidden units with a ReLU, to which each board contributes, and the
/// outcome and moves left computed from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The biases of the units.
    bias: Vec<f32>,
    /// The weights of each unit: for the outcomes, then for the moves left.
    weights: Vec<f32>,
    /// The biases of the outcomes, then of the moves left.
    biases: Vec<f32>,
}

impl Head {
    /// Reads the head of a two-board network with planes of these dimensions, whose output `halves` has
    /// `halves` numbers a row.
    pub(super) fn read(
        session: &mut ort::session::Session,
        [channels, height, width]: [usize; 3],
        halves: usize,
    ) -> Result<Head, NetworkError> {
        let planes = vec![0.0_f32; channels * height * width];
        let axes = [1, channels, height, width];
        let input = TensorRef::from_array_view((axes, &planes[..])).map_err(run_error)?;
        let outputs = select(&HEAD)?;
        let results =
            session.run_with_options(ort::inputs![PLANES => input], &outputs).map_err(run_error)?;
        let mut parts = Vec::new();
        for name in HEAD {
            let result =
                results.get(name).ok_or_else(|| NetworkError::Head(format!("no {name:?}")))?;
            let (_, numbers) = result.try_extract_tensor::<f32>().map_err(run_error)?;
            parts.push(numbers.to_vec());
        }
        let parts: [Vec<f32>; 5] =
            parts.try_into().map_err(|_| NetworkError::Head("missing parts".into()))?;
        let head = Head::new(parts)?;
        let units = head.units();
        if 2 * units != halves {
            let expected = 2 * units;
            return Err(NetworkError::Head(format!(
                "{units} units and needs {expected} halves, but a row has {halves}"
            )));
        }
        Ok(head)
    }

    /// Returns a head with weights in the order of [`HEAD`].
    ///
    /// # Errors
    /// [`NetworkError::Head`] if their sizes are inconsistent, or a weight is not finite.
    pub fn new(parts: [Vec<f32>; 5]) -> Result<Head, NetworkError> {
        let sizes = parts.each_ref().map(Vec::len);
        let [bias, outcome, outcome_bias, moves_left, moves_left_bias] = parts;
        let [units, _, outcomes, _, _] = sizes;
        if units == 0 || outcomes < 2 || sizes != [units, units * outcomes, outcomes, units, 1] {
            return Err(NetworkError::Head(format!("layers of {sizes:?} numbers")));
        }
        let rows = outcome.chunks_exact(outcomes).zip(&moves_left);
        let weights: Vec<f32> =
            rows.flat_map(|(row, last)| row.iter().chain([last])).copied().collect();
        let biases: Vec<f32> = outcome_bias.into_iter().chain(moves_left_bias).collect();
        let all = [&bias, &weights, &biases];
        let invalid = all.into_iter().flatten().copied().find(|number| !number.is_finite());
        match invalid {
            Some(number) => Err(NetworkError::Head(format!("a weight of {number}"))),
            None => Ok(Head { bias, weights, biases }),
        }
    }

    /// Returns the number of units. A row of `halves` has twice as many numbers.
    pub fn units(&self) -> usize {
        self.bias.len()
    }

    /// Returns the number of outcomes.
    pub fn outcomes(&self) -> usize {
        self.biases.len() - 1
    }

    /// Joins the contributions of two boards to the units. Writes the logits of the outcomes to `outcome`,
    /// and returns the moves left.
    pub fn join(&self, halves: [impl Iterator<Item = f32>; 2], outcome: &mut Vec<f32>) -> f32 {
        outcome.clear();
        outcome.extend_from_slice(&self.biases);
        let [first, other] = halves;
        let rows = self.weights.chunks_exact(self.biases.len());
        for (((bias, first), other), row) in self.bias.iter().zip(first).zip(other).zip(rows) {
            let unit = (bias + first + other).max(0.0);
            for (sum, weight) in outcome.iter_mut().zip(row) {
                *sum += unit * weight;
            }
        }
        let raw = outcome.pop().unwrap_or_default();
        turns_left(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> [Vec<f32>; 5] {
        [vec![0.5, -1.0], vec![1.0, 2.0, 3.0, 4.0], vec![0.1, 0.2], vec![1.0, -1.0], vec![0.0]]
    }

    #[test]
    fn head_joins_halves() {
        let head = Head::new(parts()).expect("a head");
        assert_eq!((head.units(), head.outcomes()), (2, 2));
        let mut outcome = vec![7.0];
        let halves = [[1.0, 0.25], [0.5, 0.25]].map(IntoIterator::into_iter);
        // The units are 2 and -0.5 before the ReLU.
        let moves_left = head.join(halves, &mut outcome);
        assert_eq!(outcome, [2.1, 4.2]);
        assert!((moves_left - 10.0 * (1.0 + 2.0_f32.exp()).ln()).abs() < 1e-4);
    }

    #[test]
    fn head_with_inconsistent_sizes_is_refused() {
        for change in 0..5 {
            let mut parts = parts();
            parts[change].push(1.0);
            assert!(Head::new(parts).is_err(), "{change}");
        }
        let mut parts = parts();
        parts[1][2] = f32::NAN;
        let error = Head::new(parts).unwrap_err();
        assert_eq!(error.to_string(), "the network's head has a weight of NaN");
    }
}
