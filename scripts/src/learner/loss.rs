//! The losses of a batch and their gradients with respect to the heads of the network.

use std::ops::AddAssign;

use menagerie::encoding::Shape;

use super::{LearnerConfig, Losses, TrainingSample};
use crate::network::graph::Heads;
use crate::network::{MOVES_LEFT_SCALE, softplus};

/// Weighted sums over samples. Those of a batch are the sums of those of its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossSums {
    policy: f64,
    policy_floor: f64,
    policy_hits: f64,
    soft_policy: f64,
    /// Weight of the samples that have a policy target.
    policy_weight: f64,
    outcome: f64,
    outcome_hits: f64,
    score_error: f64,
    /// Weight of the samples that have an outcome target.
    outcome_weight: f64,
    moves_left: f64,
    /// Weight of the samples that have a target for the moves left.
    moves_left_weight: f64,
    weight: f64,
}

impl AddAssign for LossSums {
    fn add_assign(&mut self, other: Self) {
        self.policy += other.policy;
        self.policy_floor += other.policy_floor;
        self.policy_hits += other.policy_hits;
        self.soft_policy += other.soft_policy;
        self.policy_weight += other.policy_weight;
        self.outcome += other.outcome;
        self.outcome_hits += other.outcome_hits;
        self.score_error += other.score_error;
        self.outcome_weight += other.outcome_weight;
        self.moves_left += other.moves_left;
        self.moves_left_weight += other.moves_left_weight;
        self.weight += other.weight;
    }
}

impl LossSums {
    /// Returns the means: of the total over all samples, of each head over the samples with a target for it.
    pub(super) fn losses(&self, config: &LearnerConfig) -> Losses {
        let mean = |sum: f64, weight: f64| {
            if weight > 0.0 { (sum / weight) as f32 } else { 0.0 }
        };
        Losses {
            total: config.policy_weight * mean(self.policy, self.weight)
                + config.outcome_weight * mean(self.outcome, self.weight)
                + config.moves_left_weight * mean(self.moves_left, self.weight)
                + config.soft_policy_weight * mean(self.soft_policy, self.weight),
            policy: mean(self.policy, self.policy_weight),
            policy_floor: mean(self.policy_floor, self.policy_weight),
            soft_policy: mean(self.soft_policy, self.policy_weight),
            outcome: mean(self.outcome, self.outcome_weight),
            moves_left: mean(self.moves_left, self.moves_left_weight),
            policy_accuracy: mean(self.policy_hits, self.policy_weight),
            outcome_accuracy: mean(self.outcome_hits, self.outcome_weight),
            score_error: mean(self.score_error, self.outcome_weight),
            ..Losses::default()
        }
    }
}

/// Returns the losses of `samples` under `heads`, and the gradient of the mean total loss of the batch.
/// `total_weight` is the weight of the whole batch, of which `samples` may be a part.
pub(super) fn losses(
    samples: &[&TrainingSample],
    shape: Shape,
    heads: &Heads,
    config: &LearnerConfig,
    total_weight: f32,
) -> (LossSums, Heads) {
    let mut sums = LossSums::default();
    let mut gradient = Heads {
        policy: vec![0.0; heads.policy.len()],
        outcome: vec![0.0; heads.outcome.len()],
        moves_left: vec![0.0; heads.moves_left.len()],
        soft_policy: vec![0.0; heads.soft_policy.len()],
    };
    let mut logits = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let weight = f64::from(sample.weight);
        let share = sample.weight / total_weight;
        sums.weight += weight;

        if !sample.legal.is_empty() {
            let at = index * shape.policy();
            let head = &heads.policy[at..at + shape.policy()];
            logits.clear();
            logits.extend(sample.legal.iter().map(|&index| head[usize::from(index)]));
            let hit = argmax(&logits) == argmax(&sample.policy);
            let (loss, floor) = cross_entropy(&mut logits, &sample.policy);
            sums.policy += weight * f64::from(loss);
            sums.policy_floor += weight * f64::from(floor);
            sums.policy_hits += if hit { weight } else { 0.0 };
            sums.policy_weight += weight;
            for (&index, slope) in sample.legal.iter().zip(&logits) {
                gradient.policy[at + usize::from(index)] = config.policy_weight * share * slope;
            }

            if let Some(head) = heads.soft_policy.get(at..at + shape.policy()) {
                logits.clear();
                logits.extend(sample.legal.iter().map(|&index| head[usize::from(index)]));
                let (loss, _) = cross_entropy(&mut logits, &soften(&sample.policy));
                sums.soft_policy += weight * f64::from(loss);
                for (&index, slope) in sample.legal.iter().zip(&logits) {
                    let slope = config.soft_policy_weight * share * slope;
                    gradient.soft_policy[at + usize::from(index)] = slope;
                }
            }
        }

        if !sample.outcome.is_empty() {
            let at = index * shape.outcomes;
            let slopes = &mut gradient.outcome[at..at + shape.outcomes];
            slopes.copy_from_slice(&heads.outcome[at..at + shape.outcomes]);
            let hit = argmax(slopes) == argmax(&sample.outcome);
            let (loss, _) = cross_entropy(slopes, &sample.outcome);
            // `slopes` now holds the errors of the probabilities, class by class.
            let error = f64::from(expected_score(slopes));
            sums.outcome += weight * f64::from(loss);
            sums.outcome_hits += if hit { weight } else { 0.0 };
            sums.score_error += weight * error * error;
            sums.outcome_weight += weight;
            for slope in slopes {
                *slope *= config.outcome_weight * share;
            }
        }

        if let Some(turns) = sample.moves_left {
            let (loss, slope) = huber(heads.moves_left[index], turns);
            sums.moves_left += weight * f64::from(loss);
            sums.moves_left_weight += weight;
            gradient.moves_left[index] = config.moves_left_weight * share * slope;
        }
    }
    (sums, gradient)
}

