//! Settings of the training of a sparse network.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The greatest number of epochs.
const MAX_EPOCHS: f64 = 1e6;

/// What an int8 network needs: the sizes are multiples of these.
const HIDDEN_UNIT: usize = 128;
const POLICY_UNIT: usize = 64;

/// The greatest sizes, far above those that a CPU evaluates in microseconds.
const MAX_HIDDEN_SIZE: usize = 8192;
const MAX_VALUE_HIDDEN: usize = 4096;

/// The greatest batch, of which each position takes some kilobytes.
const MAX_BATCH: usize = 1 << 20;

/// Sizes of a sparse network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SparseSizes {
    /// Width of the accumulator, a multiple of 128.
    pub hidden_size: usize,
    /// Inputs of the policy, a multiple of 64. At most half of `hidden_size`.
    pub policy_size: usize,
    /// Hidden units of the value head.
    pub value_hidden: usize,
}

impl SparseSizes {
    /// Returns the width of the trunk's output.
    pub fn x_size(&self) -> usize {
        self.hidden_size / 2
    }
}

/// Losses and regularisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Share of the searched score, 0 to 1, in the value target. The rest is the game's result, or the score at
    /// the next move that the reference engine did not choose.
    pub score_blend: f32,
    /// Label smoothing, 0 to 1. This is the share of the policy target that is spread evenly over all legal
    /// moves.
    pub label_smoothing: f32,
    /// Weight of the outcome's loss against the policy's.
    pub value_weight: f32,
    /// Weight of the moves-left loss.
    pub moves_left_weight: f32,
    /// Dropout of the value head's inputs, 0 to below 1. They are outputs of the trunk.
    pub value_dropout: f32,
    /// Weight decay. It is the share of the learning rate by which weights shrink in each step that touches
    /// them.
    pub weight_decay: f32,
    /// Smaller gradients of logits are dropped at random, or raised to this. Their expected value stays the
    /// same: most moves have none to speak of.
    pub policy_threshold: f32,
}

/// How the learning rate falls after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecaySchedule {
    /// Along half a cosine.
    Cosine,
    /// Linearly.
    Linear,
}

/// Settings of a run, as `config.toml` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SparseConfig {
    /// The variant, or `base`.
    pub variant: String,
    /// The random seed.
    pub seed: u64,
    /// Positions to train on. The records are repeated when all their positions have been used.
    pub positions: u64,
    /// Positions to train on in units of those that the records hold. Replaces `positions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// Positions of a training step.
    pub batch: usize,
    /// Highest learning rate.
    pub learning_rate: f32,
    /// Steps over which the learning rate rises.
    pub warm_up_steps: u64,
    /// How the learning rate falls to `final_learning_rate`.
    pub schedule: DecaySchedule,
    /// Learning rate at the end.
    pub final_learning_rate: f32,
    /// One game in this number is held out. The games are chosen by a hash of their starts.
    pub held_out_of: u32,
    /// Greatest number of held-out positions that measure a checkpoint.
    pub held_out_positions: usize,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
    /// Centipawns of the score's logistic function; fitted if not set. It converts scores to expected scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_scale: Option<f32>,
    /// Initial weights: `weights.sparse` of another run, or a sparse network (`.onnx`); its hidden layer may be
    /// smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// The sizes of the network.
    pub network: SparseSizes,
    /// Losses and regularisation.
    pub training: Training,
}

