//! Supervised learning: a network from recorded games, in a folder that goes on after a kill.
//!
//! ```text
//! config.toml          what was asked for
//! state.toml           what is done, written last: what it does not count is done again
//! learner/0000001234.ckpt  weights and optimizer after so many steps; only the newest is kept
//! metrics.csv          a row a checkpoint
//! network.onnx         the averaged weights at the newest checkpoint
//! ```
//!
//! A tenth of the games is held back and never learnt from. Which ones is in the games themselves
//! (a hash of start and moves), so that more files or another order change nothing about it. The
//! order of the positions depends on the seed and the number of steps alone: a run that was stopped
//! comes to the same network as one that was not, if it is given the same records.

mod config;
mod dataset;
mod metrics;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use menagerie::encoding::Encoding;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::append_checksum;
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::learner::{Learner, LearnerConfig, Losses, Sample};
use crate::record::{GameRecord, Sampler, Targets};
use crate::store::Store;
use crate::{csv_log, onnx, warm_start};
pub use config::SupervisedConfig;
use dataset::{Dataset, Spot};
pub use metrics::Metrics;

/// A supervised run in its folder.
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
    log: Vec<Metrics>,
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Steps taken.
    steps: u64,
    /// CPU time spent, in seconds.
    cpu_seconds: f64,
}

const CONFIG: &str = "config.toml";
const STATE: &str = "state.toml";
const METRICS: &str = "metrics.csv";
const NETWORK: &str = "network.onnx";

impl Supervised {
    /// Opens the run in `store`, which goes on where it stopped, or begins one there with `config`.
    /// The configuration of a run that exists is its own, but for the number of positions. A new
    /// run starts from the weights of `from`, an ONNX file of the trainer's.
    ///
    /// # Errors
    /// What is wrong, with the file.
    pub fn open(
        store: Store,
        config: SupervisedConfig,
        variant: &Arc<Variant>,
        games: Vec<GameRecord>,
        from: Option<&Path>,
    ) -> anyhow::Result<Supervised> {
        let config = match store.find_toml::<SupervisedConfig>(CONFIG)? {
            Some(own) => SupervisedConfig { positions: config.positions, ..own },
            None => config,
        };
        config.check()?;
        let (place, game) = (store.place(), &config.variant);
        let wanted = variant.name();
        anyhow::ensure!(game == wanted, "{place}/{CONFIG}: a run of {game}, not of {wanted}");
        store.write_toml(CONFIG, &config)?;
        let encoding = Encoding::of(&variant.start());
        let shape = encoding.shape();
        let data = Dataset::new(games);
        anyhow::ensure!(!data.learnt.is_empty(), "the records hold no positions to learn from");
        let targets = config.targets.fitted(data.games_learnt(), variant);
        let state: State = store.find_toml(STATE)?.unwrap_or_default();
        let learning = config.learner.clone();
        let learner = match (state.steps, from) {
            (0, None) => Learner::new(shape, &config.network, learning, config.seed)?,
            (0, Some(path)) => {
                let fault = |error: String| anyhow::anyhow!("{}: {error}", path.display());
                let bytes = fs::read(path).map_err(|error| fault(error.to_string()))?;
                let known = warm_start::network(&path.display().to_string(), &bytes, &encoding)?;
                let tensors = known.grown(&config.network, config.seed)?.tensors();
                Learner::with_tensors(shape, &config.network, learning, &tensors)
                    .map_err(|error| fault(error.to_string()))?
            }
            (done, _) => Learner::load(&store, &saved(done), shape, &config.network, learning)?,
        };
        let mut log: Vec<Metrics> = Metrics::read(&store)?;
        log.retain(|row| row.steps <= state.steps);
        let variant = Arc::clone(variant);
        Ok(Supervised { store, config, variant, encoding, data, targets, state, learner, log })
    }