/// Returns the policy raised to the power 1/4, as in KataGo, which distinguishes unlikely moves. No legal move
/// has a probability of 0.
fn soften(policy: &[f32]) -> Vec<f32> {
    const EPSILON: f32 = 1e-7;
    let mut soft: Vec<f32> = policy.iter().map(|share| (share + EPSILON).sqrt().sqrt()).collect();
    let total: f32 = soft.iter().sum();
    for share in &mut soft {
        *share /= total;
    }
    soft
}

/// Returns the expected score of the mover from the probabilities of the outcome classes: 1 for its win, -1 for
/// the win of another side, 0 for a draw.
fn expected_score(probabilities: &[f32]) -> f32 {
    let wins = &probabilities[..probabilities.len().saturating_sub(1)];
    wins.first().map_or(0.0, |first| 2.0 * first - wins.iter().sum::<f32>())
}

/// Returns the cross-entropy of softmax(`logits`) with a target and the entropy of the target, in nats.
/// Replaces `logits` by the gradient: softmax minus target.
fn cross_entropy(logits: &mut [f32], target: &[f32]) -> (f32, f32) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_sum = logits.iter().map(|logit| (logit - max).exp()).sum::<f32>().ln();
    let mut loss = 0.0;
    let mut floor = 0.0;
    for (logit, &target) in logits.iter_mut().zip(target) {
        let log_probability = *logit - max - log_sum;
        if target > 0.0 {
            loss -= target * log_probability;
            floor -= target * target.ln();
        }
        *logit = log_probability.exp() - target;
    }
    (loss, floor)
}

/// Returns the Huber loss of the raw output of the moves-left head against a target in turns, in units of
/// [`MOVES_LEFT_SCALE`] and quadratic below one unit, and its derivative by the raw output.
fn huber(raw: f32, turns: f32) -> (f32, f32) {
    let error = softplus(raw) - turns / MOVES_LEFT_SCALE;
    let loss = if error.abs() <= 1.0 { 0.5 * error * error } else { error.abs() - 0.5 };
    let sigmoid = 1.0 / (1.0 + (-raw).exp());
    (loss, error.clamp(-1.0, 1.0) * sigmoid)
}

