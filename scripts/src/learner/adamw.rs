//! Adam with decoupled weight decay (Loshchilov and Hutter, 2019), over flat slices.

/// Decay of the moving average of the gradient for each step.
const FIRST_DECAY: f32 = 0.9;
/// Decay of the moving average of the squared gradient for each step.
const SECOND_DECAY: f32 = 0.999;
/// Added to the root of the second moment, by which is divided.
const EPSILON: f32 = 1e-8;

/// Takes a step of `weights` against `gradient`. `first` is the moving average of the gradient, `second` that of
/// its square; `step` counts from 1. The weights are first multiplied by 1 minus `decay`, the learning rate
/// times weight decay.
pub(super) fn step(
    weights: &mut [f32],
    [first, second]: [&mut [f32]; 2],
    gradient: &[f32],
    step: u64,
    learning_rate: f32,
    decay: f32,
) {
    // Both averages start at zero; this corrects their bias.
    let bias = |decay: f32| (1.0 - f64::from(decay).powf(step as f64)) as f32;
    let rate = learning_rate / bias(FIRST_DECAY);
    let root = bias(SECOND_DECAY).sqrt();
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
    fn first_step_is_learning_rate_against_sign() {
        for (gradient, decay, expected) in [(0.5, 0.0, 0.9), (-8.0, 0.0, 1.1), (0.0, 0.05, 0.95)] {
            let mut weights = [1.0];
            step(&mut weights, [&mut [0.0], &mut [0.0]], &[gradient], 1, 0.1, decay);
            assert!((weights[0] - expected).abs() < 1e-5, "{weights:?} is not {expected}");
        }
    }

    #[test]
    fn quadratic_is_minimised() {
        let mut weights = [3.0, -2.0];
        let mut first = [0.0; 2];
        let mut second = [0.0; 2];
        for nth in 1..=2000 {
            let gradient = weights.map(|weight: f32| 2.0 * weight);
            step(&mut weights, [&mut first, &mut second], &gradient, nth, 0.01, 0.0);
        }
        assert!(weights.iter().all(|weight| weight.abs() < 1e-2), "{weights:?}");
    }
}