    /// What was asked for.
    pub fn config(&self) -> &SupervisedConfig {
        &self.config
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// Positions that are learnt from, and those held back.
    pub fn positions(&self) -> (usize, usize) {
        (self.data.learnt.len(), self.data.held_back.len())
    }

    /// What is learnt, fitted to the records.
    pub fn targets(&self) -> Targets {
        self.targets
    }

    /// Where the newest network is.
    pub fn network(&self) -> String {
        format!("{}/{NETWORK}", self.store.place())
    }

    /// Learns until all positions asked for have been seen. `told` gets the row of each checkpoint.
    ///
    /// # Errors
    /// What went wrong; the run can be opened again.
    pub fn learn(&mut self, told: &dyn Fn(&Metrics)) -> anyhow::Result<()> {
        self.sweep()?;
        let steps = self.config.steps();
        let every = Duration::from_secs_f64(self.config.checkpoint_seconds);
        let before = self.state.cpu_seconds;
        let clock = ProcessTime::now();
        let mut saved_at = Instant::now();
        let mut losses = Vec::new();
        while self.learner.steps() < steps {
            let batch = self.batch(self.learner.steps())?;
            self.learner.set_learning_rate(self.config.learning_rate(self.learner.steps()))?;
            losses.push(self.learner.step(&batch)?);
            if saved_at.elapsed() >= every || self.learner.steps() == steps {
                let held_back = self.measure()?;
                let state = State {
                    steps: self.learner.steps(),
                    cpu_seconds: before + clock.elapsed().as_secs_f64(),
                };
                let row = self.row(&state, &Losses::mean(&losses), &held_back);
                self.save(state, &row)?;
                told(&row);
                losses.clear();
                saved_at = Instant::now();
            }
        }
        Ok(())
    }

    /// The samples of a step, made by as many threads as learn.
    fn batch(&mut self, step: u64) -> anyhow::Result<Vec<Sample>> {
        let spots = self.data.batch(step, self.config.batch, self.config.seed);
        let mirror = self.config.mirror;
        self.samples(&spots, self.targets, |spot| mirror && spot.coin)
    }

    fn samples(
        &self,
        spots: &[Spot],
        targets: Targets,
        mirrored: impl Fn(&Spot) -> bool + Sync,
    ) -> anyhow::Result<Vec<Sample>> {
        let sampler = Sampler { variant: &self.variant, encoding: &self.encoding, targets };
        let make = |spot: &Spot| {
            let game = self.data.game(spot);
            sampler
                .sample(game, spot.ply, mirrored(spot))
                .ok_or_else(|| anyhow::anyhow!("the game from \"{}\" does not replay", game.start))
        };
        in_parts(spots, self.config.learner.threads, |part| {
            part.iter().map(make).collect::<anyhow::Result<Vec<_>>>()
        })
        .into_iter()
        .try_fold(Vec::new(), |mut all, part| {
            all.extend(part?);
            Ok(all)
        })
    }

    /// What the averaged weights make of positions held back: of the teacher's moves as they are,
    /// and of the games' results, or what was to be expected before the first mistake.
    fn measure(&self) -> anyhow::Result<Losses> {
        let spots = self.data.held_back(self.config.held_back_positions);
        if spots.is_empty() {
            return Ok(Losses::default());
        }
        let learner = Learner::with_tensors(
            self.learner.shape(),
            &self.config.network,
            // What is there in training only is not in the average either.
            LearnerConfig { soft_policy_weight: 0.0, ..self.config.learner.clone() },
            &self.learner.averaged_tensors(),
        )?;
        let targets = Targets { score_share: 0.0, smoothing: 0.0, ..self.targets };
        let samples = self.samples(&spots, targets, |_| false)?;
        let parts = in_parts(&samples, self.config.learner.threads, |part| {
            let batches = part.chunks(self.config.batch).filter(|batch| {
                // The last batch of a part may be smaller, and then weighs too much in the mean.
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

    fn row(&self, state: &State, losses: &Losses, held_back: &Losses) -> Metrics {
        let positions = state.steps * self.config.batch as u64;
        Metrics {
            steps: state.steps,
            positions,
            epochs: positions as f64 / self.data.learnt.len() as f64,
            cpu_minutes: state.cpu_seconds / 60.0,
            learning_rate: losses.learning_rate,
            loss: losses.total,
            policy_excess: losses.policy - losses.policy_floor,
            policy_accuracy: losses.policy_accuracy,
            outcome_loss: losses.outcome,
            outcome_accuracy: losses.outcome_accuracy,
            score_error: losses.score_error,
            moves_left_loss: losses.moves_left,
            held_policy_excess: held_back.policy - held_back.policy_floor,
            held_policy_accuracy: held_back.policy_accuracy,
            held_outcome_loss: held_back.outcome,
            held_outcome_accuracy: held_back.outcome_accuracy,
            held_score_error: held_back.score_error,
            held_moves_left_loss: held_back.moves_left,
        }
    }

    /// Writes a checkpoint: learner, network, log, and at last the state that counts them.
    fn save(&mut self, state: State, row: &Metrics) -> anyhow::Result<()> {
        self.learner.save(&self.store, &saved(state.steps))?;
        let name = self.variant.name();
        let run = format!(
            "train {name}, seed {}, {} steps of {}, {} positions",
            self.config.seed,
            state.steps,
            self.config.batch,
            self.data.learnt.len()
        );
        let network_metadata = NetworkMetadata::new(&self.encoding, name, &run);
        let tensors = self.learner.averaged_tensors();
        let shape = self.encoding.shape();
        let bytes =
            onnx::export(shape, &self.config.network, &tensors, &network_metadata.entries())?;
        self.store.write(NETWORK, append_checksum(bytes))?;
        self.log.push(row.clone());
        csv_log::write(&self.store, METRICS, &self.log)?;
        self.store.write_toml(STATE, &state)?;
        self.state = state;
        self.sweep()
    }

    /// Removes other checkpoints than the one that the state counts, which a process that was killed in
    /// time may have left, too.
    fn sweep(&self) -> anyhow::Result<()> {
        Ok(self.store.remove_others(&saved(self.state.steps))?)
    }
}

fn saved(steps: u64) -> String {
    format!("learner/{steps:010}.ckpt")
}

/// Cuts a list among threads and gives their results in order.
fn in_parts<T: Sync, R: Send>(
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
            // A thread panics only on a bug, which is then this thread's as well.
            Err(panic) => std::panic::resume_unwind(panic),
        };
        running.into_iter().map(join).collect()
    })
}
