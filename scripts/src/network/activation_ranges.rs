//! What the numbers inside a network are like, which its quantised form must know.

use menagerie::encoding::Shape;

use super::NetworkError;
use super::graph;
use super::graph_ir::GraphIr;

/// Positions that are looked at together.
const CHUNK: usize = 64;

/// The least and the greatest number of a value, nought always among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: f32,
    pub(crate) most: f32,
}

/// What is tried of a range, on both sides of nought.
const SHARES: [f32; 8] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];

/// The steps of a range in bytes.
const STEPS: f32 = 255.0;

/// Floats from here on have no fractions: a small number that is added and taken away again is
/// rounded to the nearest integer, ties to even, without a call for each.
const WHOLE: f32 = 12_582_912.0;

impl Range {
    /// So much of it.
    fn share(self, share: f32) -> Range {
        Range { least: share * self.least, most: share * self.most }
    }

    /// The sum of squares by which numbers change that are cut to the range and rounded to its steps.
    fn error(self, numbers: &[f32]) -> f64 {
        let step = ((self.most - self.least) / STEPS).max(f32::MIN_POSITIVE);
        let square = |&number: &f32| {
            let steps = number.clamp(self.least, self.most) / step;
            let rounded = (steps + WHOLE - WHOLE) * step;
            (rounded - number) * (rounded - number)
        };
        // Sums of a few in floats keep their digits.
        numbers.chunks(64).map(|part| f64::from(part.iter().map(square).sum::<f32>())).sum()
    }

    fn widen(&mut self, numbers: &[f32]) {
        self.least = numbers.iter().copied().fold(self.least, f32::min);
        self.most = numbers.iter().copied().fold(self.most, f32::max);
    }
}

/// What the numbers of a value are like.
#[derive(Clone, Debug)]
pub(crate) struct ActivationRanges {
    /// The range in which bytes tell them best: rare numbers far from nought are cut where that
    /// makes the mean squared error of all smaller.
    pub(crate) range: Range,
    /// Their mean in each channel.
    pub(crate) means: Vec<f32>,
}

/// The spread of each of a plan's values over some positions, in the order of the plan, the input
/// first. `planes` is `[positions, planes, height, width]`, flattened.
pub(crate) fn spreads(
    plan: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: &[f32],
) -> Result<Vec<ActivationRanges>, NetworkError> {
    let (expected, found) = (shape.input(), planes.len());
    if found == 0 || !found.is_multiple_of(expected) {
        return Err(NetworkError::Input { expected, found });
    }
    let chunks = || planes.chunks(CHUNK * expected);
    let values = |chunk: &[f32]| graph::values(plan, shape, weights, chunk.to_vec());
    let extents: Vec<_> = plan.places(shape.squares()).into_iter().zip(plan.rows()).collect();
    let mut spreads =
        vec![ActivationRanges { range: Range::default(), means: Vec::new() }; extents.len()];
    for chunk in chunks() {
        let positions = chunk.len() / expected;
        for ((spread, &(places, rows)), value) in
            spreads.iter_mut().zip(&extents).zip(values(chunk))
        {
            spread.range.widen(&value);
            let row = value.len() / positions / rows;
            spread.means.resize(row / places, 0.0);
            let whole = (found / expected * rows * places) as f32;
            for row in value.chunks_exact(row) {
                let channels = row.chunks_exact(places).map(|channel| channel.iter().sum::<f32>());
                spread.means.iter_mut().zip(channels).for_each(|(mean, sum)| *mean += sum / whole);
            }
        }
    }
    let mut errors = vec![[0.0; SHARES.len()]; spreads.len()];
    for chunk in chunks() {
        for ((errors, spread), value) in errors.iter_mut().zip(&spreads).zip(values(chunk)) {
            for (error, share) in errors.iter_mut().zip(SHARES) {
                *error += spread.range.share(share).error(&value);
            }
        }
    }
    for (spread, errors) in spreads.iter_mut().zip(errors) {
        spread.range = spread.range.share(best(errors));
    }
    Ok(spreads)
}

/// The share that gave the least error.
fn best(errors: [f64; SHARES.len()]) -> f32 {
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
        best(SHARES.map(|share| range.share(share).error(numbers)))
    }

    #[test]
    fn rare_numbers_are_cut_and_frequent_ones_are_not() {
        let mut numbers: Vec<f32> = (0..1_000_000).map(|i| i as f32 / 1e6).collect();
        assert_eq!(share_of(&numbers), 1.0);
        numbers.push(2.0);
        assert_eq!(share_of(&numbers), 0.5);
        assert_eq!(share_of(&[0.0, 0.0]), 1.0);
    }
}
