//! A training run by self-play, in a folder or a bucket. A run that was killed continues.
//!
//! ```text
//! config.toml          the configuration
//! state.toml           finished iterations, written last: an iteration that is not counted is repeated
//! games/00000.games    self-play of each iteration
//! games/00001/         finished games of an iteration that is not finished
//! nets/00000.onnx      the network that each iteration played with; 00000 is the initial one
//! nets/00000.int8.onnx the same in int8, if the run uses int8
//! learner/00001.ckpt   weights and optimizer after an iteration; only the newest is kept
//! metrics.csv          a row an iteration
//! events.out.tfevents.0.menagerie   the same for TensorBoard
//! network.onnx         the newest network, and network.int8.onnx
//! learner.lock         locked by the process that trains
//! ```
//!
//! With workers, also:
//!
//! ```text
//! network.toml         name and checksum of the newest network, and whether the run is finished
//! incoming/            uploads of workers
//! claims/00001.toml    the uploads whose games are the shard of an iteration
//! rejected/            damaged uploads
//! lease/               which learner trains
//! ```
//!
//! - `iteration_games`: self-play of this process or of workers.
//! - `claims`, `upload`, `lease`, `announcement`: these objects; `remote_worker`: a worker.
//! - `lock`: excludes a second learner.

mod announcement;
mod claims;
mod config;
mod iteration_games;
mod journal;
mod lease;
mod lock;
mod metrics;
mod remote_worker;
mod upload;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use indicatif::{ProgressBar, ProgressStyle};
use menagerie::encoding::Encoding;
use menagerie::nn::network::append_checksum;
use menagerie::nn::{NetworkFile, NetworkMetadata, Weights};
use menagerie::variant::Variant;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::calibration::{from_games, from_random_play, planes};
use crate::cpu_seconds::MAX_CPU_SECONDS;
use crate::learner::{Learner, LearnerError, Losses, TrainingSample};
use crate::network::NamedTensor;
use crate::record;
use crate::replay_buffer::{DrawError, ReplayBuffer, window_size};
use crate::store::Store;
use crate::uploader::MAX_OUTAGE;
use crate::{cpu_seconds, onnx, warm_start};
use announcement::{AnnouncedFile, Announcement};
use claims::Claims;
pub use config::RunConfig;
pub use iteration_games::GameSource;
use iteration_games::IterationGames;
use journal::Journal;
pub use lease::{LeaseError, LeaseTiming};
pub use lock::RunLock;
pub use metrics::RunMetrics;
pub use remote_worker::{RemoteWorker, WorkerEnd};
pub use worker::SelfPlayWorker;

/// A training run by self-play.
#[derive(Debug)]
pub struct Run {
    store: Store,
    config: RunConfig,
    variant: Arc<Variant>,
    encoding: Encoding,
    state: State,
    learner: Learner,
    buffer: ReplayBuffer,
    log: Vec<RunMetrics>,
    claims: Claims,
    lock: RunLock,
}

/// How [`Run::train_until`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All iterations are finished.
    Finished,
    /// It was stopped, and can be continued.
    Stopped,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Finished iterations.
    iterations: u64,
    /// Games played.
    games: u64,
    /// Positions of these games.
    positions: u64,
    /// CPU time in seconds.
    #[serde(deserialize_with = "cpu_seconds::deserialize")]
    cpu_seconds: f64,
}

const CONFIG: &str = "config.toml";
const STATE: &str = "state.toml";
const NETWORK: &str = "network.onnx";
const INT8_NETWORK: &str = "network.int8.onnx";

/// Number of positions by which the int8 network is calibrated.
const CALIBRATION_POSITIONS: usize = 1000;

impl Run {
    /// Opens the run in `store`, which continues with its own configuration, or starts a new one with
    /// `config` and the weights of `from`, an ONNX file, if given.
    ///
    /// # Errors
    /// The file that cannot be read or does not fit, and why; that another process trains the run; or that it is one of
    /// another variant than that of `config`.
    pub fn open(store: Store, config: RunConfig, from: Option<&[u8]>) -> anyhow::Result<Run> {
        let lock = RunLock::acquire(&store, LeaseTiming::default(), &AtomicBool::new(false))?;
        Run::open_locked(lock, store, config, from)
    }

