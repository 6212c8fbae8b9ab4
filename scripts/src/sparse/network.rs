//! A sparse network that is trained: forward pass, gradients and optimizer steps.

mod start;

use std::ops::Range;

use menagerie::encoding::SparseLayout;
use pulp::Arch;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::config::{SparseSizes, Training};
use super::loss::{self, MoveGradient, Sums};
use super::optimizer::{Parameters, Step};
use super::unit::{DENSE_LIMIT, Groups, INPUT_LIMIT, Initial, LANE, Scratch, Touched, Unit};
use super::weights::SparseWeights;

pub use start::{StartError, Started};

/// Classes of the outcome.
const OUTCOMES: usize = 3;

/// Positions whose losses one thread computes at a time. Their sums are added in order, so that results do
/// not depend on the number of threads.
const POSITIONS_PER_PART: usize = 128;

/// A sparse network with the state of its optimizer.
#[derive(Debug)]
pub struct SparseNetwork {
    layout: SparseLayout,
    sizes: SparseSizes,
    inputs: usize,
    move_rows: usize,
    groups: Groups,
    state: State,
    scratch: Vec<Scratch>,
}

/// What a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    /// Steps taken.
    steps: u64,
    units: Vec<Unit>,
    /// Biases of the hidden layer, then the rows of the outcome, their biases, the row of the turns left,
    /// and its bias.
    head: Parameters,
}

/// What one step is taken with.
#[derive(Clone, Copy, Debug)]
pub struct StepOptions<'a> {
    /// Losses and regularisation.
    pub training: &'a Training,
    /// Learning rate of this step.
    pub learning_rate: f32,
    /// Seed of what is random in the run.
    pub seed: u64,
}

/// Where the parts of the head lie among its parameters.
struct HeadLayout {
    bias: Range<usize>,
    outcome: Range<usize>,
    outcome_bias: Range<usize>,
    moves_left: Range<usize>,
    moves_left_bias: usize,
    len: usize,
}

impl HeadLayout {
    fn new(hidden: usize) -> HeadLayout {
        let outcome = hidden..hidden + OUTCOMES * hidden;
        let outcome_bias = outcome.end..outcome.end + OUTCOMES;
        let moves_left = outcome_bias.end..outcome_bias.end + hidden;
        let moves_left_bias = moves_left.end;
        let len = moves_left_bias + 1;
        HeadLayout { bias: 0..hidden, outcome, outcome_bias, moves_left, moves_left_bias, len }
    }
}

/// What the losses of some positions come to.
struct PartResult {
    sums: Sums,
    /// Gradient of the head, empty without gradients.
    head: Vec<f32>,
    moves: Vec<MoveGradient>,
}

impl SparseNetwork {
    /// Returns a network of random weights.
    pub fn new(layout: &SparseLayout, sizes: SparseSizes, seed: u64) -> SparseNetwork {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut random = move || rng.random_range(-1.0..=1.0f32);
        let shape = layout.shape();
        let groups = Groups::new(layout.input_blocks());
        let hidden = sizes.value_hidden;
        let value_scale = 2.7 / (sizes.x_size() as f32).sqrt();
        let mut units = Vec::new();
        for nth in 0..sizes.x_size() / LANE {
            units.push(Unit::new(Initial {
                inputs: shape.inputs,
                groups: groups.members.len(),
                value_hidden: hidden,
                move_rows: if nth * LANE < sizes.policy_size { shape.move_rows } else { 0 },
                value_scale,
                random: &mut random,
            }));
        }
        let head_layout = HeadLayout::new(hidden);
        let mut head = vec![0.0; head_layout.len];
        head[head_layout.bias].fill(0.1);
        let outcome_scale = 1.4 / (hidden as f32).sqrt();
        for rows in [head_layout.outcome, head_layout.moves_left] {
            for weight in &mut head[rows] {
                *weight = outcome_scale * random();
            }
        }
        let state = State { steps: 0, units, head: Parameters::new(head) };
        SparseNetwork::with_state(layout, sizes, groups, state)
    }

    fn with_state(
        layout: &SparseLayout,
        sizes: SparseSizes,
        groups: Groups,
        mut state: State,
    ) -> SparseNetwork {
        let shape = layout.shape();
        for unit in &mut state.units {
            unit.restore(&groups);
        }
        state.head.restore();
        let scratch = state.units.iter().map(|_| Scratch::default()).collect();
        let inputs = shape.inputs;
        let move_rows = shape.move_rows;
        let layout = layout.clone();
        SparseNetwork { layout, sizes, inputs, move_rows, groups, state, scratch }
    }

