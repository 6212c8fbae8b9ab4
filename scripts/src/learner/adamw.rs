//! Adam with decoupled weight decay (Loshchilov and Hutter, 2019), over flat slices.

/// Decay of the gradient's moving average a step.
const FIRST_DECAY: f32 = 0.9;
/// Decay of the squared gradient's moving average a step.
const SECOND_DECAY: f32 = 0.999;
/// Keeps the division by the root of the second moment from blowing up.
const EPSILON: f32 = 1e-8;

/// The optimizer's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AdamW {
    /// Moving average of the gradient.
    pub(super) first: Vec<f32>,
    /// Moving average of the squared gradient.
    pub(super) second: Vec<f32>,
}

impl AdamW {
    /// An optimizer of `len` weights that has seen no gradient.
    pub(super) fn new(len: usize) -> Self {
        Self { first: vec![0.0; len], second: vec![0.0; len] }
    }

    /// Moves `weights` against `gradient`. `step` counts from 1; where `decays` says so, weights
    /// also shrink by `learning_rate * weight_decay`.
    pub(super) fn step(
        &mut self,
        weights: &mut [f32],
        gradient: &[f32],
        decays: &[bool],
        step: u64,
        learning_rate: f32,
        weight_decay: f32,
    ) {
        // Both averages start at zero, and are scaled up by what they still lack.
        let lacks = |decay: f32| (1.0 - f64::from(decay).powf(step as f64)) as f32;
        let rate = learning_rate / lacks(FIRST_DECAY);
        let root = lacks(SECOND_DECAY).sqrt();
        let moments = self.first.iter_mut().zip(&mut self.second);
        for (((weight, &slope), &decays), (first, second)) in
            weights.iter_mut().zip(gradient).zip(decays).zip(moments)
        {
            *first += (1.0 - FIRST_DECAY) * (slope - *first);
            *second += (1.0 - SECOND_DECAY) * (slope * slope - *second);
            let shrink = if decays { 1.0 - learning_rate * weight_decay } else { 1.0 };
            *weight = *weight * shrink - rate * *first / (second.sqrt() / root + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_learning_rate_against_the_sign() {
        let mut weights = [1.0, 1.0, 1.0];
        let decays = [false, false, true];
        AdamW::new(3).step(&mut weights, &[0.5, -8.0, 0.0], &decays, 1, 0.1, 0.5);
        for (weight, expected) in weights.iter().zip([0.9, 1.1, 0.95]) {
            assert!((weight - expected).abs() < 1e-5, "{weight} is not {expected}");
        }
    }

    #[test]
    fn a_bowl_is_descended() {
        let (mut weights, mut optimizer) = ([3.0, -2.0], AdamW::new(2));
        for step in 1..=2000 {
            let gradient = weights.map(|weight: f32| 2.0 * weight);
            optimizer.step(&mut weights, &gradient, &[true; 2], step, 0.01, 0.0);
        }
        assert!(weights.iter().all(|weight| weight.abs() < 1e-2), "{weights:?}");
    }
}
