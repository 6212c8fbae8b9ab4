//! One unit of a sparse network: some columns of its tables, with all that is computed from them alone.
//!
//! Units share nothing, so that threads can work on them without locks, and results do not depend on the
//! number of threads.

use std::ops::Range;

use menagerie::encoding::sparse::Block;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::loss::MoveGradient;
use super::optimizer::{Parameters, Step};

/// Numbers of `x` that a unit computes.
pub(super) const LANE: usize = 32;

/// Columns of the accumulator that it needs for them: as many of each half.
const WIDTH: usize = 2 * LANE;

/// Limit of the weights of the input table: int8 rows of scale 64 hold them.
pub(super) const INPUT_LIMIT: f32 = 1.98;

/// Limit of the weights of the move table.
const MOVE_LIMIT: f32 = 4.0;

/// Limit of the weights of the dense layers.
pub(super) const DENSE_LIMIT: f32 = 16.0;

/// Rows that input rows share: the group of each input, if it has one, and the inputs of each group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Groups {
    pub(super) of_input: Vec<Option<u32>>,
    pub(super) members: Vec<Range<usize>>,
}

impl Groups {
    /// Returns the groups of an encoding's inputs.
    pub(super) fn new(blocks: &[Block]) -> Groups {
        let mut groups = Groups::default();
        for block in blocks {
            for input in block.first..block.first + block.size {
                if block.group == 1 {
                    groups.of_input.push(None);
                    continue;
                }
                if (input - block.first).is_multiple_of(block.group) {
                    groups.members.push(input..input + block.group);
                }
                groups.of_input.push(Some(groups.members.len() as u32 - 1));
            }
        }
        groups
    }
}

/// Rows with gradients in a step, each once and in order.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) inputs: Vec<u16>,
    pub(super) groups: Vec<u32>,
    pub(super) moves: Vec<u16>,
}

/// Weights of a unit. Row `i` of a table of width `W` is numbers `i * W` to `(i + 1) * W`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// `[inputs, WIDTH]`: columns of the lower half, then those of the upper half.
    inputs: Parameters,
    /// `[groups, WIDTH]`
    groups: Parameters,
    /// `[WIDTH]`
    bias: Parameters,
    /// `[LANE, value_hidden]`
    value: Parameters,
    /// `[move_rows + 1, LANE]`, the last row zeros; empty in units that the policy does not read.
    moves: Parameters,
    /// Input rows with the rows of their groups added, within [`INPUT_LIMIT`].
    #[serde(skip)]
    pub(super) merged: Vec<f32>,
}

/// What a unit computes for a batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// `[positions, WIDTH]`, before the clamp.
    accumulators: Vec<f32>,
    /// `[positions, LANE]`
    x: Vec<f32>,
    /// `[positions, LANE]`: `x` as the value head sees it.
    value_x: Vec<f32>,
    /// Its part of the hidden layer, `[positions, value_hidden]`.
    pub(super) hidden: Vec<f32>,
    /// Its part of the logits of all moves.
    pub(super) logits: Vec<f32>,
    /// `[positions, LANE]`
    x_gradient: Vec<f32>,
}

/// Random numbers that a unit is made of.
pub(super) struct Initial<'a> {
    pub(super) inputs: usize,
    pub(super) groups: usize,
    pub(super) value_hidden: usize,
    /// Rows of the move table, 0 where the policy does not read the unit.
    pub(super) move_rows: usize,
    pub(super) value_scale: f32,
    /// Returns a number from -1 to 1.
    pub(super) random: &'a mut dyn FnMut() -> f32,
}

impl Unit {
    pub(super) fn new(initial: Initial<'_>) -> Unit {
        let Initial { inputs, groups, value_hidden, move_rows, value_scale, random } = initial;
        let mut numbers = |count: usize, scale: f32| -> Parameters {
            Parameters::new((0..count).map(|_| scale * random()).collect())
        };
        let mut moves = numbers(move_rows * LANE, 0.03);
        if move_rows > 0 {
            moves.weights.extend([0.0; LANE]);
            moves = Parameters::new(moves.weights);
        }
        Unit {
            inputs: numbers(inputs * WIDTH, 0.07),
            groups: Parameters::new(vec![0.0; groups * WIDTH]),
            bias: Parameters::new(vec![0.3; WIDTH]),
            value: numbers(LANE * value_hidden, value_scale),
            moves,
            merged: Vec::new(),
        }
    }