    /// Returns the steps taken.
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// Returns the bytes of a checkpoint: a CRC-32 and the state as postcard writes it.
    pub fn checkpoint(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = postcard::to_extend(&self.state, vec![0; 4])?;
        let checksum = crc32fast::hash(&bytes[4..]);
        bytes[..4].copy_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// Reads what [`SparseNetwork::checkpoint`] wrote.
    ///
    /// # Errors
    /// If the bytes are damaged, or of a network of other sizes.
    pub fn from_checkpoint(
        layout: &SparseLayout,
        sizes: SparseSizes,
        bytes: &[u8],
    ) -> anyhow::Result<SparseNetwork> {
        let (checksum, body) =
            bytes.split_first_chunk::<4>().ok_or_else(|| anyhow::anyhow!("no checksum"))?;
        anyhow::ensure!(u32::from_le_bytes(*checksum) == crc32fast::hash(body), "wrong checksum");
        let state: State = postcard::from_bytes(body)?;
        let shape = layout.shape();
        let groups = Groups::new(layout.input_blocks());
        let fits = state.units.len() == sizes.x_size() / LANE
            && state.head.is_of(HeadLayout::new(sizes.value_hidden).len)
            && state.units.iter().enumerate().all(|(nth, unit)| {
                let rows = if nth * LANE < sizes.policy_size { shape.move_rows } else { 0 };
                unit.is_of(shape.inputs, groups.members.len(), sizes.value_hidden, rows)
            });
        anyhow::ensure!(fits, "checkpoint of a network of other sizes");
        Ok(SparseNetwork::with_state(layout, sizes, groups, state))
    }

    /// Returns how the network does on `batch`.
    pub(super) fn measure(&mut self, batch: &Batch, training: &Training) -> Sums {
        // What is measured is the agreement with the labels as they are.
        let training = Training { label_smoothing: 0.0, ..training.clone() };
        self.forward(batch, &[], 1.0);
        let parts = self.losses(batch, &training, None);
        total(&parts)
    }

    /// Takes a step along the gradient of `batch`. Returns how the network did before.
    pub(super) fn step(&mut self, batch: &Batch, options: StepOptions<'_>) -> Sums {
        let StepOptions { training, learning_rate, seed } = options;
        self.state.steps += 1;
        let step_seed = seed ^ self.state.steps.rotate_left(32);
        let masks = self.masks(batch.len(), training.value_dropout, step_seed);
        let sums = self.gradients(batch, training, &masks, step_seed);
        let (parts, touched) = sums;
        let step = Step::new(self.state.steps, learning_rate, training.weight_decay);
        let groups = &self.groups;
        self.state.units.par_iter_mut().for_each(|unit| {
            Arch::new().dispatch(|| unit.update(step, groups, &touched));
        });
        self.state.head.update(step.limited(DENSE_LIMIT));
        total(&parts)
    }

    /// Adds the gradients of the mean loss of `batch` to the parameters.
    fn gradients(
        &mut self,
        batch: &Batch,
        training: &Training,
        masks: &[Vec<u32>],
        seed: u64,
    ) -> (Vec<PartResult>, Touched) {
        let kept_scale = 1.0 / (1.0 - training.value_dropout);
        self.forward(batch, masks, kept_scale);
        let mut hidden_gradient = vec![0.0; batch.len() * self.sizes.value_hidden];
        let gradient = Some((&mut hidden_gradient[..], seed));
        let parts = self.losses(batch, training, gradient);
        for part in &parts {
            for (sum, slope) in self.state.head.gradient.iter_mut().zip(&part.head) {
                *sum += slope;
            }
        }
        let moves: Vec<MoveGradient> =
            parts.iter().flat_map(|part| part.moves.iter().copied()).collect();
        let hidden = self.sizes.value_hidden;
        let none = Vec::new();
        let units = self.state.units.par_iter_mut().zip(&mut self.scratch).enumerate();
        units.for_each(|(nth, (unit, scratch))| {
            let kept = masks.get(nth).unwrap_or(&none);
            Arch::new().dispatch(|| {
                unit.backward(batch, hidden, kept, kept_scale, &hidden_gradient, &moves, scratch);
            });
        });
        let touched = self.touched(batch, &moves);
        (parts, touched)
    }

    fn forward(&mut self, batch: &Batch, masks: &[Vec<u32>], kept_scale: f32) {
        let hidden = self.sizes.value_hidden;
        let none = Vec::new();
        let units = self.state.units.par_iter().zip(&mut self.scratch).enumerate();
        units.for_each(|(nth, (unit, scratch))| {
            let kept = masks.get(nth).unwrap_or(&none);
            Arch::new().dispatch(|| unit.forward(batch, hidden, kept, kept_scale, scratch));
        });
    }

    /// Returns the losses of all positions, a part of them each; with `gradient`, the gradients of their
    /// mean, that of the hidden layer in its slice, which also holds the seed.
    fn losses(
        &self,
        batch: &Batch,
        training: &Training,
        gradient: Option<(&mut [f32], u64)>,
    ) -> Vec<PartResult> {
        let hidden = self.sizes.value_hidden;
        let positions = batch.len();
        let starts: Vec<usize> = (0..positions).step_by(POSITIONS_PER_PART).collect();
        let part = |start: usize, slopes: Option<(&mut [f32], u64)>| {
            let range = start..(start + POSITIONS_PER_PART).min(positions);
            Arch::new().dispatch(|| self.part_losses(batch, training, range, slopes))
        };
        match gradient {
            None => starts.into_par_iter().map(|start| part(start, None)).collect(),
            Some((slopes, seed)) => {
                let slopes = slopes.par_chunks_mut(POSITIONS_PER_PART * hidden);
                let parts = starts.into_par_iter().zip(slopes);
                parts.map(|(start, slopes)| part(start, Some((slopes, seed)))).collect()
            }
        }
    }

    #[inline(always)]
    fn part_losses(
        &self,
        batch: &Batch,
        training: &Training,
        range: Range<usize>,
        mut gradient: Option<(&mut [f32], u64)>,
    ) -> PartResult {
        let size = self.sizes.value_hidden;
        let layout = HeadLayout::new(size);
        let head = &self.state.head.weights;
        let mut result = PartResult { sums: Sums::default(), head: vec![], moves: vec![] };
        if gradient.is_some() {
            result.head.resize(layout.len, 0.0);
        }
        let share = 1.0 / batch.len() as f32;
        let first = range.start;
        let seed = gradient.as_ref().map_or(0, |(_, seed)| *seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ first as u64);
        let mut hidden = vec![0.0; size];
        let mut logits = Vec::new();
        for nth in range {
            let target = batch.value(nth);
            hidden.copy_from_slice(&head[layout.bias.clone()]);
            for scratch in &self.scratch {
                for (sum, part) in hidden.iter_mut().zip(&scratch.hidden[nth * size..]) {
                    *sum += part;
                }
            }
            for sum in &mut hidden {
                *sum = sum.max(0.0);
            }
            let mut outcome = [0.0; OUTCOMES];
            for (class, logit) in outcome.iter_mut().enumerate() {
                let row = &head[layout.outcome.start + class * size..][..size];
                *logit = head[layout.outcome_bias.start + class] + dot(row, &hidden);
            }
            let turns_row = &head[layout.moves_left.clone()];
            let raw_turns = head[layout.moves_left_bias] + dot(turns_row, &hidden);
            loss::outcome(&mut outcome, target, training.score_blend, &mut result.sums);
            let turns = loss::moves_left(raw_turns, target, &mut result.sums);
            let moves = batch.moves(nth);
            logits.clear();
            logits.resize(moves.len(), 0.0);
            for scratch in self.scratch.iter().filter(|scratch| !scratch.logits.is_empty()) {
                for (sum, part) in logits.iter_mut().zip(&scratch.logits[moves.clone()]) {
                    *sum += part;
                }
            }
            loss::policy(
                &mut logits,
                batch.policy(nth),
                training.label_smoothing,
                &mut result.sums,
            );
            let Some((slopes, _)) = &mut gradient else { continue };
            let value_slopes = outcome.map(|slope| slope * share * training.value_weight);
            let turns_slope = turns * share * training.moves_left_weight;
            let slopes = &mut slopes[(nth - first) * size..][..size];
            slopes.fill(0.0);
            for (class, &slope) in value_slopes.iter().enumerate() {
                let at = layout.outcome.start + class * size;
                result.head[layout.outcome_bias.start + class] += slope;
                accumulate(&mut result.head[at..][..size], slope, &hidden);
                accumulate(slopes, slope, &head[at..][..size]);
            }
            result.head[layout.moves_left_bias] += turns_slope;
            accumulate(&mut result.head[layout.moves_left.clone()], turns_slope, &hidden);
            accumulate(slopes, turns_slope, turns_row);
            for (slope, &unit) in slopes.iter_mut().zip(&hidden) {
                if unit <= 0.0 {
                    *slope = 0.0;
                }
            }
            accumulate(&mut result.head[layout.bias.clone()], 1.0, slopes);
            for (m, &slope) in moves.zip(&logits) {
                if let Some(slope) = thin(slope, training.policy_threshold, &mut rng) {
                    let position = nth as u32;
                    let m = m as u32;
                    result.moves.push(MoveGradient { position, m, slope: slope * share });
                }
            }
        }
        result
    }

    /// Returns the numbers of `x` that the value head sees, a list of words a unit; nothing without dropout.
    fn masks(&self, positions: usize, dropout: f32, seed: u64) -> Vec<Vec<u32>> {
        if dropout == 0.0 {
            return Vec::new();
        }
        let mask = |unit: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(!seed ^ (unit as u64) << 48);
            let word = |_| {
                (0..LANE)
                    .fold(0u32, |word, _| word << 1 | u32::from(rng.random::<f32>() >= dropout))
            };
            (0..positions).map(word).collect()
        };
        (0..self.state.units.len()).into_par_iter().map(mask).collect()
    }

