//! AdamW whose steps touch only the rows that have gradients.

use serde::{Deserialize, Serialize};

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// One step of the optimizer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    learning_rate: f32,
    /// Share of the learning rate by which weights shrink.
    weight_decay: f32,
    /// Corrections of the first and second moments for their start at 0.
    corrections: [f32; 2],
    /// Largest absolute value of a weight.
    limit: f32,
}

impl Step {
    /// Returns step number `step`, from 1.
    pub(super) fn new(step: u64, learning_rate: f32, weight_decay: f32) -> Step {
        let correction = |beta: f32| (1.0 / (1.0 - f64::from(beta).powf(step as f64))) as f32;
        let corrections = [correction(BETA1), correction(BETA2)];
        Step { learning_rate, weight_decay, corrections, limit: f32::MAX }
    }

    /// Returns the step that keeps weights within `limit` of 0.
    pub(super) fn limited(self, limit: f32) -> Step {
        Step { limit, ..self }
    }

    /// Returns the step without weight decay.
    pub(super) fn undecayed(self) -> Step {
        Step { weight_decay: 0.0, ..self }
    }
}

/// Weights with their gradients and moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) weights: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    /// Zero between steps.
    #[serde(skip)]
    pub(super) gradient: Vec<f32>,
}

impl Parameters {
    pub(super) fn new(weights: Vec<f32>) -> Parameters {
        let zeros = vec![0.0; weights.len()];
        Parameters { first: zeros.clone(), second: zeros.clone(), gradient: zeros, weights }
    }

    /// Makes room for gradients after the parameters were read from a checkpoint.
    pub(super) fn restore(&mut self) {
        self.gradient = vec![0.0; self.weights.len()];
    }

    /// Returns whether there are `len` weights, and as many moments.
    pub(super) fn is_of(&self, len: usize) -> bool {
        [&self.weights, &self.first, &self.second].iter().all(|list| list.len() == len)
    }

    /// Updates all weights and clears their gradients.
    #[inline(always)]
    pub(super) fn update(&mut self, step: Step) {
        let len = self.weights.len();
        self.update_range(step, 0, len);
    }

    /// Updates `len` weights from number `first` on and clears their gradients.
    #[inline(always)]
    pub(super) fn update_range(&mut self, step: Step, first: usize, len: usize) {
        let weights = &mut self.weights[first..][..len];
        let gradient = &mut self.gradient[first..][..len];
        let moments = &mut self.first[first..][..len];
        let squares = &mut self.second[first..][..len];
        let [correct_first, correct_second] = step.corrections;
        for i in 0..len {
            let slope = gradient[i];
            moments[i] = BETA1 * moments[i] + (1.0 - BETA1) * slope;
            squares[i] = BETA2 * squares[i] + (1.0 - BETA2) * slope * slope;
            let direction =
                moments[i] * correct_first / ((squares[i] * correct_second).sqrt() + EPSILON);
            let change = step.learning_rate * (direction + step.weight_decay * weights[i]);
            weights[i] = (weights[i] - change).clamp(-step.limit, step.limit);
            gradient[i] = 0.0;
        }
    }
}
