//! A training run of a sparse network in its folder, which can be killed at any moment and goes on.
//!
//! ```text
//! config.toml      settings
//! layout.txt       blocks of the network (SparseLayout)
//! positions/       encoded positions, made once (PositionCache)
//! state.toml       steps of the newest checkpoint, written last
//! checkpoints/     weights and optimizer after a number of steps; the newest only
//! weights.sparse   weights at the newest checkpoint (SparseWeights)
//! metrics.csv      a row per checkpoint
//! events.tfevents  the same for TensorBoard
//! learner.lock     locked by the process that trains
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::cache::{PositionCache, Stream};
use super::config::SparseConfig;
use super::import::read_weights;
use super::loss::{Measures, Sums};
use super::network::{SparseNetwork, Started, StepOptions};
use super::sources::Sources;
use super::weights::SparseWeights;
use crate::run::{LeaseTiming, RunLock};
use crate::store::Store;
use crate::tensorboard::{Scalar, events};
use crate::{cpu_seconds, csv_log};

const CONFIG: &str = "config.toml";
const LAYOUT: &str = "layout.txt";
const STATE: &str = "state.toml";
const METRICS: &str = "metrics.csv";
const EVENTS: &str = "events.tfevents";
const WEIGHTS: &str = "weights.sparse";
const POSITIONS: &str = "positions";

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    /// Steps taken.
    steps: u64,
    /// CPU seconds spent on training.
    #[serde(deserialize_with = "cpu_seconds::deserialize")]
    cpu_seconds: f64,
}

/// Measures of a checkpoint. `held_` are those of games held out; the others those of the positions learned
/// from since the checkpoint before, each before the step that learned from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SparseMetrics {
    /// Steps taken.
    pub steps: u64,
    /// Positions learned from, counted again in each epoch.
    pub positions: u64,
    /// The same in units of the positions that there are.
    pub epochs: f64,
    /// CPU minutes spent on training.
    pub cpu_minutes: f64,
    /// Positions learned from per CPU second since the checkpoint before, without measuring.
    pub positions_per_cpu_second: f64,
    /// Learning rate of the last step.
    pub learning_rate: f32,
    /// See [`Measures::top1`].
    pub top1: f64,
    /// See [`Measures::policy`].
    pub policy: f64,
    /// See [`Measures::value`].
    pub value: f64,
    /// See [`Measures::sign`].
    pub sign: f64,
    /// See [`Measures::top1`].
    pub held_top1: f64,
    /// See [`Measures::top3`].
    pub held_top3: f64,
    /// See [`Measures::policy`].
    pub held_policy: f64,
    /// See [`Measures::value`].
    pub held_value: f64,
    /// See [`Measures::sign`].
    pub held_sign: f64,
    /// See [`Measures::error`].
    pub held_error: f64,
    /// See [`Measures::moves_left`].
    pub held_moves_left: f64,
}

/// A training run.
#[derive(Debug)]
pub struct SparseRun {
    store: Store,
    config: SparseConfig,
    cache: PositionCache,
    held_out: Vec<Batch>,
    network: SparseNetwork,
    started: Option<Started>,
    progress: Progress,
    log: Vec<SparseMetrics>,
    rows_per_move: usize,
    _lock: RunLock,
}