    /// Returns whether all tables have the given sizes.
    pub(super) fn is_of(
        &self,
        inputs: usize,
        groups: usize,
        value_hidden: usize,
        move_rows: usize,
    ) -> bool {
        let padded = if move_rows > 0 { move_rows + 1 } else { 0 };
        self.inputs.is_of(inputs * WIDTH)
            && self.groups.is_of(groups * WIDTH)
            && self.bias.is_of(WIDTH)
            && self.value.is_of(LANE * value_hidden)
            && self.moves.is_of(padded * LANE)
    }

    /// Computes what is not in a checkpoint.
    pub(super) fn restore(&mut self, groups: &Groups) {
        for parameters in
            [&mut self.inputs, &mut self.groups, &mut self.bias, &mut self.value, &mut self.moves]
        {
            parameters.restore();
        }
        self.merged = vec![0.0; self.inputs.weights.len()];
        self.merge_all(groups);
    }

    /// Adds the rows of groups to those of all inputs.
    pub(super) fn merge_all(&mut self, groups: &Groups) {
        for input in 0..groups.of_input.len() {
            self.merge(groups, input);
        }
    }

    #[inline(always)]
    fn merge(&mut self, groups: &Groups, input: usize) {
        let own = &self.inputs.weights[input * WIDTH..][..WIDTH];
        let merged = &mut self.merged[input * WIDTH..][..WIDTH];
        let Some(group) = groups.of_input[input] else {
            merged.copy_from_slice(own);
            return;
        };
        let shared = &self.groups.weights[group as usize * WIDTH..][..WIDTH];
        for i in 0..WIDTH {
            merged[i] = (own[i] + shared[i]).clamp(-INPUT_LIMIT, INPUT_LIMIT);
        }
    }

    /// Returns the rows of the input table for a half, 0 or 1, `LANE` numbers a row.
    pub(super) fn input_columns(&self, half: usize) -> impl Iterator<Item = &[f32]> {
        self.merged.chunks_exact(WIDTH).map(move |row| &row[half * LANE..][..LANE])
    }

    /// Returns the rows of the inputs' own table, without those of their groups, for a half, 0 or 1.
    pub(super) fn input_columns_mut(&mut self, half: usize) -> impl Iterator<Item = &mut [f32]> {
        let rows = self.inputs.weights.chunks_exact_mut(WIDTH);
        rows.map(move |row| &mut row[half * LANE..][..LANE])
    }

    /// Returns the bias of a half.
    pub(super) fn bias_columns_mut(&mut self, half: usize) -> &mut [f32] {
        &mut self.bias.weights[half * LANE..][..LANE]
    }

    /// Returns the rows of the value head, one per number of `x`.
    pub(super) fn value_rows_mut(
        &mut self,
        value_hidden: usize,
    ) -> impl Iterator<Item = &mut [f32]> {
        self.value.weights.chunks_exact_mut(value_hidden)
    }

