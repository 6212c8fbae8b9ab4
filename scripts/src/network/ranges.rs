//! How far the numbers inside a network reach, which its quantised form must know.

use menagerie::encoding::Shape;

use super::NetworkError;
use super::graph;
use super::plan::Plan;

/// Positions that are looked at together.
const CHUNK: usize = 64;

/// The least and the greatest number of a value, nought always among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: f32,
    pub(crate) most: f32,
}

impl Range {
    fn widen(&mut self, numbers: &[f32]) {
        self.least = numbers.iter().copied().fold(self.least, f32::min);
        self.most = numbers.iter().copied().fold(self.most, f32::max);
    }
}

/// The range of each of a plan's values over some positions, in the order of the plan, the input
/// first. `planes` is `[positions, planes, height, width]`, flattened.
pub(crate) fn ranges(
    plan: &Plan,
    shape: Shape,
    weights: &[f32],
    planes: &[f32],
) -> Result<Vec<Range>, NetworkError> {
    let (expected, found) = (shape.input(), planes.len());
    if found == 0 || !found.is_multiple_of(expected) {
        return Err(NetworkError::Input { expected, found });
    }
    let mut ranges = vec![Range::default(); plan.ops.len() + 1];
    for chunk in planes.chunks(CHUNK * expected) {
        let values = graph::values(plan, shape, weights, chunk.to_vec());
        ranges.iter_mut().zip(values).for_each(|(range, value)| range.widen(&value));
    }
    Ok(ranges)
}