impl SparseRun {
    /// Opens the run in `folder`, which goes on where it stopped, or begins one there with `config`. The
    /// settings of a run that exists stay, but for the number of positions and epochs.
    ///
    /// # Errors
    /// What is wrong, with the file; or that another process trains the run.
    pub fn open(
        folder: &Path,
        config: SparseConfig,
        sources: &Sources,
    ) -> anyhow::Result<SparseRun> {
        let store = Store::open(&folder.display().to_string())?;
        let lock = RunLock::acquire(&store, LeaseTiming::default(), &AtomicBool::new(false))?;
        let config = match store.find_toml::<SparseConfig>(CONFIG)? {
            Some(own) => SparseConfig { positions: config.positions, epochs: config.epochs, ..own },
            None => config,
        };
        config.check()?;
        let own = &config.variant;
        let wanted = sources.name();
        anyhow::ensure!(own == wanted, "{}: a run of {own}, not of {wanted}", folder.display());
        let layout = sources.layout();
        check_layout(&store, &layout.to_string())
            .map_err(|error| anyhow::anyhow!("{}: {error}", folder.display()))?;
        let progress: Progress = store.find_toml(STATE)?.unwrap_or_default();
        let (network, started) = if progress.steps == 0 {
            new_network(&config, sources)?
        } else {
            let name = checkpoint_name(progress.steps);
            let bytes = store.read(&name)?;
            let network = SparseNetwork::from_checkpoint(layout, config.network, &bytes)
                .map_err(|error| anyhow::anyhow!("{}/{name}: {error}", folder.display()))?;
            (network, None)
        };
        let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template(
            "encoding positions: {human_pos} ({per_sec}, {elapsed})",
        )?);
        let positions = folder.join(POSITIONS);
        let show_count = |count| bar.set_position(count);
        let cache = PositionCache::open(&positions, sources, &config, &show_count)?;
        bar.finish_and_clear();
        let mut log: Vec<SparseMetrics> = csv_log::read_rows(&store, METRICS)?;
        log.retain(|row| row.steps <= progress.steps);
        let held_out = cache.held_out_batches(config.held_out_positions, config.batch)?;
        let rows_per_move = layout.shape().rows_per_move;
        // Written last: settings that were refused do not stay in the folder.
        store.write(LAYOUT, layout.to_string().into_bytes())?;
        store.write_toml(CONFIG, &config)?;
        Ok(SparseRun {
            store,
            config: config.with_positions(cache.positions()),
            cache,
            held_out,
            network,
            started,
            progress,
            log,
            rows_per_move,
            _lock: lock,
        })
    }

    /// Returns the settings.
    pub fn config(&self) -> &SparseConfig {
        &self.config
    }

    /// Returns the encoded positions.
    pub fn cache(&self) -> &PositionCache {
        &self.cache
    }

    /// Returns the network.
    pub fn network(&self) -> &SparseNetwork {
        &self.network
    }

    /// Returns what the run took from another network, if it begins now and starts from one.
    pub fn started(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// Measures the network on the positions held out of each variant.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn measure_variants(&mut self) -> anyhow::Result<Vec<(String, Measures)>> {
        let SparseConfig { held_out_positions, batch, training, .. } = &self.config;
        let mut measured = Vec::new();
        for (counts, batches) in self.cache.held_out_by_variant(*held_out_positions, *batch)? {
            let mut sums = Sums::default();
            for batch in &batches {
                sums.add(&self.network.measure(batch, training));
            }
            measured.push((counts.variant.clone(), sums.measures()));
        }
        Ok(measured)
    }

    /// Trains until all positions asked for were learned from. `report` gets the row of each checkpoint.
    ///
    /// # Errors
    /// What went wrong; the run can be opened again.
    pub fn train(&mut self, report: &dyn Fn(&SparseMetrics)) -> anyhow::Result<()> {
        self.train_until(&AtomicBool::new(false), report)
    }

    /// Does what [`SparseRun::train`] does until `stop` is set: it then writes a checkpoint and returns.
    ///
    /// # Errors
    /// Those of [`SparseRun::train`].
    pub fn train_until(
        &mut self,
        stop: &AtomicBool,
        report: &dyn Fn(&SparseMetrics),
    ) -> anyhow::Result<()> {
        let steps = self.config.steps();
        let batch_size = self.config.batch;
        let bar = ProgressBar::new(steps).with_style(ProgressStyle::with_template(
            "{bar:40} {pos}/{len} steps, {elapsed} of {duration}, {msg}",
        )?);
        bar.set_position(self.network.steps());
        let mut stream =
            Stream::new(&self.cache, self.config.seed, self.network.steps() * batch_size as u64)?;
        let mut batch = Batch::new(self.rows_per_move);
        let every = Duration::from_secs_f64(self.config.checkpoint_seconds);
        let mut saved_at = Instant::now();
        let mut clock = ProcessTime::now();
        let mut sums = Sums::default();
        let mut stopped = false;
        while self.network.steps() < steps && !stopped {
            stream.fill(&mut batch, batch_size)?;
            let learning_rate = self.config.learning_rate(self.network.steps());
            let training = &self.config.training;
            let options = StepOptions { training, learning_rate, seed: self.config.seed };
            sums.add(&self.network.step(&batch, options));
            bar.inc(1);
            stopped = stop.load(Ordering::Relaxed);
            if saved_at.elapsed() < every && self.network.steps() < steps && !stopped {
                continue;
            }
            let spent = clock.elapsed().as_secs_f64();
            let row = checkpoint_row(
                &self.config,
                &self.cache,
                &self.progress,
                &mut self.network,
                &self.held_out,
                &sums.measures(),
                spent,
            );
            self.log.push(row);
            let done = Progress {
                steps: self.network.steps(),
                cpu_seconds: self.progress.cpu_seconds + spent,
            };
            save(&self.store, &self.network, &self.log, &done)?;
            self.progress = done;
            if let Some(row) = self.log.last() {
                bar.set_message(format!("top-1 {:.1} %", 100.0 * row.held_top1));
                bar.suspend(|| report(row));
            }
            sums = Sums::default();
            (saved_at, clock) = (Instant::now(), ProcessTime::now());
        }
        bar.finish();
        Ok(())
    }
}

