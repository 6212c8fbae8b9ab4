//! The configuration of a supervised training run.

use std::f64::consts::PI;
use std::fs;
use std::path::Path;
use std::time::Duration;

use menagerie::variant::Variant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::learner::{LearnerConfig, Optimizer};
use crate::network::Architecture;
use crate::record::Targets;
use crate::run::RunConfig;
use crate::store::{Store, StoreError};

/// The settings of a supervised run, as `config.toml` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SupervisedConfig {
    /// The variant.
    pub variant: String,
    /// The random seed.
    pub seed: u64,
    /// Positions to train on. The records are repeated when all their positions have been used.
    pub positions: u64,
    /// Positions of a training step.
    pub batch: usize,
    /// Mirrors half of the positions left to right. Positions with castling rights are not mirrored. Not for
    /// variants whose rules distinguish files.
    pub mirror: bool,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
    /// Greatest number of held-out positions that measure a checkpoint.
    pub held_back_positions: usize,
    /// The architecture.
    pub network: Architecture,
    /// Optimizer and losses. The learning rate rises over `warm_up_steps` and falls to a twentieth along a
    /// cosine over the whole run.
    pub learner: LearnerConfig,
    /// The training targets.
    pub targets: Targets,
}

/// Learning rate of Muon: the best of 0.001, 0.002, 0.004 and 0.008 on 400,000 positions of crazyhouse.
const MUON_LEARNING_RATE: f32 = 4e-3;

impl SupervisedConfig {
    /// Returns the default configuration of a variant. The network is that of a self-play run, which may
    /// start from it.
    pub fn for_variant(variant: &Variant) -> SupervisedConfig {
        let run = RunConfig::for_variant(variant);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        SupervisedConfig {
            variant: run.variant,
            seed: run.seed,
            positions: 2_000_000,
            batch: 256,
            mirror: true,
            checkpoint_seconds: 120.0,
            held_back_positions: 4096,
            network: run.network,
            learner: LearnerConfig {
                optimizer: Optimizer::Muon,
                learning_rate: MUON_LEARNING_RATE,
                threads,
                ..run.learner
            },
            targets: Targets { score_share: 0.5, smoothing: 0.05, ..Targets::default() },
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn read(path: &Path) -> anyhow::Result<SupervisedConfig> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// Returns the configuration of the run in `store`, if there is one.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub fn of_run(store: &Store) -> Result<Option<SupervisedConfig>, StoreError> {
        store.find_toml(super::CONFIG)
    }

    /// Checks the values that no other part checks.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.batch > 0, "batch must be above 0");
        let seconds = self.checkpoint_seconds;
        let valid = Duration::try_from_secs_f64(seconds).is_ok();
        anyhow::ensure!(valid, "checkpoint_seconds must be a duration, got {seconds}");
        Ok(self.targets.check()?)
    }

    /// The number of steps of the run.
    pub fn steps(&self) -> u64 {
        self.positions.div_ceil(self.batch.max(1) as u64)
    }

    /// Returns the learning rate of a step, counted from 0, without warm-up.
    pub fn learning_rate(&self, step: u64) -> f32 {
        let done = (step as f64 / self.steps().max(1) as f64).min(1.0);
        let height = 0.5 * (1.0 + (PI * done).cos());
        self.learner.learning_rate * (0.05 + 0.95 * height) as f32
    }
}
