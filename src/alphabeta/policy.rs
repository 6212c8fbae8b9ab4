//! The policy of a node: probabilities from the logits of its moves, and what they add to reductions.

/// Moves of a greater probability are reduced a ply less, moves of a smaller one a ply more.
const EXPECTED: f32 = 0.175;
const UNEXPECTED: f32 = 0.005;

/// What turns logits of the moves of a node into probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    greatest: f32,
    sum: f32,
}

impl Policy {
    pub(super) fn new(logits: &[f32]) -> Policy {
        let greatest = logits.iter().copied().fold(f32::MIN, f32::max);
        let sum = logits.iter().map(|logit| libm::expf(logit - greatest)).sum();
        Policy { greatest, sum }
    }

    /// Returns the probability of a move; `None` if the policy was not asked.
    pub(super) fn probability(&self, logits: &[f32], index: usize) -> Option<f32> {
        let logit = logits.get(index)?;
        Some(libm::expf(logit - self.greatest) / self.sum)
    }
}

/// Returns by how many plies more a move of this probability is reduced.
#[inline]
pub(super) fn reduction_by_policy(probability: f32) -> i32 {
    i32::from(probability < UNEXPECTED) - i32::from(probability > EXPECTED)
}
