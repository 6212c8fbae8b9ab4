//! A training run: a folder that holds all of it and goes on after a kill.
//!
//! ```text
//! config.toml          what was asked for
//! state.toml           iterations done, written last: what it does not count is done again
//! games/00000.games    self-play of each iteration
//! nets/00000.onnx      the network each iteration played with; 00000 is the fresh one
//! learner/00001/       weights and optimizer after an iteration; only the newest is kept
//! metrics.csv          a row an iteration
//! network.onnx         the newest network
//! ```

mod config;
mod metrics;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use indicatif::{ProgressBar, ProgressStyle};
use menagerie::encoding::Encoding;
use menagerie::evaluation::network::{Backend, seal};
use menagerie::evaluation::{Cached, Onnx, Passport};
use menagerie::variant::{Catalogue, Variant};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::learner::{Learner, Losses, Sample};
use crate::record::{self, GameRecord};
use crate::selfplay::{self, Spent};
use crate::window::{Window, window_size};
use crate::{onnx, record::replace};
pub use config::RunConfig;
pub use metrics::Metrics;

/// A run in its folder.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    config: RunConfig,
    variant: Arc<Variant>,
    encoding: Encoding,
    state: State,
    learner: Learner,
    window: Window,
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

/// Bytes of a thread's cache of evaluations in self-play; a network's numbers hold for one
/// iteration only.
const CACHE: usize = 32 << 20;

impl Run {
    /// Opens the run in `folder`, which goes on where it stopped, or begins one there with
    /// `config`. The configuration of a run that exists is its own, not `config`.
    ///
    /// # Errors
    /// What is wrong, with the file.
    pub fn open(folder: &Path, config: RunConfig) -> anyhow::Result<Run> {
        for part in ["games", "nets", "learner"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let config_path = folder.join("config.toml");
        let config = if config_path.exists() {
            RunConfig::read(&config_path)?
        } else {
            replace(&config_path, toml::to_string(&config)?.as_bytes())?;
            config
        };
        let variant = Catalogue::shipped().require(&config.variant)?;
        let encoding = Encoding::of(&variant.start());
        let shape = encoding.shape();
        let state_path = folder.join("state.toml");
        let state: State = match fs::read_to_string(&state_path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|error| anyhow::anyhow!("{}: {error}", state_path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::default(),
            Err(error) => anyhow::bail!("{}: {error}", state_path.display()),
        };
        let learner = match state.iterations {
            0 => Learner::new(shape, &config.network, config.learner.clone(), config.seed)?,
            done => {
                let saved = folder.join("learner").join(format!("{done:05}"));
                Learner::load(&saved, shape, &config.network, config.learner.clone())?
            }
        };
        let mut window = Window::default();
        let size = window_size(state.positions, config.window);
        let mut held = Vec::new();
        let mut positions = 0;
        for iteration in (0..state.iterations).rev() {
            let games = record::read(&shard(folder, iteration))?;
            positions += games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
            held.push(games);
            if positions >= size {
                break;
            }
        }
        window.extend(held.into_iter().rev().flatten());
        window.shrink(size);
        Metrics::cut(folder, state.iterations)?;
        let run =
            Run { folder: folder.to_owned(), config, variant, encoding, state, learner, window };
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

    /// The newest network.
    pub fn network(&self) -> PathBuf {
        self.folder.join("network.onnx")
    }

    /// Plays and learns until all iterations are done.
    ///
    /// # Errors
    /// What went wrong; the run can be opened again.
    pub fn learn(&mut self) -> anyhow::Result<()> {
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
            self.learner.save(&self.saved(next.iterations))?;
            self.write_network(next.iterations)?;
            next.cpu_seconds = before + clock.elapsed().as_secs_f64();
            metrics
                .finish(&next, &losses, played, self.learner.steps(), self.window.len())
                .append(&self.folder)?;
            replace(&self.folder.join("state.toml"), toml::to_string(&next)?.as_bytes())?;
            // The state counts the new one, so the old one has done its part.
            let _ = fs::remove_dir_all(self.saved(self.state.iterations));
            self.state = next;
        }
        Ok(())
    }

    /// The games of the present iteration: read, if an earlier process wrote them, else played.
    fn play(&self) -> anyhow::Result<(Vec<GameRecord>, Spent)> {
        let iteration = self.state.iterations;
        let path = shard(&self.folder, iteration);
        if path.exists() {
            return Ok((record::read(&path)?, Spent::default()));
        }
        let bytes = fs::read(self.net(iteration))?;
        let open = |_| -> anyhow::Result<_> {
            let name = self.variant.name();
            let network = Onnx::open(&bytes, &self.encoding, name, Backend::Cpu, 1)?;
            Ok(Cached::new(network, CACHE))
        };
        let mut evaluators =
            (0..self.config.threads).map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let bar = progress(self.config.games, iteration, "games");
        let range = iteration * self.config.games..(iteration + 1) * self.config.games;
        let settings = &self.config.selfplay;
        let done = |_: &GameRecord| bar.inc(1);
        let (games, spent) = selfplay::play(
            &self.variant,
            &mut evaluators,
            settings,
            range,
            self.config.seed,
            &done,
        )?;
        bar.finish_and_clear();
        record::write(&path, &games)?;
        Ok((games, spent))
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
        let passport = Passport::new(&self.encoding, name, &run);
        let tensors = self.learner.averaged_tensors();
        let shape = self.encoding.shape();
        let bytes = seal(onnx::export(shape, &self.config.network, &tensors, &passport.entries())?);
        replace(&self.net(iteration), &bytes)?;
        Ok(replace(&self.network(), &bytes)?)
    }

    fn net(&self, iteration: u64) -> PathBuf {
        self.folder.join("nets").join(format!("{iteration:05}.onnx"))
    }

    fn saved(&self, iteration: u64) -> PathBuf {
        self.folder.join("learner").join(format!("{iteration:05}"))
    }
}

fn shard(folder: &Path, iteration: u64) -> PathBuf {
    folder.join("games").join(format!("{iteration:05}.games"))
}

fn progress(length: u64, iteration: u64, unit: &'static str) -> ProgressBar {
    let template = "iteration {prefix} {bar:30} {pos}/{len} {msg} {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(length).with_style(style);
    bar.with_prefix(iteration.to_string()).with_message(unit)
}
