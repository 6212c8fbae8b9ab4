//! Labelled games of any number of processes on any machines, in a store.
//!
//! ```text
//! job.toml                          the settings, written by the first process; the others must have the same
//! games/WORKER-000012-34.tsv.gz     uploads: 34 games, a line each
//! ```
//!
//! The number of games is part of the name of an upload, so that a listing counts the games. Each process numbers its
//! games from a random number of 64 bits, so that no two games have the same opening and random turns. All processes
//! end when the store has enough games; those that finish until they notice are uploaded, too.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use super::{DatagenConfig, DatagenError, check, run_engines};
use crate::identity::ProcessIdentity;
use crate::pause::{pause, wait_while};
use crate::store::{Store, StoreError};
use crate::uploader::{EncodedUpload, MAX_OUTAGE, Uploader};

/// The folder of uploads.
pub(super) const GAMES: &str = "games";

/// The settings of the job.
pub(super) const SETTINGS: &str = "job.toml";

/// Shortest and longest time between two listings of the games.
const COUNT_INTERVALS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(300)];

/// A signal that ends this process may end its engines first: the time to wait for it after an engine has failed.
const SIGNAL_DELAY: Duration = Duration::from_millis(200);

/// The settings that all processes of a job share. Paths may differ by machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobSettings {
    variant: String,
    /// The file name of the engine.
    engine: String,
    options: Vec<(String, String)>,
    limits: String,
    multipv: usize,
    opening: usize,
    random: f64,
    random_turns: usize,
    max_turns: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_opening_score: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    win_score: Option<u32>,
    seed: u64,
}

impl JobSettings {
    fn new(variant: &Variant, config: &DatagenConfig) -> JobSettings {
        let engine = config.engine.file_name().unwrap_or(config.engine.as_os_str());
        JobSettings {
            variant: variant.name().to_owned(),
            engine: engine.to_string_lossy().into_owned(),
            options: config.options.clone(),
            limits: config.limits.clone(),
            multipv: config.multipv,
            opening: config.opening,
            random: config.random,
            random_turns: config.random_turns,
            max_turns: config.max_turns,
            max_opening_score: config.max_opening_score,
            win_score: config.win_score,
            seed: config.seed,
        }
    }

    /// Writes the settings if there are none, or checks that they are the same.
    fn store(&self, store: &Store) -> anyhow::Result<()> {
        if store.create_toml(SETTINGS, self)? {
            return Ok(());
        }
        let found: JobSettings = store.find_toml(SETTINGS)?.unwrap_or_else(|| self.clone());
        let old = toml::to_string(&found)?;
        let new = toml::to_string(self)?;
        match old.lines().zip(new.lines()).find(|(old, new)| old != new) {
            None => Ok(()),
            Some((old, new)) => anyhow::bail!(
                "{}/{SETTINGS} belongs to another job: it has \"{old}\", this job has \"{new}\"; \
                 choose another store",
                store.place()
            ),
        }
    }
}

/// The part of one process in a job.
#[derive(Debug)]
pub struct DatagenJob {
    /// Where the games are stored.
    pub store: Store,
    /// How they are played.
    pub config: DatagenConfig,
    /// The number of games of the job.
    pub games: u64,
    /// The number of engine processes of this process.
    pub engines: usize,
    /// Least time between the starts of two uploads.
    pub upload_interval: Duration,
    /// Ends the process after the upload of its finished games.
    pub stop: Arc<AtomicBool>,
}

/// How the part of a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// The store has enough games; otherwise the process was stopped.
    pub is_finished: bool,
    /// The number of games that this process has uploaded.
    pub uploaded: u64,
    /// The number of games in the store, as last counted by this process.
    pub total: u64,
}