impl SparseConfig {
    /// Returns the settings for a variant.
    pub fn for_variant(variant: &str) -> SparseConfig {
        SparseConfig {
            variant: variant.to_owned(),
            seed: 1,
            positions: 30_000_000,
            epochs: None,
            batch: 4096,
            learning_rate: 1e-3,
            warm_up_steps: 100,
            schedule: DecaySchedule::Linear,
            final_learning_rate: 3e-6,
            held_out_of: 50,
            held_out_positions: 12_288,
            checkpoint_seconds: 120.0,
            score_scale: None,
            start: None,
            network: SparseSizes { hidden_size: 640, policy_size: 192, value_hidden: 32 },
            training: Training {
                score_blend: 0.5,
                label_smoothing: 0.0,
                value_weight: 1.0,
                moves_left_weight: 0.05,
                value_dropout: 0.0,
                weight_decay: 0.02,
                policy_threshold: 0.01,
            },
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// What is wrong, with the file and the place.
    pub fn read(path: &Path) -> anyhow::Result<SparseConfig> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn check(&self) -> anyhow::Result<()> {
        let SparseSizes { hidden_size, policy_size, value_hidden } = self.network;
        let training = &self.training;
        anyhow::ensure!(
            (1..=MAX_HIDDEN_SIZE).contains(&hidden_size) && hidden_size.is_multiple_of(HIDDEN_UNIT),
            "hidden_size is {hidden_size}, not a multiple of {HIDDEN_UNIT} up to {MAX_HIDDEN_SIZE}"
        );
        let most = hidden_size / 2;
        anyhow::ensure!(
            (1..=most).contains(&policy_size) && policy_size.is_multiple_of(POLICY_UNIT),
            "policy_size is {policy_size}, not a multiple of {POLICY_UNIT} up to {most}"
        );
        anyhow::ensure!(
            (1..=MAX_VALUE_HIDDEN).contains(&value_hidden),
            "value_hidden is {value_hidden}, not 1 to {MAX_VALUE_HIDDEN}"
        );
        anyhow::ensure!(self.positions > 0 || self.epochs.is_some(), "positions is 0");
        anyhow::ensure!(
            (1..=MAX_BATCH).contains(&self.batch),
            "batch is {}, not 1 to {MAX_BATCH}",
            self.batch
        );
        anyhow::ensure!(self.held_out_of > 1, "held_out_of is {}, below 2", self.held_out_of);
        let shares = [
            ("score_blend", training.score_blend),
            ("label_smoothing", training.label_smoothing),
            ("policy_threshold", training.policy_threshold),
        ];
        for (name, share) in shares {
            anyhow::ensure!((0.0..=1.0).contains(&share), "{name} is {share}, not 0 to 1");
        }
        let numbers = [
            ("learning_rate", self.learning_rate),
            ("final_learning_rate", self.final_learning_rate),
            ("value_weight", training.value_weight),
            ("moves_left_weight", training.moves_left_weight),
            ("weight_decay", training.weight_decay),
        ];
        for (name, number) in numbers {
            let is_valid = number.is_finite() && number >= 0.0;
            anyhow::ensure!(is_valid, "{name} is {number}, not a number from 0 on");
        }
        let seconds = self.checkpoint_seconds;
        let is_duration = Duration::try_from_secs_f64(seconds).is_ok();
        anyhow::ensure!(is_duration, "checkpoint_seconds is {seconds}, not a duration");
        let dropout = training.value_dropout;
        anyhow::ensure!((0.0..1.0).contains(&dropout), "value_dropout is {dropout}, not 0 to 1");
        if let Some(epochs) = self.epochs {
            anyhow::ensure!(
                epochs > 0.0 && epochs <= MAX_EPOCHS,
                "epochs is {epochs}, not above 0 and at most {MAX_EPOCHS}"
            );
        }
        if let Some(scale) = self.score_scale {
            let is_valid = scale.is_finite() && scale > 0.0;
            anyhow::ensure!(is_valid, "score_scale is {scale}, not a number above 0");
        }
        Ok(())
    }

    /// Returns the settings with [`SparseConfig::positions`] as [`SparseConfig::epochs`] says, given the positions of
    /// the records.
    pub fn with_positions(self, of_records: u64) -> SparseConfig {
        match self.epochs {
            Some(epochs) => {
                SparseConfig { positions: (epochs * of_records as f64).ceil() as u64, ..self }
            }
            None => self,
        }
    }

    /// Returns the number of steps of the whole run.
    pub fn steps(&self) -> u64 {
        self.positions.div_ceil(self.batch as u64)
    }

    /// Returns the learning rate of a step, counted from 0.
    pub fn learning_rate(&self, step: u64) -> f32 {
        let warm_up = self.warm_up_steps;
        if step < warm_up {
            return self.learning_rate * (step + 1) as f32 / warm_up as f32;
        }
        let rest = self.steps().saturating_sub(warm_up).max(1);
        let done = ((step - warm_up) as f64 / rest as f64).min(1.0);
        let left = match self.schedule {
            DecaySchedule::Cosine => (1.0 + (std::f64::consts::PI * done).cos()) / 2.0,
            DecaySchedule::Linear => 1.0 - done,
        };
        let last = self.final_learning_rate;
        last + (self.learning_rate - last) * left as f32
    }
}
