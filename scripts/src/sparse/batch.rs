//! Positions of one step, side by side.

use super::labels::{Labelled, PolicyTarget, ValueTarget};

/// Positions of one step. The inputs and moves of all positions follow one another.
#[derive(Debug, Default)]
pub(super) struct Batch {
    inputs: Vec<u16>,
    input_starts: Vec<usize>,
    move_rows: Vec<u16>,
    /// First move of each position, and the number of moves of all.
    move_starts: Vec<usize>,
    policies: Vec<(u16, f32)>,
    policy_starts: Vec<usize>,
    values: Vec<ValueTarget>,
    rows_per_move: usize,
}

impl Batch {
    /// Returns an empty batch of positions whose moves have `rows_per_move` rows each.
    pub(super) fn new(rows_per_move: usize) -> Batch {
        let mut batch = Batch { rows_per_move, ..Batch::default() };
        batch.clear();
        batch
    }

    pub(super) fn clear(&mut self) {
        self.inputs.clear();
        self.move_rows.clear();
        self.policies.clear();
        self.policy_starts.clear();
        self.policy_starts.push(0);
        self.values.clear();
        self.input_starts.clear();
        self.input_starts.push(0);
        self.move_starts.clear();
        self.move_starts.push(0);
    }

    pub(super) fn push(&mut self, position: &Labelled<'_>) {
        self.inputs.extend_from_slice(position.inputs);
        self.input_starts.push(self.inputs.len());
        self.move_rows.extend_from_slice(position.move_rows);
        self.move_starts.push(self.move_rows.len() / self.rows_per_move);
        let (policy, _) = position.policy.as_chunks::<2>();
        let total: f32 = policy.iter().map(|&[_, share]| f32::from(share)).sum();
        self.policies.extend(policy.iter().map(|&[m, share]| (m, f32::from(share) / total)));
        self.policy_starts.push(self.policies.len());
        let &Labelled { score, outcome, draws, turns_left, .. } = position;
        self.values.push(ValueTarget { score, outcome, draws, turns_left });
    }

    /// Returns the number of positions.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the active inputs of position `nth`.
    #[inline]
    pub(super) fn inputs(&self, nth: usize) -> &[u16] {
        &self.inputs[self.input_starts[nth]..self.input_starts[nth + 1]]
    }

    /// Returns the active inputs of all positions, one position after the other.
    pub(super) fn all_inputs(&self) -> &[u16] {
        &self.inputs
    }

    /// Returns the numbers of the moves of position `nth` among those of all positions.
    #[inline]
    pub(super) fn moves(&self, nth: usize) -> std::ops::Range<usize> {
        self.move_starts[nth]..self.move_starts[nth + 1]
    }

    /// Returns the number of moves of all positions.
    pub(super) fn move_count(&self) -> usize {
        self.move_starts[self.len()]
    }

    /// Returns the rows of a move, by its number among those of all positions.
    #[inline]
    pub(super) fn rows(&self, m: usize) -> &[u16] {
        &self.move_rows[m * self.rows_per_move..][..self.rows_per_move]
    }

    /// Returns the target of the policy of position `nth`.
    pub(super) fn policy(&self, nth: usize) -> &PolicyTarget {
        &self.policies[self.policy_starts[nth]..self.policy_starts[nth + 1]]
    }

    /// Returns the target of the value head of position `nth`.
    pub(super) fn value(&self, nth: usize) -> ValueTarget {
        self.values[nth]
    }
}
