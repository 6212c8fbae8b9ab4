//! What a supervised run is asked for.

use std::f64::consts::PI;
use std::fs;
use std::path::Path;
use std::time::Duration;

use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::learner::{LearnerConfig, Optimizer};
use crate::network::Architecture;
use crate::record::Targets;
use crate::run::RunConfig;
use crate::store::{Store, StoreError};

/// The settings of a supervised run, as `config.toml` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisedConfig {
    /// The game.
    pub variant: String,
    /// The seed of all that is random.
    pub seed: u64,
    /// Positions to learn from in all; those of the records come again when all have been seen.
    pub positions: u64,
    /// Positions in a step.
    pub batch: usize,
    /// Whether half of the positions, drawn by lot, are turned left to right where nobody may
    /// castle. Not for games whose rules tell the files apart.
    pub mirror: bool,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
    /// Held-back positions that each checkpoint is measured on, at most.
    pub held_back_positions: usize,
    /// The network.
    pub network: Architecture,
    /// How it learns. The learning rate rises over its `warm_up_steps` and then falls to a
    /// twentieth, along a cosine over the whole run.
    pub learner: LearnerConfig,
    /// What is learnt: `steepness` and `draws` are fitted to the records, whatever stands here.
    pub targets: Targets,
}

/// The learning rate of Muon. Of 0.001, 0.002, 0.004 and 0.008 the best on 400,000 positions of crazyhouse.
const LEARNING_RATE: f32 = 4e-3;

impl SupervisedConfig {
    /// Settings for a game: the network of a self-play run of it, so that self-play can go on from
    /// here.
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
                learning_rate: LEARNING_RATE,
                threads,
                ..run.learner
            },
            targets: Targets { score_share: 0.5, smoothing: 0.05, ..Targets::default() },
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// What is wrong, with the file and the place.
    pub fn read(path: &Path) -> anyhow::Result<SupervisedConfig> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// The configuration of the run in `store`, if there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_run(store: &Store) -> Result<Option<SupervisedConfig>, StoreError> {
        store.find_toml(super::CONFIG)
    }

    /// Says in words what is wrong with it, if anything.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.batch > 0, "batch is 0");
        let seconds = self.checkpoint_seconds;
        let possible = Duration::try_from_secs_f64(seconds).is_ok();
        anyhow::ensure!(possible, "checkpoint_seconds is {seconds}");
        self.targets.check().map_err(anyhow::Error::msg)
    }

    /// Steps in all.
    pub fn steps(&self) -> u64 {
        self.positions.div_ceil(self.batch.max(1) as u64)
    }

    /// The learning rate of a step, counted from 0, warm-up aside.
    pub fn learning_rate(&self, step: u64) -> f32 {
        let done = (step as f64 / self.steps().max(1) as f64).min(1.0);
        let height = 0.5 * (1.0 + (PI * done).cos());
        self.learner.learning_rate * (0.05 + 0.95 * height) as f32
    }
}
