//! Adam with decoupled weight decay (Loshchilov and Hutter, 2019), over flat slices.

/// Decay of the gradient's moving average a step.
const FIRST_DECAY: f32 = 0.9;
/// Decay of the squared gradient's moving average a step.
const SECOND_DECAY: f32 = 0.999;
/// Keeps the division by the root of the second moment from blowing up.
const EPSILON: f32 = 1e-8;

/// Moves `weights` against `gradient`, whose moving average is `first` and that of its square `second`.
/// `step` counts from 1. Before, they shrink by `decay`, which is the learning rate times weight decay.
pub(super) fn step(
    weights: &mut [f32],
    [first, second]: [&mut [f32]; 2],
    gradient: &[f32],
    step: u64,
    learning_rate: f32,
    decay: f32,
) {
    // Both averages start at zero, and are scaled up by what they still lack.
    let lacks = |decay: f32| (1.0 - f64::from(decay).powf(step as f64)) as f32;
    let rate = learning_rate / lacks(FIRST_DECAY);
    let root = lacks(SECOND_DECAY).sqrt();
    let shrink = 1.0 - decay;
    let moments = first.iter_mut().zip(second);
    for ((weight, &slope), (first, second)) in weights.iter_mut().zip(gradient).zip(moments) {
        *first += (1.0 - FIRST_DECAY) * (slope - *first);
        *second += (1.0 - SECOND_DECAY) * (slope * slope - *second);
        *weight = *weight * shrink - rate * *first / (second.sqrt() / root + EPSILON);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_learning_rate_against_the_sign() {
        for (gradient, decay, expected) in [(0.5, 0.0, 0.9), (-8.0, 0.0, 1.1), (0.0, 0.05, 0.95)] {
            let mut weights = [1.0];
            step(&mut weights, [&mut [0.0], &mut [0.0]], &[gradient], 1, 0.1, decay);
            assert!((weights[0] - expected).abs() < 1e-5, "{weights:?} is not {expected}");
        }
    }

    #[test]
    fn a_bowl_is_descended() {
        let (mut weights, mut first, mut second) = ([3.0, -2.0], [0.0; 2], [0.0; 2]);
        for turn in 1..=2000 {
            let gradient = weights.map(|weight: f32| 2.0 * weight);
            step(&mut weights, [&mut first, &mut second], &gradient, turn, 0.01, 0.0);
        }
        assert!(weights.iter().all(|weight| weight.abs() < 1e-2), "{weights:?}");
    }
}