    /// Opens the run in `store` as [`Run::open`] does, with the lock of this store.
    ///
    /// # Errors
    /// The file that cannot be read or does not fit, and why.
    pub fn open_locked(
        lock: RunLock,
        store: Store,
        config: RunConfig,
        from: Option<&[u8]>,
    ) -> anyhow::Result<Run> {
        let own = RunConfig::of_run(&store)?;
        let is_new = own.is_none();
        if let Some(own) = &own {
            let place = format!("{}/{CONFIG}", store.place());
            check_same_variant(&place, &*own.find_variant()?, &*config.find_variant()?)?;
        }
        let config = own.unwrap_or(config);
        config.check()?;
        let variant = config.find_variant()?;
        config.selfplay.check(&variant)?;
        let encoding = Encoding::of(&variant.start());
        let state: State = store.find_toml(STATE)?.unwrap_or_default();
        let learner = match (state.iterations, from) {
            (0, Some(bytes)) => {
                let known = warm_start::read_network("--from", bytes, &encoding)?;
                let tensors = known.grown(&config.network, config.seed)?.tensors();
                start_learner(&config, &encoding, &tensors)?
            }
            // A run that was killed in its first iteration may have started from weights.
            (0, None) => match store.find(&net(0))? {
                Some(bytes) => {
                    let network = warm_start::read_network(&net(0), &bytes, &encoding)?;
                    start_learner(&config, &encoding, &network.tensors())?
                }
                None => Learner::new(
                    encoding.shape(),
                    &config.network,
                    config.learner.clone(),
                    config.seed,
                )?,
            },
            (done, _) => Learner::load(
                &store,
                &checkpoint_name(done),
                encoding.shape(),
                &config.network,
                config.learner.clone(),
            )?,
        };
        let buffer = read_buffer(&store, &config, &variant, &state)?;
        let mut log = RunMetrics::read(&store)?;
        log.retain(|row| row.iteration <= state.iterations);
        let claims = Claims::read(&store, &variant)?;
        // Settings that were refused do not stay in the folder.
        if is_new {
            store.write_toml(CONFIG, &config)?;
        }
        let run =
            Run { store, config, variant, encoding, state, learner, buffer, log, claims, lock };
        if run.state.iterations == 0 {
            run.write_network(0)?;
        }
        Ok(run)
    }

    /// The configuration.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The number of finished iterations.
    pub fn iterations(&self) -> u64 {
        self.state.iterations
    }

    /// CPU time in all, of this process and those before it.
    pub fn cpu(&self) -> Duration {
        Duration::from_secs_f64(self.state.cpu_seconds)
    }

    /// The path or URL of the newest network.
    pub fn network(&self) -> String {
        format!("{}/{NETWORK}", self.store.place())
    }

    /// Runs self-play and training until all iterations are finished.
    ///
    /// # Errors
    /// If self-play, training or the store fails; the run can be opened again.
    pub fn train(&mut self) -> anyhow::Result<()> {
        self.train_until(GameSource::SelfPlay, &Arc::default()).map(drop)
    }

