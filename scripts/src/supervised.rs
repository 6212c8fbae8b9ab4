//! Supervised training of a network from recorded games, in a folder. A run that was killed continues.
//!
//! ```text
//! config.toml          the configuration
//! state.toml           the progress, written last: steps that are not counted are repeated
//! learner/0000001234.ckpt  weights and optimizer after that number of steps; only the newest is kept
//! metrics.csv          a row for each checkpoint
//! network.onnx         the averaged weights at the newest checkpoint
//! learner.lock         locked by the process that trains
//! ```
//!
//! A tenth of the games is held out and never trained on. Which ones depends on the games themselves
//! (a hash of start and moves), not on the files or their order. The order of the positions depends on
//! the seed and the number of steps only: a run that was stopped ends with the same network as one that
//! was not, given the same records.

mod config;
mod dataset;
mod metrics;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpu_time::ProcessTime;
use menagerie::encoding::Encoding;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::append_checksum;
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::learner::{Learner, LearnerConfig, Losses, TrainingSample};
use crate::readers::Games;
use crate::record::{CheckedGame, InvalidGame, Sampler, Targets};
use crate::run::{LeaseTiming, RunLock};
use crate::store::Store;
use crate::{cpu_seconds, csv_log, onnx, warm_start};
pub use config::SupervisedConfig;
use dataset::{Dataset, DatasetPosition};
pub use metrics::SupervisedMetrics;

/// A supervised training run.
#[derive(Debug)]
pub struct Supervised {
    store: Store,
    config: SupervisedConfig,
    variant: Arc<Variant>,
    encoding: Encoding,
    data: Dataset,
    targets: Targets,
    state: State,
    learner: Learner,
    log: Vec<SupervisedMetrics>,
    lock: RunLock,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Steps taken.
    steps: u64,
    /// CPU time in seconds.
    #[serde(deserialize_with = "cpu_seconds::deserialize")]
    cpu_seconds: f64,
}

const CONFIG: &str = "config.toml";
const STATE: &str = "state.toml";
const METRICS: &str = "metrics.csv";
const NETWORK: &str = "network.onnx";