    /// Returns the rows that have gradients.
    fn touched(&self, batch: &Batch, moves: &[MoveGradient]) -> Touched {
        let inputs = marked(self.inputs, batch.all_inputs().iter().copied());
        let rows = moves.iter().flat_map(|gradient| batch.rows(gradient.m as usize));
        // The padding row stays zero.
        let mut moves = marked(self.move_rows + 1, rows.copied());
        if moves.last() == Some(&(self.move_rows as u16)) {
            moves.pop();
        }
        let mut groups: Vec<u32> =
            inputs.iter().filter_map(|&input| self.groups.of_input[usize::from(input)]).collect();
        groups.dedup();
        Touched { inputs, groups, moves }
    }

    /// Returns the weights with the rows of groups added to those of their inputs.
    pub fn weights(&self) -> SparseWeights {
        let SparseSizes { hidden_size, policy_size, value_hidden } = self.sizes;
        let half = hidden_size / 2;
        let layout = HeadLayout::new(value_hidden);
        let head = &self.state.head.weights;
        let mut weights = SparseWeights {
            layout: self.layout.to_string(),
            inputs: self.inputs,
            move_rows: self.move_rows,
            outcomes: OUTCOMES,
            hidden_size,
            policy_size,
            value_hidden,
            input_table: vec![0.0; self.inputs * hidden_size],
            input_bias: vec![0.0; hidden_size],
            value_w1: vec![0.0; value_hidden * half],
            value_b1: head[layout.bias].to_vec(),
            outcome_w: head[layout.outcome].to_vec(),
            outcome_b: head[layout.outcome_bias].to_vec(),
            moves_left_w: head[layout.moves_left].to_vec(),
            moves_left_b: head[layout.moves_left_bias],
            move_table: vec![0.0; self.move_rows * policy_size],
        };
        for (nth, unit) in self.state.units.iter().enumerate() {
            for side in [0, 1] {
                let first = side * half + nth * LANE;
                weights.input_bias[first..][..LANE].copy_from_slice(unit.bias_columns(side));
                let rows = weights.input_table.chunks_exact_mut(hidden_size);
                for (row, columns) in rows.zip(unit.input_columns(side)) {
                    row[first..][..LANE].copy_from_slice(columns);
                }
            }
            for (i, row) in unit.value_rows(value_hidden).enumerate() {
                for (k, &weight) in row.iter().enumerate() {
                    weights.value_w1[k * half + nth * LANE + i] = weight;
                }
            }
            let rows = weights.move_table.chunks_exact_mut(policy_size);
            for (row, columns) in rows.zip(unit.move_columns()) {
                row[nth * LANE..][..LANE].copy_from_slice(columns);
            }
        }
        debug_assert!(weights.input_table.iter().all(|weight| weight.abs() <= INPUT_LIMIT));
        weights
    }
}

fn total(parts: &[PartResult]) -> Sums {
    let mut sums = Sums::default();
    for part in parts {
        sums.add(&part.sums);
    }
    sums
}

/// Returns the indices that occur in `indices`, each once and in order.
fn marked(count: usize, indices: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut occurs = vec![false; count];
    for index in indices {
        occurs[usize::from(index)] = true;
    }
    (0..count).filter(|&index| occurs[index]).map(|index| index as u16).collect()
}

/// Drops slopes below `threshold` by lot, so that their expected value stays what it is.
fn thin(slope: f32, threshold: f32, rng: &mut ChaCha8Rng) -> Option<f32> {
    if slope.abs() >= threshold {
        return (slope != 0.0).then_some(slope);
    }
    (rng.random::<f32>() * threshold < slope.abs()).then(|| threshold.copysign(slope))
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[inline(always)]
fn accumulate(sums: &mut [f32], factor: f32, addends: &[f32]) {
    for (sum, addend) in sums.iter_mut().zip(addends) {
        *sum += factor * addend;
    }
}

#[cfg(test)]
mod tests;