    /// Does what [`Run::train`] does with games of `source`, until `stop` is set. The finished games of the
    /// iteration in progress are kept, its training steps are repeated when the run continues. With workers,
    /// failed requests to the store are repeated for hours.
    ///
    /// # Errors
    /// As for [`Run::train`], and if another process has taken over the run.
    pub fn train_until(
        &mut self,
        source: GameSource,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<RunEnd> {
        self.remove_leftovers()?;
        if let GameSource::Workers { .. } = source {
            self.store = self.store.patient(MAX_OUTAGE, stop);
            self.claims.set_store(&self.store);
            self.announce()?;
        }
        while self.state.iterations < self.config.iterations {
            let clock = ProcessTime::now();
            let before = self.state.cpu_seconds;
            let Some(played) = self.play_iteration(source, stop)? else {
                return Ok(RunEnd::Stopped);
            };
            let IterationGames { games, stats, remote_cpu } = played;
            let selfplay_time = match source {
                GameSource::SelfPlay => clock.elapsed(),
                GameSource::Workers { .. } => remote_cpu,
            };
            let positions = games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
            let mut next = State {
                iterations: self.state.iterations + 1,
                games: self.state.games + games.len() as u64,
                positions: self.state.positions + positions,
                cpu_seconds: before,
            };
            let decided = games.iter().filter(|game| game.winner().is_some()).count();
            let metrics = RunMetrics::of_games(games.len(), positions, decided, stats);
            self.buffer.extend(&shard_place(&self.store, self.state.iterations), games)?;
            self.buffer.shrink(window_size(next.positions, self.config.window));
            let Some(losses) = self.train_iteration(next.iterations, positions, stop)? else {
                return Ok(RunEnd::Stopped);
            };
            self.lock.check(&self.store)?;
            self.learner.save(&self.store, &checkpoint_name(next.iterations))?;
            self.write_network(next.iterations)?;
            let spent = clock.elapsed().saturating_add(remote_cpu).as_secs_f64();
            // A state with more could not be read again.
            next.cpu_seconds = (before + spent).min(MAX_CPU_SECONDS);
            let steps = self.learner.steps();
            let window = self.buffer.len();
            self.log.push(metrics.finish(&next, &losses, selfplay_time, steps, window));
            RunMetrics::write(&self.store, &self.log)?;
            self.lock.check(&self.store)?;
            self.store.write_toml(STATE, &next)?;
            self.state = next;
            self.remove_leftovers()?;
            if let GameSource::Workers { .. } = source {
                self.announce()?;
            }
        }
        Ok(RunEnd::Finished)
    }

    /// Publishes the newest network for workers.
    fn announce(&self) -> anyhow::Result<()> {
        let iteration = self.state.iterations;
        let int8 = if self.config.quantised {
            Some(AnnouncedFile::of(&self.store, int8_network_name(iteration))?)
        } else {
            None
        };
        let announcement = Announcement {
            iteration,
            finished: iteration >= self.config.iterations,
            network: AnnouncedFile::of(&self.store, net(iteration))?,
            int8,
        };
        Ok(announcement.publish(&self.store)?)
    }

    /// Removes checkpoints other than that of the state, and the parts of the last shard. A process that was
    /// killed may have left them.
    fn remove_leftovers(&self) -> anyhow::Result<()> {
        let done = self.state.iterations;
        self.store.remove_others(&checkpoint_name(done))?;
        match done.checked_sub(1) {
            Some(last) => Journal::clear(&self.store, &parts_folder(last)),
            None => Ok(()),
        }
    }

    /// Takes the training steps that `positions` new positions call for; `None` if it was stopped.
    fn train_iteration(
        &mut self,
        iteration: u64,
        positions: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Losses>> {
        let batch = self.config.batch.max(1);
        let steps = (positions as f64 * self.config.reuse / batch as f64).ceil().max(1.0) as u64;
        self.learner.set_learning_rate(self.config.learning_rate(iteration))?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.config.seed ^ iteration.rotate_left(32));
        let bar = progress_bar(steps, iteration - 1, "steps");
        let mut losses = Vec::new();
        for _ in 0..steps {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let samples: Result<Vec<TrainingSample>, DrawError> =
                (0..batch).map(|_| self.buffer.draw(&self.encoding, &mut rng)).collect();
            losses.push(self.learner.step(&samples?)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(Some(Losses::mean(&losses)))
    }

    /// Writes the averaged weights as the network of `iteration` and as the newest network.
    fn write_network(&self, iteration: u64) -> anyhow::Result<()> {
        let name = self.variant.name();
        let run = format!(
            "train {name}, seed {}, iteration {iteration}, {} steps of {}",
            self.config.seed,
            self.learner.steps(),
            self.config.batch
        );
        let metadata = NetworkMetadata::new(&self.encoding, name, &run).entries();
        let tensors = self.learner.averaged_tensors();
        let shape = self.encoding.shape();
        let bytes =
            append_checksum(onnx::export(shape, &self.config.network, &tensors, &metadata)?);
        if self.config.quantised {
            let int8 = onnx::quantise(&bytes, &self.calibration_planes())?;
            self.store.write(&int8_network_name(iteration), int8.clone())?;
            self.store.write(INT8_NETWORK, int8)?;
        }
        self.store.write(&net(iteration), bytes.clone())?;
        Ok(self.store.write(NETWORK, bytes)?)
    }

    /// The network that an iteration plays with.
    fn weights(&self, iteration: u64) -> anyhow::Result<Weights> {
        let float = self.read_network(net(iteration))?;
        let int8 = if self.config.quantised {
            Some(self.read_network(int8_network_name(iteration))?)
        } else {
            None
        };
        Ok(Weights::new(float, int8))
    }

    fn read_network(&self, name: String) -> anyhow::Result<NetworkFile> {
        let bytes = self.store.read(&name)?.into();
        Ok(NetworkFile { name, bytes })
    }

    /// The planes of the positions by which the int8 network is calibrated.
    fn calibration_planes(&self) -> Vec<f32> {
        let positions = if self.buffer.is_empty() {
            from_random_play(&self.variant, CALIBRATION_POSITIONS, self.config.seed)
        } else {
            from_games(&self.variant, self.buffer.games(), CALIBRATION_POSITIONS)
        };
        planes(&self.encoding, &positions)
    }
}

/// Checks that the run of `place`, one of the variant `own`, is of the variant `wanted`.
fn check_same_variant(place: &str, own: &Variant, wanted: &Variant) -> anyhow::Result<()> {
    let (own_name, name) = (own.name(), wanted.name());
    anyhow::ensure!(own_name == name, "{place}: a run of {own_name}, not of {name}");
    // The text of a start position has all rules, that of a section may differ in comments.
    let [own_rules, rules] = [own, wanted].map(|variant| format!("{:?}", variant.start()));
    anyhow::ensure!(own_rules == rules, "{place}: a run of {name} by other rules than those given");
    Ok(())
}

/// Reads the newest games of a run into a replay buffer.
fn read_buffer(
    store: &Store,
    config: &RunConfig,
    variant: &Arc<Variant>,
    state: &State,
) -> anyhow::Result<ReplayBuffer> {
    let size = window_size(state.positions, config.window);
    let mut shards = Vec::new();
    let mut positions = 0;
    for iteration in (0..state.iterations).rev() {
        let name = shard_name(iteration);
        let games = record::decode(&name, &store.read(&name)?)?;
        positions += games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
        shards.push((iteration, games));
        if positions >= size {
            break;
        }
    }
    let mut buffer = ReplayBuffer::new(Arc::clone(variant), config.surprise);
    for (iteration, games) in shards.into_iter().rev() {
        buffer.extend(&shard_place(store, iteration), games)?;
    }
    buffer.shrink(size);
    Ok(buffer)
}

/// Returns a learner with the given weights and no steps taken.
fn start_learner(
    config: &RunConfig,
    encoding: &Encoding,
    tensors: &[NamedTensor],
) -> Result<Learner, LearnerError> {
    Learner::with_tensors(encoding.shape(), &config.network, config.learner.clone(), tensors)
}

fn shard_name(iteration: u64) -> String {
    format!("games/{iteration:05}.games")
}

/// Returns the path or URL of the games of an iteration.
fn shard_place(store: &Store, iteration: u64) -> String {
    format!("{}/{}", store.place(), shard_name(iteration))
}

fn parts_folder(iteration: u64) -> String {
    format!("games/{iteration:05}")
}

/// The name of the network of an iteration.
pub fn net(iteration: u64) -> String {
    format!("nets/{iteration:05}.onnx")
}

fn int8_network_name(iteration: u64) -> String {
    format!("nets/{iteration:05}.int8.onnx")
}

fn checkpoint_name(iteration: u64) -> String {
    format!("learner/{iteration:05}.ckpt")
}

fn progress_bar(length: u64, iteration: u64, unit: &'static str) -> ProgressBar {
    let template = "iteration {prefix} {bar:30} {pos}/{len} {msg} {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(length).with_style(style);
    bar.with_prefix(iteration.to_string()).with_message(unit)
}