impl DatagenJob {
    /// Plays games until the store has enough or the process is stopped. Calls `progress` with the number of games in
    /// the store whenever they have been counted.
    ///
    /// # Errors
    /// If the store belongs to another job, an engine fails, or uploads fail for hours. Finished games are uploaded
    /// before.
    pub fn run(
        &self,
        variant: &Variant,
        progress: &(dyn Fn(u64) + Sync),
    ) -> anyhow::Result<JobEnd> {
        check(variant, &self.config)?;
        JobSettings::new(variant, &self.config).store(&self.store)?;
        let identity = ProcessIdentity::random()?;
        let total = AtomicU64::new(count_games(&self.store)?);
        if total.load(Ordering::Relaxed) >= self.games {
            return Ok(JobEnd { is_finished: true, uploaded: 0, total: total.into_inner() });
        }
        let is_finished = AtomicBool::new(false);
        let must_stop = AtomicBool::new(false);
        let uploader = Uploader::new(self.upload_interval);
        let next = AtomicU64::new(identity.first_game());
        let next_game = || {
            wait_while(|| uploader.is_full() && !must_stop.load(Ordering::Relaxed));
            let is_over = must_stop.load(Ordering::Relaxed) || uploader.has_failed();
            if is_over { None } else { Some(next.fetch_add(1, Ordering::Relaxed)) }
        };
        let receive = |_, line: String| {
            let bytes = line.len();
            uploader.add(line, bytes);
            Ok(())
        };
        let mut encode = |sequence: u64, lines: Vec<String>| {
            let name = format!("{GAMES}/{identity}-{sequence:06}-{}.tsv.gz", lines.len());
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            for line in &lines {
                packed.write_all(line.as_bytes())?;
            }
            Ok(EncodedUpload { name, bytes: packed.finish()? })
        };
        let store = self.store.patient(MAX_OUTAGE, &self.stop);
        let is_over = AtomicBool::new(false);
        let (played, uploaded) = thread::scope(|scope| {
            let uploads = scope.spawn(|| uploader.run(&store, &mut encode, &|_| ()));
            let counts = scope.spawn(|| {
                let mut pause = COUNT_INTERVALS[0];
                while self.wait(pause, &is_over) {
                    pause = self.count(&total, pause);
                    let count = total.load(Ordering::Relaxed);
                    progress(count);
                    if count >= self.games {
                        is_finished.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                must_stop.store(true, Ordering::Relaxed);
            });
            let played =
                run_engines(variant, &self.config, self.engines, &must_stop, &next_game, &receive);
            is_over.store(true, Ordering::Relaxed);
            uploader.close();
            let uploaded = uploads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            counts.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (played, uploaded)
        });
        let uploaded = uploaded?;
        self.check_played(played)?;
        let is_finished = is_finished.into_inner();
        Ok(JobEnd { is_finished, uploaded, total: total.into_inner() })
    }

    /// Returns the error of the engines, unless a signal has ended them.
    fn check_played(&self, played: Result<(), DatagenError>) -> Result<(), DatagenError> {
        if played.is_err() {
            thread::sleep(SIGNAL_DELAY);
        }
        if self.stop.load(Ordering::Relaxed) { Ok(()) } else { played }
    }

    /// Returns `false` if the process has to stop before the end of the pause.
    fn wait(&self, length: Duration, is_over: &AtomicBool) -> bool {
        pause(length, || self.stop.load(Ordering::Relaxed) || is_over.load(Ordering::Relaxed))
    }

    /// Counts the games, and returns the pause before the next time: a quarter of the time that the rest of the
    /// games should take if they take as long as those since the last pause. So a job of any size has few listings.
    fn count(&self, total: &AtomicU64, pause: Duration) -> Duration {
        let before = total.load(Ordering::Relaxed);
        match count_games(&self.store) {
            Ok(count) => {
                total.store(count, Ordering::Relaxed);
                let remaining = self.games.saturating_sub(count) as f64;
                let new = count.saturating_sub(before).max(1) as f64;
                let [shortest, longest] = COUNT_INTERVALS;
                pause.mul_f64((remaining / new / 4.0).min(1e3)).clamp(shortest, longest)
            }
            Err(error) => {
                eprintln!("{error}");
                pause
            }
        }
    }
}

/// Returns the number of games in a store, by the names of the uploads.
fn count_games(store: &Store) -> Result<u64, StoreError> {
    Ok(store.list(GAMES)?.iter().filter_map(|name| upload_games(name)).sum())
}

/// Returns the number of games of an upload, by its name; `None` if it is no upload.
pub(super) fn upload_games(name: &str) -> Option<u64> {
    name.strip_suffix(".tsv.gz")?.rsplit('-').next()?.parse().ok()
}