impl Supervised {
    /// Opens the run in `store`, which continues with its own configuration except for the number of
    /// positions, or starts a new one with `config` and the weights of `from`, an ONNX file of the trainer,
    /// if given.
    ///
    /// # Errors
    /// The file that cannot be read or does not fit, and why; or that another process trains the run.
    pub fn open(
        store: Store,
        config: SupervisedConfig,
        variant: &Arc<Variant>,
        games: Vec<CheckedGame>,
        from: Option<&Path>,
    ) -> anyhow::Result<Supervised> {
        let lock = RunLock::acquire(&store, LeaseTiming::default(), &AtomicBool::new(false))?;
        let config = match store.find_toml::<SupervisedConfig>(CONFIG)? {
            Some(own) => SupervisedConfig { positions: config.positions, ..own },
            None => config,
        };
        config.check()?;
        anyhow::ensure!(
            config.variant == variant.name(),
            "{}/{CONFIG}: a run of {}, not of {}",
            store.place(),
            config.variant,
            variant.name()
        );
        let encoding = Encoding::of(&variant.start());
        let shape = encoding.shape();
        let data = Dataset::new(games);
        anyhow::ensure!(!data.training.is_empty(), "the records hold no positions to train on");
        let targets = config.targets.fitted(data.training_games(), variant);
        let state: State = store.find_toml(STATE)?.unwrap_or_default();
        let learning = config.learner.clone();
        let learner = match (state.steps, from) {
            (0, None) => Learner::new(shape, &config.network, learning, config.seed)?,
            (0, Some(path)) => {
                let fault = |error: String| anyhow::anyhow!("{}: {error}", path.display());
                let bytes = fs::read(path).map_err(|error| fault(error.to_string()))?;
                let name = path.display().to_string();
                let known = warm_start::read_network(&name, &bytes, &encoding)?;
                let tensors = known.grown(&config.network, config.seed)?.tensors();
                Learner::with_tensors(shape, &config.network, learning, &tensors)
                    .map_err(|error| fault(error.to_string()))?
            }
            (done, _) => {
                let name = checkpoint_name(done);
                Learner::load(&store, &name, shape, &config.network, learning)?
            }
        };
        let mut log: Vec<SupervisedMetrics> = SupervisedMetrics::read(&store)?;
        log.retain(|row| row.steps <= state.steps);
        let variant = Arc::clone(variant);
        // Written last: settings that were refused do not stay in the folder.
        store.write_toml(CONFIG, &config)?;
        Ok(Supervised {
            store,
            config,
            variant,
            encoding,
            data,
            targets,
            state,
            learner,
            log,
            lock,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &SupervisedConfig {
        &self.config
    }

    /// The number of steps taken.
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// The numbers of training positions and of held-out positions.
    pub fn positions(&self) -> (usize, usize) {
        (self.data.training.len(), self.data.held_out.len())
    }

    /// The training targets, fitted to the records.
    pub fn targets(&self) -> Targets {
        self.targets
    }

    /// The path or URL of the newest network.
    pub fn network(&self) -> String {
        format!("{}/{NETWORK}", self.store.place())
    }

    /// Trains on the configured number of positions. `report` receives the row of each checkpoint.
    ///
    /// # Errors
    /// If training or the store fails; the run can be opened again.
    pub fn train(&mut self, report: &dyn Fn(&SupervisedMetrics)) -> anyhow::Result<()> {
        self.remove_leftovers()?;
        let steps = self.config.steps();
        let every = Duration::from_secs_f64(self.config.checkpoint_seconds);
        let before = self.state.cpu_seconds;
        let clock = ProcessTime::now();
        let mut last_checkpoint = Instant::now();
        let mut losses = Vec::new();
        while self.learner.steps() < steps {
            let batch = self.batch(self.learner.steps())?;
            self.learner.set_learning_rate(self.config.learning_rate(self.learner.steps()))?;
            losses.push(self.learner.step(&batch)?);
            if last_checkpoint.elapsed() >= every || self.learner.steps() == steps {
                let held_out = self.measure()?;
                let state = State {
                    steps: self.learner.steps(),
                    cpu_seconds: before + clock.elapsed().as_secs_f64(),
                };
                let row = self.row(&state, &Losses::mean(&losses), &held_out);
                self.save(state, &row)?;
                report(&row);
                losses.clear();
                last_checkpoint = Instant::now();
            }
        }
        Ok(())
    }

    /// Returns the samples of a step.
    fn batch(&mut self, step: u64) -> anyhow::Result<Vec<TrainingSample>> {
        let positions = self.data.batch(step, self.config.batch, self.config.seed);
        let mirror = self.config.mirror;
        self.samples(&positions, self.targets, |position| mirror && position.coin)
    }

    fn samples(
        &self,
        positions: &[DatasetPosition],
        targets: Targets,
        mirrored: impl Fn(&DatasetPosition) -> bool + Sync,
    ) -> anyhow::Result<Vec<TrainingSample>> {
        let sampler = Sampler { variant: &self.variant, encoding: &self.encoding, targets };
        let make_sample = |position: &DatasetPosition| {
            let game = self.data.game(position);
            let sample = sampler.sample_checked(game, position.ply, mirrored(position));
            sample.with_context(|| {
                let (place, start, ply) = (game.place(), &game.record().start, position.ply + 1);
                format!("{place}, from \"{start}\": ply {ply} has no sample in its variant")
            })
        };
        let parts = map_in_threads(positions, self.config.learner.threads, |part| {
            part.iter().map(make_sample).collect::<anyhow::Result<Vec<_>>>()
        });
        let mut samples = Vec::with_capacity(positions.len());
        for part in parts {
            samples.extend(part?);
        }
        Ok(samples)
    }

    /// Returns the losses of the averaged weights on held-out positions, with the recorded moves and results
    /// as targets, or the expected score before the first mistake.
    fn measure(&self) -> anyhow::Result<Losses> {
        let positions = self.data.held_out(self.config.held_back_positions);
        if positions.is_empty() {
            return Ok(Losses::default());
        }
        let learner = Learner::with_tensors(
            self.learner.shape(),
            &self.config.network,
            // The averaged tensors lack the head that exists in training only.
            LearnerConfig { soft_policy_weight: 0.0, ..self.config.learner.clone() },
            &self.learner.averaged_tensors(),
        )?;
        let targets = Targets { score_share: 0.0, smoothing: 0.0, ..self.targets };
        let samples = self.samples(&positions, targets, |_| false)?;
        let parts = map_in_threads(&samples, self.config.learner.threads, |part| {
            let batches = part.chunks(self.config.batch).filter(|batch| {
                // A smaller last batch of a part would have too much weight in the mean.
                batch.len() == self.config.batch || part.len() < self.config.batch
            });
            batches.map(|batch| learner.measure(batch)).collect::<Result<Vec<_>, _>>()
        });
        let mut all = Vec::new();
        for part in parts {
            all.extend(part?);
        }
        Ok(Losses::mean(&all))
    }

    fn row(&self, state: &State, losses: &Losses, held_out: &Losses) -> SupervisedMetrics {
        let positions = state.steps * self.config.batch as u64;
        SupervisedMetrics {
            steps: state.steps,
            positions,
            epochs: positions as f64 / self.data.training.len() as f64,
            cpu_minutes: state.cpu_seconds / 60.0,
            learning_rate: losses.learning_rate,
            loss: losses.total,
            policy_excess: losses.policy - losses.policy_floor,
            policy_accuracy: losses.policy_accuracy,
            outcome_loss: losses.outcome,
            outcome_accuracy: losses.outcome_accuracy,
            score_error: losses.score_error,
            moves_left_loss: losses.moves_left,
            held_policy_excess: held_out.policy - held_out.policy_floor,
            held_policy_accuracy: held_out.policy_accuracy,
            held_outcome_loss: held_out.outcome,
            held_outcome_accuracy: held_out.outcome_accuracy,
            held_score_error: held_out.score_error,
            held_moves_left_loss: held_out.moves_left,
        }
    }

    /// Writes a checkpoint: learner, network, log, and last the state that counts them.
    fn save(&mut self, state: State, row: &SupervisedMetrics) -> anyhow::Result<()> {
        self.lock.check(&self.store)?;
        self.learner.save(&self.store, &checkpoint_name(state.steps))?;
        let name = self.variant.name();
        let run = format!(
            "train {name}, seed {}, {} steps of {}, {} positions",
            self.config.seed,
            state.steps,
            self.config.batch,
            self.data.training.len()
        );
        let metadata = NetworkMetadata::new(&self.encoding, name, &run).entries();
        let tensors = self.learner.averaged_tensors();
        let shape = self.encoding.shape();
        let bytes = onnx::export(shape, &self.config.network, &tensors, &metadata)?;
        self.store.write(NETWORK, append_checksum(bytes))?;
        self.log.push(row.clone());
        csv_log::write_rows(&self.store, METRICS, &self.log)?;
        self.store.write_toml(STATE, &state)?;
        self.state = state;
        self.remove_leftovers()
    }

    /// Removes checkpoints other than that of the state. A process that was killed may have left them.
    fn remove_leftovers(&self) -> anyhow::Result<()> {
        Ok(self.store.remove_others(&checkpoint_name(self.state.steps))?)
    }
}

fn checkpoint_name(steps: u64) -> String {
    format!("learner/{steps:010}.ckpt")
}

/// Checks games. Returns those that are possible in the variant, and the errors of the others.
pub fn check_games(games: Games, variant: &Arc<Variant>) -> (Vec<CheckedGame>, Vec<InvalidGame>) {
    games.check_each(|place, game| CheckedGame::new(Arc::clone(variant), game, place))
}

/// Splits a list into a part for each thread and returns the results of the parts in order.
fn map_in_threads<T: Sync, R: Send>(
    list: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let parts = list.chunks(list.len().div_ceil(threads.max(1)).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| match thread.join() {
            Ok(result) => result,
            // A panic is a bug: it continues in this thread.
            Err(panic) => std::panic::resume_unwind(panic),
        };
        running.into_iter().map(join).collect()
    })
}
