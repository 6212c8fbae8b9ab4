//! Tests of gradients, training, checkpoints and exported weights.

use menagerie::encoding::{SparseEncoding, SparseInput};
use menagerie::nn::network::MOVES_LEFT_SCALE;
use menagerie::rules::MoveList;
use menagerie::variant::Catalogue;

use super::*;
use crate::sparse::labels::{Labelled, Outcome};

const SIZES: SparseSizes = SparseSizes { hidden_size: 128, policy_size: 32, value_hidden: 8 };

fn encoding() -> SparseEncoding {
    let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
    SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces")
}

fn training() -> Training {
    let mut training = super::super::SparseConfig::for_variant("crazyhouse").training;
    training.policy_threshold = 0.0;
    training.moves_left_weight = 0.3;
    training.label_smoothing = 0.1;
    training
}

/// Positions of a random game with labels drawn by lot.
fn batch(encoding: &SparseEncoding, positions: usize) -> Batch {
    let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut batch = Batch::new(encoding.shape().rows_per_move);
    let mut legal = MoveList::new();
    let mut input = SparseInput::default();
    let mut position = variant.start();
    while batch.len() < positions {
        position.legal_moves(&mut legal);
        if legal.is_empty() {
            position = variant.start();
            continue;
        }
        encoding.write(&position, &legal, &mut input);
        let nth = batch.len();
        // No target, one move, or several: the words of a move and its share.
        let targets = if nth % 5 == 4 { 0 } else { (nth % 3 + 1).min(legal.len()) };
        let moves = rand::seq::index::sample(&mut rng, legal.len(), targets);
        let policy: Vec<u16> =
            moves.into_iter().flat_map(|m| [m as u16, rng.random_range(1..60_000)]).collect();
        batch.push(&Labelled {
            inputs: &input.inputs,
            move_rows: &input.move_rows,
            policy: &policy,
            score: (nth % 4 != 3).then(|| rng.random()),
            outcome: match nth % 3 {
                0 => Outcome::Result(rng.random_range(0..3)),
                1 => Outcome::Score(rng.random()),
                _ => Outcome::Unknown,
            },
            draws: if nth.is_multiple_of(2) { 0.3 } else { 0.0 },
            turns_left: nth.is_multiple_of(2).then(|| rng.random_range(1..40) as f32),
        });
        position.play_unchecked(legal[rng.random_range(0..legal.len())]);
    }
    batch
}

/// The tables of a network in `f64`. Losses of `f32` need steps so long that they cross kinks of the
/// activations, where finite differences are not gradients.
struct ExactNetwork {
    /// Tables of each unit, numbered as in [`parameters`].
    units: Vec<[Vec<f64>; 4]>,
    head: Vec<f64>,
}

impl ExactNetwork {
    fn new(network: &mut SparseNetwork) -> ExactNetwork {
        let exact = |weights: &[f32]| weights.iter().map(|&weight| f64::from(weight)).collect();
        let units = network.state.units.iter_mut();
        ExactNetwork {
            units: units
                .map(|unit| std::array::from_fn(|which| exact(&unit.table(which).weights)))
                .collect(),
            head: exact(&network.state.head.weights),
        }
    }

    /// Returns the weights of a table as [`parameters`] does.
    fn weights(&mut self, which: usize) -> &mut [f64] {
        match which {
            4 => &mut self.head,
            _ => &mut self.units[0][which],
        }
    }

    /// Returns the mean loss of `batch`.
    fn loss(&self, batch: &Batch, training: &Training, masks: &[Vec<u32>]) -> f64 {
        let sum: f64 =
            (0..batch.len()).map(|nth| self.position_loss(batch, nth, training, masks)).sum();
        sum / batch.len() as f64
    }