    /// Returns the rows of the move table with the padding row; none where the policy reads nothing.
    pub(super) fn move_columns_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.moves.weights.chunks_exact_mut(LANE)
    }

    /// Returns the bias of a half.
    pub(super) fn bias_columns(&self, half: usize) -> &[f32] {
        &self.bias.weights[half * LANE..][..LANE]
    }

    /// Returns the rows of the value head, one per number of `x`.
    pub(super) fn value_rows(&self, value_hidden: usize) -> impl Iterator<Item = &[f32]> {
        self.value.weights.chunks_exact(value_hidden)
    }

    /// Returns the rows of the move table with the padding row; none where the policy reads nothing.
    pub(super) fn move_columns(&self) -> impl Iterator<Item = &[f32]> {
        self.moves.weights.chunks_exact(LANE)
    }

    /// Returns a table by its number in the tests: inputs, bias, value, moves.
    #[cfg(test)]
    pub(super) fn table(&mut self, which: usize) -> &mut Parameters {
        match which {
            0 => &mut self.inputs,
            1 => &mut self.bias,
            2 => &mut self.value,
            _ => &mut self.moves,
        }
    }

    fn has_policy(&self) -> bool {
        !self.moves.weights.is_empty()
    }

    /// Computes accumulators, `x`, and the unit's parts of the hidden layer and of the logits. Bits of
    /// `kept` say which numbers of `x` the value head sees, one word a position; all without words. Those
    /// are multiplied by `kept_scale`.
    #[inline(always)]
    pub(super) fn forward(
        &self,
        batch: &Batch,
        value_hidden: usize,
        kept: &[u32],
        kept_scale: f32,
        scratch: &mut Scratch,
    ) {
        let positions = batch.len();
        scratch.accumulators.resize(positions * WIDTH, 0.0);
        scratch.x.resize(positions * LANE, 0.0);
        scratch.value_x.resize(positions * LANE, 0.0);
        scratch.hidden.clear();
        scratch.hidden.resize(positions * value_hidden, 0.0);
        scratch.logits.clear();
        scratch.logits.resize(if self.has_policy() { batch.move_count() } else { 0 }, 0.0);
        let (table, _) = self.merged.as_chunks::<WIDTH>();
        let (moves, _) = self.moves.weights.as_chunks::<LANE>();
        let (bias, _) = self.bias.weights.as_chunks::<WIDTH>();
        let (accumulators, _) = scratch.accumulators.as_chunks_mut::<WIDTH>();
        let (all_x, _) = scratch.x.as_chunks_mut::<LANE>();
        let (all_value_x, _) = scratch.value_x.as_chunks_mut::<LANE>();
        for nth in 0..positions {
            let mut sum = bias[0];
            for &input in batch.inputs(nth) {
                let row = &table[usize::from(input)];
                for i in 0..WIDTH {
                    sum[i] += row[i];
                }
            }
            accumulators[nth] = sum;
            let x = &mut all_x[nth];
            for i in 0..LANE {
                x[i] = sum[i].clamp(0.0, 1.0) * sum[i + LANE].clamp(0.0, 1.0);
            }
            let value_x = &mut all_value_x[nth];
            *value_x = *x;
            if let Some(&kept) = kept.get(nth) {
                for (i, factor) in value_x.iter_mut().enumerate() {
                    *factor *= if kept >> i & 1 == 1 { kept_scale } else { 0.0 };
                }
            }
            let hidden = &mut scratch.hidden[nth * value_hidden..][..value_hidden];
            for (row, &factor) in self.value.weights.chunks_exact(value_hidden).zip(&*value_x) {
                for (sum, weight) in hidden.iter_mut().zip(row) {
                    *sum += factor * weight;
                }
            }
            if !self.has_policy() {
                continue;
            }
            for m in batch.moves(nth) {
                let mut sum = [0.0; LANE];
                for &row in batch.rows(m) {
                    let row = &moves[usize::from(row)];
                    for i in 0..LANE {
                        sum[i] += row[i];
                    }
                }
                let mut parts = [0.0; 16];
                for i in 0..LANE {
                    parts[i % 16] += x[i] * sum[i];
                }
                scratch.logits[m] = parts.iter().sum();
            }
        }
    }

    /// Adds the gradients of a batch to those of the weights. `hidden_gradient` is the loss's by the hidden
    /// layer before ReLU, `[positions, value_hidden]`; `move_gradients` those by the logits. `kept` is as in
    /// [`Unit::forward`].
    #[allow(clippy::too_many_arguments, reason = "the counterpart of forward")]
    #[inline(always)]
    pub(super) fn backward(
        &mut self,
        batch: &Batch,
        value_hidden: usize,
        kept: &[u32],
        kept_scale: f32,
        hidden_gradient: &[f32],
        move_gradients: &[MoveGradient],
        scratch: &mut Scratch,
    ) {
        let positions = batch.len();
        scratch.x_gradient.resize(positions * LANE, 0.0);
        let (all_x, _) = scratch.x.as_chunks::<LANE>();
        let (all_value_x, _) = scratch.value_x.as_chunks::<LANE>();
        let (x_gradients, _) = scratch.x_gradient.as_chunks_mut::<LANE>();
        for nth in 0..positions {
            let slopes = &hidden_gradient[nth * value_hidden..][..value_hidden];
            let x = &all_value_x[nth];
            let gradient = &mut x_gradients[nth];
            let weights = self.value.weights.chunks_exact(value_hidden);
            let gradients = self.value.gradient.chunks_exact_mut(value_hidden);
            for (i, (weights, gradients)) in weights.zip(gradients).enumerate() {
                let mut parts = [0.0; 16];
                let (weight_chunks, weight_rest) = weights.as_chunks::<16>();
                let (slope_chunks, slope_rest) = slopes.as_chunks::<16>();
                for (weights, slopes) in weight_chunks.iter().zip(slope_chunks) {
                    for k in 0..16 {
                        parts[k] += weights[k] * slopes[k];
                    }
                }
                let rest: f32 = weight_rest.iter().zip(slope_rest).map(|(a, b)| a * b).sum();
                gradient[i] = parts.iter().sum::<f32>() + rest;
                if x[i] != 0.0 {
                    for (gradient, slope) in gradients.iter_mut().zip(slopes) {
                        *gradient += x[i] * slope;
                    }
                }
            }
            if let Some(&kept) = kept.get(nth) {
                for (i, slope) in gradient.iter_mut().enumerate() {
                    *slope *= if kept >> i & 1 == 1 { kept_scale } else { 0.0 };
                }
            }
        }
        if !self.moves.weights.is_empty() {
            let (moves, _) = self.moves.weights.as_chunks::<LANE>();
            let (gradients, _) = self.moves.gradient.as_chunks_mut::<LANE>();
            for &MoveGradient { position, m, slope } in move_gradients {
                let x = &all_x[position as usize];
                let x_gradient = &mut x_gradients[position as usize];
                for &row in batch.rows(m as usize) {
                    let row = usize::from(row);
                    let weights = &moves[row];
                    let gradient = &mut gradients[row];
                    for i in 0..LANE {
                        x_gradient[i] += slope * weights[i];
                        gradient[i] += slope * x[i];
                    }
                }
            }
        }
        let (accumulators, _) = scratch.accumulators.as_chunks::<WIDTH>();
        let (table, _) = self.inputs.gradient.as_chunks_mut::<WIDTH>();
        let (bias, _) = self.bias.gradient.as_chunks_mut::<WIDTH>();
        for nth in 0..positions {
            let sum = &accumulators[nth];
            let x_gradient = &x_gradients[nth];
            let mut gradient = [0.0; WIDTH];
            for i in 0..LANE {
                let low = sum[i];
                let high = sum[i + LANE];
                let open = |sum: f32| if sum > 0.0 && sum < 1.0 { 1.0 } else { 0.0 };
                gradient[i] = open(low) * x_gradient[i] * high.clamp(0.0, 1.0);
                gradient[i + LANE] = open(high) * x_gradient[i] * low.clamp(0.0, 1.0);
            }
            for i in 0..WIDTH {
                bias[0][i] += gradient[i];
            }
            for &input in batch.inputs(nth) {
                let row = &mut table[usize::from(input)];
                for i in 0..WIDTH {
                    row[i] += gradient[i];
                }
            }
        }
    }

    /// Takes a step along the gradients of the rows in `touched`, and clears them.
    #[inline(always)]
    pub(super) fn update(&mut self, step: Step, groups: &Groups, touched: &Touched) {
        let input_step = step.limited(INPUT_LIMIT);
        for &input in &touched.inputs {
            let input = usize::from(input);
            if let Some(group) = groups.of_input[input] {
                let shared = &mut self.groups.gradient[group as usize * WIDTH..][..WIDTH];
                let own = &self.inputs.gradient[input * WIDTH..][..WIDTH];
                for i in 0..WIDTH {
                    shared[i] += own[i];
                }
            }
            self.inputs.update_range(input_step, input * WIDTH, WIDTH);
        }
        for &group in &touched.groups {
            self.groups.update_range(input_step, group as usize * WIDTH, WIDTH);
        }
        for &input in &touched.inputs {
            self.merge(groups, usize::from(input));
        }
        for &group in &touched.groups {
            for input in groups.members[group as usize].clone() {
                self.merge(groups, input);
            }
        }
        self.bias.update(step.undecayed().limited(MOVE_LIMIT));
        self.value.update(step.limited(DENSE_LIMIT));
        if self.has_policy() {
            for &row in &touched.moves {
                self.moves.update_range(step.limited(MOVE_LIMIT), usize::from(row) * LANE, LANE);
            }
        }
    }
}
