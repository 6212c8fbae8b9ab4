//! A training run: a folder, or a bucket, that holds all of it and goes on after a kill.
//!
//! ```text
//! config.toml          what was asked for
//! state.toml           iterations done, written last: what it does not count is done again
//! games/00000.games    self-play of each iteration
//! games/00001/         what there is of an iteration that is not done
//! nets/00000.onnx      the network each iteration played with; 00000 is the fresh one
//! nets/00000.int8.onnx the same in integers of eight bits, if the run is to use them
//! learner/00001.ckpt   weights and optimizer after an iteration; only the newest is kept
//! metrics.csv          a row an iteration
//! events.out.tfevents.0.menagerie   the same for TensorBoard
//! network.onnx         the newest network, and network.int8.onnx
//! ```

mod config;
mod journal;
mod metrics;
mod worker;

use std::sync::Arc;
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
use crate::learner::{Learner, LearnerError, Losses, Sample};
use crate::network::NamedTensor;
use crate::record::{self, GameRecord};
use crate::replay_buffer::{ReplayBuffer, window_size};
use crate::selfplay::SelfPlayStats;
use crate::store::Store;
use crate::{onnx, warm_start};
pub use config::RunConfig;
use journal::Journal;
pub use metrics::Metrics;
pub use worker::SelfPlayWorker;

/// A run in its folder.
#[derive(Debug)]
pub struct Run {
    store: Store,
    config: RunConfig,
    variant: Arc<Variant>,
    encoding: Encoding,
    state: State,
    learner: Learner,
    window: ReplayBuffer,
    log: Vec<Metrics>,
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Iterations done.
    iterations: u64,
    /// Games played.
    games: u64,
    /// Positions they gave.
    positions: u64,
    /// CPU time spent, in seconds.
    cpu_seconds: f64,
}

const CONFIG: &str = "config.toml";
const STATE: &str = "state.toml";
const NETWORK: &str = "network.onnx";
const QUANTISED: &str = "network.int8.onnx";

/// Positions by which a network is quantised.
const CALIBRATION: usize = 1000;

impl Run {
    /// Opens the run in `store`, which goes on where it stopped, or begins one there with `config`,
    /// from the weights of `from`, an ONNX file, if given. The configuration of a run that exists is
    /// its own, not `config`.
    ///
    /// # Errors
    /// What is wrong, with the file.
    pub fn open(store: Store, config: RunConfig, from: Option<&[u8]>) -> anyhow::Result<Run> {
        let own = RunConfig::of_run(&store)?;
        let begins = own.is_none();
        let config = own.unwrap_or(config);
        config.check()?;
        if begins {
            store.write_toml(CONFIG, &config)?;
        }
        let variant = config.find_variant()?;
        let encoding = Encoding::of(&variant.start());
        let state: State = store.find_toml(STATE)?.unwrap_or_default();
        let learner = match (state.iterations, from) {
            (0, Some(bytes)) => {
                let known = warm_start::network("--from", bytes, &encoding)?;
                let tensors = known.grown(&config.network, config.seed)?.tensors();
                begin(&config, &encoding, &tensors)?
            }
            // A run that was killed before its first iteration was done may have had a `from`.
            (0, None) => match store.find(&net(0))? {
                Some(bytes) => {
                    let tensors = warm_start::network(&net(0), &bytes, &encoding)?.tensors();
                    begin(&config, &encoding, &tensors)?
                }
                None => {
                    let (shape, learner) = (encoding.shape(), config.learner.clone());
                    Learner::new(shape, &config.network, learner, config.seed)?
                }
            },
            (done, _) => {
                let (shape, learner) = (encoding.shape(), config.learner.clone());
                Learner::load(&store, &saved(done), shape, &config.network, learner)?
            }
        };
        let mut window = ReplayBuffer::new(config.surprise);
        let size = window_size(state.positions, config.window);
        let mut held = Vec::new();
        let mut positions = 0;
        for iteration in (0..state.iterations).rev() {
            let name = shard(iteration);
            let games = record::decode(&name, &store.read(&name)?)?;
            positions += games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
            held.push(games);
            if positions >= size {
                break;
            }
        }
        window.extend(held.into_iter().rev().flatten());
        window.shrink(size);
        let mut log = Metrics::read(&store)?;
        log.retain(|row| row.iteration <= state.iterations);
        let run = Run { store, config, variant, encoding, state, learner, window, log };
        if run.state.iterations == 0 {
            run.write_network(0)?;
        }
        Ok(run)
    }

    /// What was asked for.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Iterations done.
    pub fn iterations(&self) -> u64 {
        self.state.iterations
    }

    /// CPU time spent in all, this process and those before it.
    pub fn cpu(&self) -> Duration {
        Duration::from_secs_f64(self.state.cpu_seconds)
    }

    /// Where the newest network is.
    pub fn network(&self) -> String {
        format!("{}/{NETWORK}", self.store.place())
    }

    /// Plays and learns until all iterations are done.
    ///
    /// # Errors
    /// What went wrong; the run can be opened again.
    pub fn learn(&mut self) -> anyhow::Result<()> {
        self.sweep()?;
        while self.state.iterations < self.config.iterations {
            let clock = ProcessTime::now();
            let before = self.state.cpu_seconds;
            let (games, spent) = self.play()?;
            let played = clock.elapsed();
            let positions = games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
            let mut next = State {
                iterations: self.state.iterations + 1,
                games: self.state.games + games.len() as u64,
                positions: self.state.positions + positions,
                cpu_seconds: before,
            };
            let decided = games.iter().filter(|game| game.winner().is_some()).count();
            let metrics = Metrics::of_games(games.len(), positions, decided, spent);
            self.window.extend(games);
            self.window.shrink(window_size(next.positions, self.config.window));
            let losses = self.train(next.iterations, positions)?;
            self.learner.save(&self.store, &saved(next.iterations))?;
            self.write_network(next.iterations)?;
            next.cpu_seconds = before + clock.elapsed().as_secs_f64();
            let steps = self.learner.steps();
            self.log.push(metrics.finish(&next, &losses, played, steps, self.window.len()));
            Metrics::write(&self.store, &self.log)?;
            self.store.write_toml(STATE, &next)?;
            self.state = next;
            self.sweep()?;
        }
        Ok(())
    }