    fn position_loss(
        &self,
        batch: &Batch,
        nth: usize,
        training: &Training,
        masks: &[Vec<u32>],
    ) -> f64 {
        let layout = HeadLayout::new(SIZES.value_hidden);
        let kept_scale = 1.0 / (1.0 - f64::from(training.value_dropout));
        let mut hidden = self.head[layout.bias].to_vec();
        let mut logits = vec![0.0; batch.moves(nth).len()];
        for (number, [inputs, bias, value, moves]) in self.units.iter().enumerate() {
            for i in 0..LANE {
                let factor = |column: usize| {
                    let rows = batch.inputs(nth).iter();
                    let row_sum: f64 =
                        rows.map(|&input| inputs[usize::from(input) * 2 * LANE + column]).sum();
                    (bias[column] + row_sum).clamp(0.0, 1.0)
                };
                let x = factor(i) * factor(i + LANE);
                if masks.get(number).is_none_or(|words| words[nth] >> i & 1 == 1) {
                    let row = &value[i * SIZES.value_hidden..][..SIZES.value_hidden];
                    for (sum, weight) in hidden.iter_mut().zip(row) {
                        *sum += kept_scale * x * weight;
                    }
                }
                if moves.is_empty() {
                    continue;
                }
                for (logit, m) in logits.iter_mut().zip(batch.moves(nth)) {
                    let rows = batch.rows(m).iter();
                    *logit += x * rows.map(|&row| moves[usize::from(row) * LANE + i]).sum::<f64>();
                }
            }
        }
        for unit in &mut hidden {
            *unit = unit.max(0.0);
        }
        let product = |start: usize| -> f64 {
            hidden.iter().zip(&self.head[start..]).map(|(unit, weight)| unit * weight).sum()
        };
        let target = batch.value(nth);
        let mut loss = 0.0;
        if let Some(wanted) = loss::outcome_target(target, training.score_blend) {
            let outcome: [f64; OUTCOMES] = std::array::from_fn(|class| {
                self.head[layout.outcome_bias.start + class]
                    + product(layout.outcome.start + class * SIZES.value_hidden)
            });
            let likelihoods = wanted.iter().zip(&outcome);
            let expected: f64 = likelihoods.map(|(&wanted, logit)| f64::from(wanted) * logit).sum();
            loss += f64::from(training.value_weight) * (log_sum_exp(&outcome) - expected);
        }
        if let Some(turns) = target.turns_left {
            let raw = self.head[layout.moves_left_bias] + product(layout.moves_left.start);
            let error = raw.exp().ln_1p() - f64::from(turns / MOVES_LEFT_SCALE);
            let moves_left =
                if error.abs() < 1.0 { 0.5 * error * error } else { error.abs() - 0.5 };
            loss += f64::from(training.moves_left_weight) * moves_left;
        }
        let policy = batch.policy(nth);
        if !policy.is_empty() {
            let smoothing = f64::from(training.label_smoothing);
            let mean = logits.iter().sum::<f64>() / logits.len() as f64;
            let shares = policy.iter().map(|&(m, share)| f64::from(share) * logits[usize::from(m)]);
            let expected: f64 = shares.sum();
            loss += log_sum_exp(&logits) - (1.0 - smoothing) * expected - smoothing * mean;
        }
        loss
    }
}

fn log_sum_exp(logits: &[f64]) -> f64 {
    logits.iter().map(|logit| logit.exp()).sum::<f64>().ln()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let encoding = encoding();
    let batch = batch(&encoding, 24);
    for value_dropout in [0.0, 0.4] {
        let training = Training { value_dropout, ..training() };
        let mut network = SparseNetwork::new(&SparseLayout::of(&encoding), SIZES, 3);
        let masks = network.masks(batch.len(), value_dropout, 7);
        let (_, touched) = network.gradients(&batch, &training, &masks, 7);
        let mut exact = ExactNetwork::new(&mut network);
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let input = usize::from(touched.inputs[touched.inputs.len() / 2]);
        let row = usize::from(touched.moves[touched.moves.len() / 2]);
        let head = HeadLayout::new(SIZES.value_hidden).len;
        let mut checked = 0;
        for nth in 0..200 {
            let which = nth % 5;
            let at = match which {
                0 => input * 2 * LANE + rng.random_range(0..2 * LANE),
                1 => rng.random_range(0..2 * LANE),
                2 => rng.random_range(0..LANE * SIZES.value_hidden),
                3 => row * LANE + rng.random_range(0..LANE),
                _ => rng.random_range(0..head),
            };
            let analytic = f64::from(parameters(&mut network, which).gradient[at]);
            let step = 1e-6;
            let weight = exact.weights(which)[at];
            let mut at_offset = |offset: f64| {
                exact.weights(which)[at] = weight + offset;
                exact.loss(&batch, &training, &masks)
            };
            let numeric = (at_offset(step) - at_offset(-step)) / (2.0 * step);
            exact.weights(which)[at] = weight;
            let tolerance = 1e-6 + 1e-4 * numeric.abs().max(analytic.abs());
            assert!(
                (numeric - analytic).abs() < tolerance,
                "dropout {value_dropout}, table {which}, weight {at}: {numeric} {analytic}"
            );
            checked += usize::from(numeric.abs() > 1e-3);
        }
        assert!(checked > 40, "only {checked} gradients differ from zero");
    }
}

/// Table number `which` of the first unit, or the head.
fn parameters(network: &mut SparseNetwork, which: usize) -> &mut Parameters {
    match which {
        4 => &mut network.state.head,
        _ => network.state.units[0].table(which),
    }
}