/// Returns the first index of the greatest number.
fn argmax(numbers: &[f32]) -> usize {
    let mut best = 0;
    for (index, number) in numbers.iter().enumerate() {
        if *number > numbers[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { planes: 1, height: 1, width: 2, policy_planes: 3, outcomes: 3 };

    fn sample(weight: f32, legal: Vec<u16>, policy: Vec<f32>) -> TrainingSample {
        TrainingSample {
            planes: vec![0.0; 2],
            legal,
            policy,
            outcome: vec![0.2, 0.7, 0.1],
            moves_left: Some(13.0),
            weight,
        }
    }

    #[test]
    fn gradient_is_that_of_loss() {
        let config = LearnerConfig {
            moves_left_weight: 0.3,
            soft_policy_weight: 0.7,
            ..LearnerConfig::default()
        };
        let samples = [
            sample(1.0, vec![4, 1], vec![0.9, 0.1]),
            sample(0.5, vec![0, 2, 5], vec![0.2, 0.5, 0.3]),
            sample(2.0, vec![], vec![]),
            TrainingSample { outcome: vec![], moves_left: None, ..sample(1.5, vec![3], vec![1.0]) },
        ];
        let samples: Vec<&TrainingSample> = samples.iter().collect();
        let wave = |len: usize| (0..len).map(|i| (i as f32 * 1.7).sin() * 2.0).collect::<Vec<_>>();
        let heads = || Heads {
            policy: wave(24),
            outcome: wave(12),
            moves_left: vec![0.3, 2.5, -4.0, 1.0],
            soft_policy: wave(24),
        };
        let total =
            |heads: &Heads| losses(&samples, SHAPE, heads, &config, 5.0).0.losses(&config).total;
        let (_, gradient) = losses(&samples, SHAPE, &heads(), &config, 5.0);
        let step = 1e-2;
        type Part = fn(&mut Heads) -> &mut Vec<f32>;
        let parts: [Part; 4] =
            [|h| &mut h.policy, |h| &mut h.outcome, |h| &mut h.moves_left, |h| &mut h.soft_policy];
        for part in parts {
            let mut found = gradient.clone();
            for index in 0..part(&mut found).len() {
                let mut up = heads();
                let mut down = heads();
                part(&mut up)[index] += step;
                part(&mut down)[index] -= step;
                let expected = (total(&up) - total(&down)) / (2.0 * step);
                let slope = part(&mut found)[index];
                assert!((slope - expected).abs() < 1e-4, "{index}: {slope} is not {expected}");
            }
        }
    }

    #[test]
    fn cross_entropy_of_target_is_its_entropy() {
        let target = [0.5f32, 0.25, 0.25];
        let mut logits = target.map(f32::ln);
        let (loss, floor) = cross_entropy(&mut logits, &target);
        assert!((loss - floor).abs() < 1e-6 && (floor - 1.5 * 2f32.ln()).abs() < 1e-6);
        assert!(logits.iter().all(|slope| slope.abs() < 1e-6));
    }

    #[test]
    fn soft_policy_is_fourth_root() {
        let soft = soften(&[0.6561, 0.0625, 0.0001, 0.0]);
        let sum = 0.9 + 0.5 + 0.1 + 1e-7f32.powf(0.25);
        for (found, root) in soft.iter().zip([0.9, 0.5, 0.1, 1e-7f32.powf(0.25)]) {
            assert!((found - root / sum).abs() < 1e-4, "{found}");
        }
        assert!((soft.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn losses_of_extreme_logits_are_finite() {
        let mut logits = [1e30, -1e30, 0.0];
        let (loss, _) = cross_entropy(&mut logits, &[0.0, 0.0, 1.0]);
        assert!(loss.is_finite() && logits.iter().all(|slope| slope.is_finite()));
        for raw in [-200.0, 200.0] {
            let (loss, slope) = huber(raw, 5.0);
            assert!(loss.is_finite() && slope.is_finite());
        }
    }

    #[test]
    fn losses_of_parts_add_up() {
        let config = LearnerConfig::default();
        let samples = [sample(1.0, vec![0, 1], vec![1.0, 0.0]), sample(3.0, vec![2], vec![1.0])];
        let samples: Vec<&TrainingSample> = samples.iter().collect();
        let heads = |n| Heads {
            policy: vec![0.5; n * 6],
            outcome: vec![0.1; n * 3],
            moves_left: vec![1.0; n],
            soft_policy: vec![],
        };
        let (whole, _) = losses(&samples, SHAPE, &heads(2), &config, 4.0);
        let (mut sum, _) = losses(&samples[..1], SHAPE, &heads(1), &config, 4.0);
        sum += losses(&samples[1..], SHAPE, &heads(1), &config, 4.0).0;
        assert_eq!(whole.losses(&config), sum.losses(&config));
    }
}