    /// Removes what has done its part: other checkpoints than the one that the state counts, and the parts
    /// of the last shard. A process that was killed in time may have left them.
    fn sweep(&self) -> anyhow::Result<()> {
        let done = self.state.iterations;
        self.store.remove_others(&saved(done))?;
        match done.checked_sub(1) {
            Some(last) => Journal::clear(&self.store, &parts(last)),
            None => Ok(()),
        }
    }

    /// The games of the present iteration: read, as far as an earlier process wrote them, else
    /// played.
    fn play(&self) -> anyhow::Result<(Vec<GameRecord>, SelfPlayStats)> {
        let iteration = self.state.iterations;
        let (name, count) = (shard(iteration), self.config.games);
        if let Some(bytes) = self.store.find(&name)? {
            return Ok((record::decode(&name, &bytes)?, SelfPlayStats::default()));
        }
        let worker = SelfPlayWorker {
            store: &self.store,
            variant: &self.variant,
            settings: &self.config.selfplay,
            threads: self.config.threads,
            seed: self.config.seed,
        };
        let bar = progress(count, iteration, "games");
        let range = iteration * count..(iteration + 1) * count;
        worker.play(&self.weights(iteration)?, &name, &parts(iteration), range, &bar)
    }

    /// Learns from as many samples as `positions` new ones call for.
    fn train(&mut self, iteration: u64, positions: u64) -> anyhow::Result<Losses> {
        let batch = self.config.batch.max(1);
        let steps = (positions as f64 * self.config.reuse / batch as f64).ceil().max(1.0) as u64;
        self.learner.set_learning_rate(self.config.learning_rate(iteration))?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.config.seed ^ iteration.rotate_left(32));
        let bar = progress(steps, iteration - 1, "steps");
        let mut losses = Vec::new();
        for _ in 0..steps {
            let samples = (0..batch).map(|_| {
                self.window
                    .draw(&self.variant, &self.encoding, &mut rng)
                    .ok_or_else(|| anyhow::anyhow!("a recorded game does not replay"))
            });
            let samples: Vec<Sample> = samples.collect::<anyhow::Result<_>>()?;
            losses.push(self.learner.step(&samples)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(Losses::mean(&losses))
    }

    /// Writes the averaged weights as the network of `iteration`, and as the newest.
    fn write_network(&self, iteration: u64) -> anyhow::Result<()> {
        let name = self.variant.name();
        let run = format!(
            "learn {name}, seed {}, iteration {iteration}, {} steps of {}",
            self.config.seed,
            self.learner.steps(),
            self.config.batch
        );
        let network_metadata = NetworkMetadata::new(&self.encoding, name, &run);
        let tensors = self.learner.averaged_tensors();
        let shape = self.encoding.shape();
        let bytes = append_checksum(onnx::export(
            shape,
            &self.config.network,
            &tensors,
            &network_metadata.entries(),
        )?);
        if self.config.quantised {
            let planes = self.calibration();
            let quantised = onnx::quantise(&bytes, &planes)?;
            self.store.write(&quantised_net(iteration), quantised.clone())?;
            self.store.write(QUANTISED, quantised)?;
        }
        self.store.write(&net(iteration), bytes.clone())?;
        Ok(self.store.write(NETWORK, bytes)?)
    }

    /// The network that an iteration plays with.
    fn weights(&self, iteration: u64) -> anyhow::Result<Weights> {
        let file = |name: String, bytes: Vec<u8>| NetworkFile { name, bytes: bytes.into() };
        let name = net(iteration);
        let floats = file(name.clone(), self.store.read(&name)?);
        let name = quantised_net(iteration);
        let quantised = match self.config.quantised {
            true => Some(file(name.clone(), self.store.read(&name)?)),
            false => None,
        };
        Ok(Weights::new(floats, quantised))
    }

    /// Positions by which a network is quantised.
    fn calibration(&self) -> Vec<f32> {
        let positions = match self.window.is_empty() {
            true => from_random_play(&self.variant, CALIBRATION, self.config.seed),
            false => from_games(&self.variant, self.window.games(), CALIBRATION),
        };
        planes(&self.encoding, &positions)
    }
}

/// A learner of given weights, with no steps taken.
fn begin(
    config: &RunConfig,
    encoding: &Encoding,
    tensors: &[NamedTensor],
) -> Result<Learner, LearnerError> {
    Learner::with_tensors(encoding.shape(), &config.network, config.learner.clone(), tensors)
}

fn shard(iteration: u64) -> String {
    format!("games/{iteration:05}.games")
}

fn parts(iteration: u64) -> String {
    format!("games/{iteration:05}")
}

/// The name of an iteration's network.
pub fn net(iteration: u64) -> String {
    format!("nets/{iteration:05}.onnx")
}

fn quantised_net(iteration: u64) -> String {
    format!("nets/{iteration:05}.int8.onnx")
}

fn saved(iteration: u64) -> String {
    format!("learner/{iteration:05}.ckpt")
}

fn progress(length: u64, iteration: u64, unit: &'static str) -> ProgressBar {
    let template = "iteration {prefix} {bar:30} {pos}/{len} {msg} {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(length).with_style(style);
    bar.with_prefix(iteration.to_string()).with_message(unit)
}