#[test]
fn a_few_positions_are_overfitted() {
    let encoding = encoding();
    let batch = batch(&encoding, 32);
    let training = Training { label_smoothing: 0.0, weight_decay: 0.0, ..training() };
    let mut network = SparseNetwork::new(&SparseLayout::of(&encoding), SIZES, 3);
    let options = StepOptions { training: &training, learning_rate: 3e-3, seed: 1 };
    let before = network.measure(&batch, &training).measures();
    for _ in 0..250 {
        network.step(&batch, options);
    }
    let after = network.measure(&batch, &training).measures();
    // The least cross-entropy is the mean entropy of the targets.
    let targets: Vec<_> = (0..batch.len()).map(|nth| batch.policy(nth)).collect();
    let entropies = targets.iter().flat_map(|target| target.iter().map(|it| -it.1 * it.1.ln()));
    let counted = targets.iter().filter(|target| !target.is_empty()).count();
    let least = f64::from(entropies.sum::<f32>()) / counted as f64;
    assert!(before.policy > least + 1.0 && after.policy < least + 0.05, "{before:?} {after:?}");
    assert_eq!(after.top1, 1.0);
    assert!(after.value < before.value - 0.2, "{before:?} {after:?}");
    assert!(after.moves_left < 0.1 * before.moves_left, "{before:?} {after:?}");
}

#[test]
fn steps_after_a_checkpoint_are_those_without() {
    let encoding = encoding();
    let batch = batch(&encoding, 300);
    let training = Training { value_dropout: 0.3, policy_threshold: 0.02, ..training() };
    let options = StepOptions { training: &training, learning_rate: 1e-3, seed: 1 };
    let mut network = SparseNetwork::new(&SparseLayout::of(&encoding), SIZES, 3);
    for _ in 0..3 {
        network.step(&batch, options);
    }
    let bytes = network.checkpoint().expect("bytes");
    let mut again = SparseNetwork::from_checkpoint(&SparseLayout::of(&encoding), SIZES, &bytes)
        .expect("a checkpoint");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for _ in 0..3 {
        network.step(&batch, options);
        one.install(|| again.step(&batch, options));
    }
    assert!(network.checkpoint().expect("bytes") == again.checkpoint().expect("bytes"));
    assert_eq!(network.weights(), again.weights());
    assert!(
        SparseNetwork::from_checkpoint(&SparseLayout::of(&encoding), SIZES, &bytes[..99]).is_err()
    );
    let other = SparseSizes { value_hidden: 9, ..SIZES };
    assert!(SparseNetwork::from_checkpoint(&SparseLayout::of(&encoding), other, &bytes).is_err());
}

#[test]
fn exported_weights_compute_what_the_network_computes() {
    let encoding = encoding();
    let batch = batch(&encoding, 8);
    let mut network = SparseNetwork::new(&SparseLayout::of(&encoding), SIZES, 3);
    let training = training();
    let options = StepOptions { training: &training, learning_rate: 1e-3, seed: 1 };
    network.step(&batch, options);
    network.forward(&batch, &[], 1.0);
    let weights = network.weights();
    weights.check().expect("whole weights");
    let hidden = weights.hidden_size;
    let half = weights.hidden_size / 2;
    let zeros = vec![0.0; weights.policy_size];
    for nth in 0..batch.len() {
        let mut sum = weights.input_bias.clone();
        for &input in batch.inputs(nth) {
            let row = &weights.input_table[usize::from(input) * hidden..][..hidden];
            accumulate(&mut sum, 1.0, row);
        }
        let x: Vec<f32> =
            (0..half).map(|i| sum[i].clamp(0.0, 1.0) * sum[i + half].clamp(0.0, 1.0)).collect();
        for m in batch.moves(nth) {
            let logit: f32 = batch
                .rows(m)
                .iter()
                .map(|&row| {
                    let at = usize::from(row) * weights.policy_size;
                    let row = weights.move_table.get(at..at + weights.policy_size);
                    dot(row.unwrap_or(&zeros), &x)
                })
                .sum();
            assert!((logit - network.scratch[0].logits[m]).abs() < 1e-4);
        }
        for k in 0..weights.value_hidden {
            let unit = dot(&weights.value_w1[k * half..][..half], &x);
            let parts = network.scratch.iter();
            let wanted: f32 = parts.map(|part| part.hidden[nth * weights.value_hidden + k]).sum();
            assert!((unit - wanted).abs() < 1e-4, "{unit} {wanted}");
        }
    }
}
