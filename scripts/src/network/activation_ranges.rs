//! Activation ranges: the calibration of int8 networks.

use menagerie::encoding::Shape;

use super::NetworkError;
use super::graph;
use super::graph_ir::GraphIr;

/// Number of positions that are evaluated together.
const CHUNK_POSITIONS: usize = 64;

/// The least and the greatest number of a value; 0 is always between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: f32,
    pub(crate) max: f32,
}

/// Shares of the full range that are tried.
const SHARES: [f32; 8] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];

/// The number of steps of a range in 8 bits.
const STEPS: f32 = 255.0;

/// Floats of this size have no fractions: adding it to a small number and subtracting it again rounds the number
/// to the nearest integer, ties to even, without a function call.
const ROUNDING_OFFSET: f32 = 12_582_912.0;

impl Range {
    /// Returns this share of the range.
    fn share(self, share: f32) -> Range {
        Range { min: share * self.min, max: share * self.max }
    }

    /// Returns the sum of squared errors of numbers that are clipped to the range and rounded to its steps.
    fn error(self, numbers: &[f32]) -> f64 {
        let step = ((self.max - self.min) / STEPS).max(f32::MIN_POSITIVE);
        let square = |&number: &f32| {
            let steps = number.clamp(self.min, self.max) / step;
            let rounded = (steps + ROUNDING_OFFSET - ROUNDING_OFFSET) * step;
            (rounded - number) * (rounded - number)
        };
        // Short sums keep their precision in 32-bit floats.
        numbers.chunks(64).map(|part| f64::from(part.iter().map(square).sum::<f32>())).sum()
    }

    fn widen(&mut self, numbers: &[f32]) {
        self.min = numbers.iter().copied().fold(self.min, f32::min);
        self.max = numbers.iter().copied().fold(self.max, f32::max);
    }
}

/// Statistics of the numbers of a value.
#[derive(Clone, Debug)]
pub(crate) struct ActivationRanges {
    /// The range of 8-bit numbers with the least mean squared error: rare large numbers may be clipped.
    pub(crate) range: Range,
    /// Their mean in each channel.
    pub(crate) means: Vec<f32>,
}

/// Returns the activation ranges of each value of a graph over some positions, the input first. `planes` is
/// `[positions, planes, height, width]`, flattened.
///
/// # Errors
/// [`NetworkError::Input`] if there are no positions, or `planes` is not a whole number of them.
pub(crate) fn measure_ranges(
    graph: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: &[f32],
) -> Result<Vec<ActivationRanges>, NetworkError> {
    let expected = shape.input();
    let found = planes.len();
    if found == 0 || !found.is_multiple_of(expected) {
        return Err(NetworkError::Input { expected, found });
    }
    let chunks = || planes.chunks(CHUNK_POSITIONS * expected);
    let values = |chunk: &[f32]| graph::values(graph, shape, weights, chunk.to_vec());
    let extents: Vec<_> =
        graph.squares_of_values(shape.squares()).into_iter().zip(graph.rows()).collect();
    let mut ranges =
        vec![ActivationRanges { range: Range::default(), means: Vec::new() }; extents.len()];
    for chunk in chunks() {
        let positions = chunk.len() / expected;
        for ((activation, &(squares, rows)), value) in
            ranges.iter_mut().zip(&extents).zip(values(chunk))
        {
            activation.range.widen(&value);
            let row = value.len() / positions / rows;
            activation.means.resize(row / squares, 0.0);
            let count = (found / expected * rows * squares) as f32;
            for row in value.chunks_exact(row) {
                let channels = row.chunks_exact(squares).map(|channel| channel.iter().sum::<f32>());
                for (mean, sum) in activation.means.iter_mut().zip(channels) {
                    *mean += sum / count;
                }
            }
        }
    }
    let mut errors = vec![[0.0; SHARES.len()]; ranges.len()];
    for chunk in chunks() {
        for ((errors, activation), value) in errors.iter_mut().zip(&ranges).zip(values(chunk)) {
            for (error, share) in errors.iter_mut().zip(SHARES) {
                *error += activation.range.share(share).error(&value);
            }
        }
    }
    for (activation, errors) in ranges.iter_mut().zip(errors) {
        activation.range = activation.range.share(best_share(errors));
    }
    Ok(ranges)
}

/// Returns the share with the least error.
fn best_share(errors: [f64; SHARES.len()]) -> f32 {
    let tried = errors.into_iter().zip(SHARES);
    let least = tried.reduce(|least, next| if next.0 < least.0 { next } else { least });
    least.map_or(1.0, |(_, share)| share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(numbers: &[f32]) -> f32 {
        let mut range = Range::default();
        range.widen(numbers);
        best_share(SHARES.map(|share| range.share(share).error(numbers)))
    }

    #[test]
    fn rare_numbers_are_clipped() {
        let mut numbers: Vec<f32> = (0..1_000_000).map(|i| i as f32 / 1e6).collect();
        assert_eq!(share_of(&numbers), 1.0);
        numbers.push(2.0);
        assert_eq!(share_of(&numbers), 0.5);
        assert_eq!(share_of(&[0.0, 0.0]), 1.0);
    }
}