/// Checks that a run has the blocks that it began with.
fn check_layout(store: &Store, layout: &str) -> anyhow::Result<()> {
    let own = store.find(LAYOUT)?;
    let is_same = own.is_none_or(|own| own == layout.as_bytes());
    anyhow::ensure!(is_same, "a run of other blocks or variants, see {LAYOUT}");
    Ok(())
}

/// Returns the network that a run begins with.
fn new_network(
    config: &SparseConfig,
    sources: &Sources,
) -> anyhow::Result<(SparseNetwork, Option<Started>)> {
    let mut network = SparseNetwork::new(sources.layout(), config.network, config.seed);
    let Some(path) = &config.start else { return Ok((network, None)) };
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let weights = if path.extension().is_some_and(|extension| extension == "onnx") {
        read_weights(&bytes).map_err(|error| anyhow::anyhow!("{name}: {error}"))?
    } else {
        SparseWeights::from_bytes(&bytes).map_err(|error| anyhow::anyhow!("{name}: {error}"))?
    };
    let started = network
        .start_from(&weights, sources.name())
        .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    Ok((network, Some(started)))
}

/// Measures the network on the positions held out.
fn checkpoint_row(
    config: &SparseConfig,
    cache: &PositionCache,
    before: &Progress,
    network: &mut SparseNetwork,
    held_out: &[Batch],
    learned: &Measures,
    spent: f64,
) -> SparseMetrics {
    let mut sums = Sums::default();
    for batch in held_out {
        sums.add(&network.measure(batch, &config.training));
    }
    let held = sums.measures();
    let steps = network.steps();
    let batch = config.batch as u64;
    let positions = steps * batch;
    SparseMetrics {
        steps,
        positions,
        epochs: positions as f64 / cache.positions() as f64,
        cpu_minutes: (before.cpu_seconds + spent) / 60.0,
        positions_per_cpu_second: ((steps - before.steps) * batch) as f64 / spent,
        learning_rate: config.learning_rate(steps.saturating_sub(1)),
        top1: learned.top1,
        policy: learned.policy,
        value: learned.value,
        sign: learned.sign,
        held_top1: held.top1,
        held_top3: held.top3,
        held_policy: held.policy,
        held_value: held.value,
        held_sign: held.sign,
        held_error: held.error,
        held_moves_left: held.moves_left,
    }
}

/// Writes a checkpoint: network, weights, log, and at last the state that counts them.
fn save(
    store: &Store,
    network: &SparseNetwork,
    log: &[SparseMetrics],
    progress: &Progress,
) -> anyhow::Result<()> {
    let name = checkpoint_name(progress.steps);
    store.write(&name, network.checkpoint()?)?;
    store.write(WEIGHTS, network.weights().to_bytes())?;
    csv_log::write_rows(store, METRICS, log)?;
    store.write(EVENTS, events(&log.iter().flat_map(scalars).collect::<Vec<_>>()))?;
    store.write_toml(STATE, progress)?;
    Ok(store.remove_others(&name)?)
}

fn checkpoint_name(steps: u64) -> String {
    format!("checkpoints/{steps:010}.ckpt")
}

fn scalars(row: &SparseMetrics) -> Vec<Scalar> {
    let values = [
        ("learning_rate", f64::from(row.learning_rate)),
        ("training/top1", row.top1),
        ("training/policy", row.policy),
        ("training/value", row.value),
        ("training/sign", row.sign),
        ("held_out/top1", row.held_top1),
        ("held_out/top3", row.held_top3),
        ("held_out/policy", row.held_policy),
        ("held_out/value", row.held_value),
        ("held_out/sign", row.held_sign),
        ("held_out/error", row.held_error),
        ("held_out/moves_left", row.held_moves_left),
    ];
    let scalar = |(tag, value): (&str, f64)| Scalar {
        tag: tag.to_owned(),
        step: row.steps as i64,
        seconds: row.cpu_minutes * 60.0,
        value: value as f32,
    };
    values.map(scalar).to_vec()
}
