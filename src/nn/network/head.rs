//! What a two_board makes of two tables together.

use ort::value::TensorRef;

use super::{NetworkError, PLANES, select, words};

/// The names of the outputs that hold a head's weights, as `value.hidden` and the dense layers
/// `outcome` and `moves_left` have them: `[units]`, `[units, outcomes]`, `[outcomes]`, `[units, 1]`, `[1]`.
pub const HEAD: [&str; 5] =
    ["value.hidden.bias", "outcome.weight", "outcome.bias", "moves_left.weight", "moves_left.bias"];

/// Turns that one unit of the moves-left head's own scale stands for.
///
/// The head's last dense layer gives a number `raw`; the network's output is
/// `MOVES_LEFT_SCALE * softplus(raw)` turns, so that games of five and of two hundred turns both
/// need only small weights.
pub const MOVES_LEFT_SCALE: f32 = 10.0;

/// The last layers of a two_board, after both tables have met: units with a ReLU, to which each table adds
/// its half, and from them the outcome and the moves that are left.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The units' biases.
    bias: Vec<f32>,
    /// For each unit its weights for the outcomes, and for the moves left.
    weights: Vec<f32>,
    /// The biases of these.
    biases: Vec<f32>,
}

impl Head {
    /// Reads the head of a two_board, which has so many `halves` in a row, of planes of these `axes`.
    pub(super) fn read(
        session: &mut ort::session::Session,
        [channels, height, width]: [usize; 3],
        halves: usize,
    ) -> Result<Head, NetworkError> {
        let run = |error| NetworkError::Run(words(error));
        let planes = vec![0.0_f32; channels * height * width];
        let axes = [1, channels, height, width];
        let input = TensorRef::from_array_view((axes, &planes[..])).map_err(run)?;
        let outputs = select(&HEAD)?;
        let results =
            session.run_with_options(ort::inputs![PLANES => input], &outputs).map_err(run)?;
        let mut parts = Vec::new();
        for name in HEAD {
            let result =
                results.get(name).ok_or_else(|| NetworkError::Head(format!("no {name:?}")))?;
            let (_, numbers) = result.try_extract_tensor::<f32>().map_err(run)?;
            parts.push(numbers.to_vec());
        }
        let parts: [Vec<f32>; 5] =
            parts.try_into().map_err(|_| NetworkError::Head("parts".into()))?;
        Head::new(parts).and_then(|head| match 2 * head.units() {
            wanted if wanted == halves => Ok(head),
            wanted => Err(NetworkError::Head(format!(
                "{} units, which are {wanted} halves, but a row has {halves}",
                head.units()
            ))),
        })
    }

    /// A head of the weights that [`HEAD`] names.
    ///
    /// # Errors
    /// If their sizes do not fit one another, or one is no number.
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
        let odd = all.into_iter().flatten().copied().find(|number| !number.is_finite());
        match odd {
            Some(number) => Err(NetworkError::Head(format!("a weight of {number}"))),
            None => Ok(Head { bias, weights, biases }),
        }
    }

    /// Its units; a row of `halves` has twice as many numbers.
    pub fn units(&self) -> usize {
        self.bias.len()
    }

    /// How many outcomes there are.
    pub fn outcomes(&self) -> usize {
        self.biases.len() - 1
    }

    /// The logits of the outcome, which go to `outcome`, and the moves left of a position of which
    /// this is what the two tables add to the units.
    pub fn join(&self, halves: [impl Iterator<Item = f32>; 2], outcome: &mut Vec<f32>) -> f32 {
        outcome.clear();
        outcome.extend_from_slice(&self.biases);
        let [first, other] = halves;
        let rows = self.weights.chunks_exact(self.biases.len());
        for (((bias, first), other), row) in self.bias.iter().zip(first).zip(other).zip(rows) {
            let unit = (bias + first + other).max(0.0);
            outcome.iter_mut().zip(row).for_each(|(sum, weight)| *sum += unit * weight);
        }
        let raw = outcome.pop().unwrap_or_default();
        // ln(1 + e^raw) without overflow.
        MOVES_LEFT_SCALE * (raw.max(0.0) + (-raw.abs()).exp().ln_1p())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> [Vec<f32>; 5] {
        [vec![0.5, -1.0], vec![1.0, 2.0, 3.0, 4.0], vec![0.1, 0.2], vec![1.0, -1.0], vec![0.0]]
    }

    #[test]
    fn halves_are_added_cut_and_weighed() {
        let head = Head::new(parts()).expect("a head");
        assert_eq!((head.units(), head.outcomes()), (2, 2));
        let mut outcome = vec![7.0];
        let halves = [[1.0, 0.25], [0.5, 0.25]].map(IntoIterator::into_iter);
        // The units are 2 and -0.5, of which 0 is left.
        let moves_left = head.join(halves, &mut outcome);
        assert_eq!(outcome, [2.1, 4.2]);
        assert!((moves_left - 10.0 * (1.0 + 2.0_f32.exp()).ln()).abs() < 1e-4);
    }

    #[test]
    fn a_head_that_does_not_fit_itself_is_refused() {
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
