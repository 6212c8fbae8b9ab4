//! Losses of the heads of a sparse network and their gradients.

use menagerie::nn::network::MOVES_LEFT_SCALE;

use super::labels::{Outcome, PolicyTarget, ValueTarget};
use crate::record::wdl;

/// Gradient of the loss by one logit of the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MoveGradient {
    /// Number of the position in the batch.
    pub(super) position: u32,
    /// Number of the move among those of all positions.
    pub(super) m: u32,
    pub(super) slope: f32,
}

/// Sums over positions; see [`Measures`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    policies: f64,
    top1: f64,
    top3: f64,
    policy: f64,
    values: f64,
    value: f64,
    decided: f64,
    signs: f64,
    results: f64,
    error: f64,
    moves_left: f64,
    moves_left_count: f64,
}

/// How a network does on some positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// Share of positions with more than one legal move whose likeliest move is that of the target.
    pub top1: f64,
    /// Share of those whose three likeliest moves include the likeliest move of the target.
    pub top3: f64,
    /// Cross-entropy of the policy with the target, in nats.
    pub policy: f64,
    /// Cross-entropy of the outcome with its target, in nats.
    pub value: f64,
    /// Share of decided games without later random moves whose winner has the larger share.
    pub sign: f64,
    /// Mean squared error of the expected score, 0 to 1, on games without later random moves.
    pub error: f64,
    /// Loss of the turns left.
    pub moves_left: f64,
}

impl Sums {
    pub(super) fn add(&mut self, other: &Sums) {
        self.policies += other.policies;
        self.top1 += other.top1;
        self.top3 += other.top3;
        self.policy += other.policy;
        self.values += other.values;
        self.value += other.value;
        self.decided += other.decided;
        self.signs += other.signs;
        self.results += other.results;
        self.error += other.error;
        self.moves_left += other.moves_left;
        self.moves_left_count += other.moves_left_count;
    }

    pub(super) fn measures(&self) -> Measures {
        let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        Measures {
            top1: mean(self.top1, self.policies),
            top3: mean(self.top3, self.policies),
            policy: mean(self.policy, self.policies),
            value: mean(self.value, self.values),
            sign: mean(self.signs, self.decided),
            error: mean(self.error, self.results),
            moves_left: mean(self.moves_left, self.moves_left_count),
        }
    }
}

/// Adds the loss of the policy to `sums`; replaces `logits` by the gradient.
pub(super) fn policy(logits: &mut [f32], target: &PolicyTarget, smoothing: f32, sums: &mut Sums) {
    let best = target.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(&(best, _)), true) = (best, logits.len() > 1) else {
        logits.fill(0.0);
        return;
    };
    let best = usize::from(best);
    let better = logits.iter().filter(|&&logit| logit > logits[best]).count();
    sums.policies += 1.0;
    sums.top1 += f64::from(u8::from(better == 0));
    sums.top3 += f64::from(u8::from(better < 3));
    let expected: f32 = target.iter().map(|&(m, share)| share * logits[usize::from(m)]).sum();
    let log_sum = softmax(logits);
    sums.policy += f64::from(log_sum - expected);
    let each = smoothing / logits.len() as f32;
    for share in logits.iter_mut() {
        *share -= each;
    }
    for &(m, share) in target {
        logits[usize::from(m)] -= (1.0 - smoothing) * share;
    }
}

/// Replaces logits by shares; returns the logarithm of the sum of their exponentials.
fn softmax(logits: &mut [f32]) -> f32 {
    let largest = logits.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
        sum += *logit;
    }
    for share in logits.iter_mut() {
        *share /= sum;
    }
    largest + sum.ln()
}

/// Returns the target of the outcome, if it is known. `blend` is the weight of the searched score in it; the
/// rest is what became of the game.
pub(super) fn outcome_target(target: ValueTarget, blend: f32) -> Option<[f32; 3]> {
    let of_score = |score: f32| wdl(2.0 * score - 1.0, target.draws);
    let searched = target.score.map(of_score);
    let became = match target.outcome {
        Outcome::Result(class) => Some(std::array::from_fn(|it| f32::from(u8::from(it == class)))),
        Outcome::Score(score) => Some(of_score(score)),
        Outcome::Unknown => None,
    };
    if let (Some(searched), Some(became)) = (searched, became) {
        return Some(std::array::from_fn(|it| blend * searched[it] + (1.0 - blend) * became[it]));
    }
    searched.or(became)
}

/// Adds the loss of the outcome to `sums`; replaces `logits` by the gradient. `blend` is as in
/// [`outcome_target`].
pub(super) fn outcome(logits: &mut [f32; 3], target: ValueTarget, blend: f32, sums: &mut Sums) {
    let Some(wanted) = outcome_target(target, blend) else {
        return logits.fill(0.0);
    };
    let raw = *logits;
    let log_sum = softmax(logits);
    sums.values += 1.0;
    for (logit, wanted) in raw.iter().zip(&wanted) {
        sums.value += f64::from(wanted * (log_sum - logit));
    }
    if let Outcome::Result(class) = target.outcome {
        let expected = logits[0] + 0.5 * logits[2];
        let actual = [1.0, 0.0, 0.5][class];
        sums.results += 1.0;
        sums.error += f64::from(expected - actual).powi(2);
        if class < 2 {
            sums.decided += 1.0;
            sums.signs += f64::from(u8::from((expected > 0.5) == (class == 0)));
        }
    }
    for (share, wanted) in logits.iter_mut().zip(&wanted) {
        *share -= wanted;
    }
}

/// Adds the loss of the turns left to `sums` and returns its gradient by the raw output: half the squared
/// error of the softplus in units of [`MOVES_LEFT_SCALE`] turns, beyond 1 the error itself.
pub(super) fn moves_left(raw: f32, target: ValueTarget, sums: &mut Sums) -> f32 {
    let Some(turns) = target.turns_left else { return 0.0 };
    let softplus = raw.max(0.0) + (-raw.abs()).exp().ln_1p();
    let error = softplus - turns / MOVES_LEFT_SCALE;
    let loss = if error.abs() < 1.0 { 0.5 * error * error } else { error.abs() - 0.5 };
    sums.moves_left += f64::from(loss);
    sums.moves_left_count += 1.0;
    error.clamp(-1.0, 1.0) / (1.0 + (-raw).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<[f32; 3]>, expected: [f32; 3]) {
        let found = found.expect("a target");
        let is_near = found.iter().zip(expected).all(|(found, it)| (found - it).abs() < 1e-6);
        assert!(is_near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn target_of_a_score_has_draws() {
        let target = ValueTarget {
            score: Some(0.75),
            outcome: Outcome::Unknown,
            draws: 0.4,
            turns_left: None,
        };
        // An expected score of 0.5 on the scale from -1 to 1: 0.4 * (1 - 0.25) draws.
        near(outcome_target(target, 1.0), [0.6, 0.1, 0.3]);
        near(outcome_target(ValueTarget { score: Some(1.0), ..target }, 1.0), [1.0, 0.0, 0.0]);
        let drawn = ValueTarget { outcome: Outcome::Result(2), ..target };
        near(outcome_target(drawn, 0.5), [0.3, 0.05, 0.65]);
        let later = ValueTarget { score: None, outcome: Outcome::Score(0.5), ..target };
        near(outcome_target(later, 0.5), [0.3, 0.3, 0.4]);
        assert_eq!(outcome_target(ValueTarget { score: None, ..target }, 0.5), None);
    }
}
