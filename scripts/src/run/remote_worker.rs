//! A worker: plays games of a run with its newest network and uploads them, on any machine that reaches the store.
//!
//! When a newer network is published, the games in progress go on with it, as in KataGo. So no thread waits for long
//! games, and their last positions are searched with the newest network.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpu_time::ProcessTime;
use menagerie::nn::Weights;
use menagerie::variant::Variant;

use super::announcement::Announcement;
use super::config::RunConfig;
use super::upload::{INCOMING, Upload, UploadName};
use super::worker::{CachedNetwork, open_evaluator};
use crate::identity::ProcessIdentity;
use crate::pause::{pause, wait_while};
use crate::record::GameRecord;
use crate::selfplay::{self, SelfPlayHost, SelfPlayStats};
use crate::store::Store;
use crate::uploader::{EncodedUpload, MAX_OUTAGE, Uploader};

/// Time between two messages that the run does not exist.
const WAIT_MESSAGE_INTERVAL: Duration = Duration::from_secs(60);

/// A worker of a run.
#[derive(Debug)]
pub struct RemoteWorker {
    /// The store of the run.
    pub store: Store,
    /// The number of threads.
    pub threads: usize,
    /// Least time between the starts of two uploads.
    pub upload_interval: Duration,
    /// Interval at which newer networks are looked for.
    pub poll_interval: Duration,
    /// Ends the worker after the upload of the finished games.
    pub stop: Arc<AtomicBool>,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerEnd {
    /// The run is finished; otherwise the worker was stopped.
    pub is_finished: bool,
    /// The number of games that were uploaded.
    pub games: u64,
    /// The statistics of these games.
    pub stats: SelfPlayStats,
}

/// A network that has been fetched.
struct CurrentNetwork {
    iteration: u64,
    weights: Arc<Weights>,
}

/// A finished game.
struct FinishedGame {
    iteration: u64,
    game: GameRecord,
    stats: SelfPlayStats,
}

/// Encodes the uploads of a worker.
struct UploadEncoder<'a> {
    identity: ProcessIdentity,
    variant: &'a Variant,
    /// The CPU time since the last upload.
    clock: ProcessTime,
    /// The statistics of all uploads.
    total: SelfPlayStats,
}

impl UploadEncoder<'_> {
    fn encode(&mut self, sequence: u64, games: Vec<FinishedGame>) -> anyhow::Result<EncodedUpload> {
        let mut stats = SelfPlayStats::default();
        for game in &games {
            stats += game.stats;
        }
        stats.cpu = self.clock.elapsed();
        self.clock = ProcessTime::now();
        self.total += stats;
        let name = UploadName {
            iteration: games.last().map_or(0, |game| game.iteration),
            worker: self.identity.to_string(),
            sequence,
            games: games.len() as u64,
        };
        let games = games.into_iter().map(|game| game.game).collect();
        let upload = Upload { variant: self.variant.name().to_owned(), stats, games };
        Ok(EncodedUpload { name: format!("{INCOMING}/{name}"), bytes: upload.encode()? })
    }
}

/// What the threads of a worker share.
struct Shared<'a> {
    worker: &'a RemoteWorker,
    variant: &'a Variant,
    uploader: &'a Uploader<FinishedGame>,
    network: Mutex<CurrentNetwork>,
    /// The iteration of `network`.
    iteration: AtomicU64,
    /// The iteration of the network of each thread.
    opened: Vec<AtomicU64>,
    next_game: AtomicU64,
    /// The run is finished.
    is_finished: AtomicBool,
    failure: Mutex<Option<anyhow::Error>>,
}

impl RemoteWorker {
    /// Plays games until the run is finished, or the worker is stopped. Calls `report` with the name of each upload.
    ///
    /// # Errors
    /// If the run cannot be read, its configuration is invalid, a network cannot be opened, or uploads fail for
    /// hours. Finished games are uploaded before.
    pub fn run(&self, report: &(dyn Fn(&str) + Sync)) -> anyhow::Result<WorkerEnd> {
        let identity = ProcessIdentity::random()?;
        let Some(announcement) = self.wait_for_run()? else { return Ok(WorkerEnd::stopped()) };
        if announcement.finished {
            return Ok(WorkerEnd { is_finished: true, ..WorkerEnd::stopped() });
        }
        let config = RunConfig::of_run(&self.store)?
            .with_context(|| format!("{} has no config.toml", self.store.place()))?;
        config.check()?;
        let variant = config.find_variant()?;
        let Some(network) = self.fetch_first(announcement)? else {
            return Ok(WorkerEnd::stopped());
        };
        let iteration = network.iteration;
        let mut evaluators = Vec::new();
        for _ in 0..self.threads.max(1) {
            evaluators.push(open_evaluator(&network.weights, &variant)?);
        }
        let uploader = Uploader::new(self.upload_interval);
        let shared = Shared {
            worker: self,
            variant: &variant,
            uploader: &uploader,
            network: Mutex::new(network),
            iteration: AtomicU64::new(iteration),
            opened: evaluators.iter().map(|_| AtomicU64::new(iteration)).collect(),
            next_game: AtomicU64::new(identity.first_game()),
            is_finished: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let store = self.store.patient(MAX_OUTAGE, &self.stop);
        let mut encoder = UploadEncoder {
            identity,
            variant: &variant,
            clock: ProcessTime::now(),
            total: SelfPlayStats::default(),
        };
        let mut encode = |sequence, games| encoder.encode(sequence, games);
        let is_over = AtomicBool::new(false);
        let (played, games) = thread::scope(|scope| {
            let uploads = scope.spawn(|| uploader.run(&store, &mut encode, report));
            let polls = scope.spawn(|| shared.poll_networks(iteration, &is_over));
            let seed = identity.seed();
            let played = selfplay::play(&variant, &mut evaluators, &config.selfplay, seed, &shared);
            is_over.store(true, Ordering::Relaxed);
            uploader.close();
            let games = uploads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            polls.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (played, games)
        });
        let failure = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        let games = games?;
        played?;
        match failure {
            Some(error) => Err(error),
            None => Ok(WorkerEnd {
                is_finished: shared.is_finished.into_inner(),
                games,
                stats: encoder.total,
            }),
        }
    }

    /// Waits until the run is there; `None` if the worker was stopped.
    fn wait_for_run(&self) -> anyhow::Result<Option<Announcement>> {
        let mut last_message: Option<Instant> = None;
        loop {
            if let Some(announcement) = Announcement::read(&self.store)? {
                return Ok(Some(announcement));
            }
            if last_message.is_none_or(|last| last.elapsed() >= WAIT_MESSAGE_INTERVAL) {
                eprintln!("{}: waiting for a learner (train --workers)", self.store.place());
                last_message = Some(Instant::now());
            }
            if !self.wait(&self.stop) {
                return Ok(None);
            }
        }
    }

    /// Fetches the first network; `None` if the worker was stopped.
    fn fetch_first(
        &self,
        mut announcement: Announcement,
    ) -> anyhow::Result<Option<CurrentNetwork>> {
        loop {
            match announcement.fetch(&self.store) {
                Ok(weights) => {
                    let iteration = announcement.iteration;
                    let weights = Arc::new(weights);
                    return Ok(Some(CurrentNetwork { iteration, weights }));
                }
                Err(error) => eprintln!("{error}; trying again"),
            }
            if !self.wait(&self.stop) {
                return Ok(None);
            }
            announcement = Announcement::read(&self.store)?.unwrap_or(announcement);
        }
    }

    /// Waits for the interval of polls. Returns `false` if `stop` was set.
    fn wait(&self, stop: &AtomicBool) -> bool {
        pause(self.poll_interval, || stop.load(Ordering::Relaxed))
    }
}

impl WorkerEnd {
    fn stopped() -> WorkerEnd {
        WorkerEnd { is_finished: false, games: 0, stats: SelfPlayStats::default() }
    }
}

impl Shared<'_> {
    /// Fetches each newer network, until `is_over` is set or the run is finished. If the store cannot be reached,
    /// games go on with the network that there is.
    fn poll_networks(&self, mut current: u64, is_over: &AtomicBool) {
        while self.worker.wait(is_over) {
            let store = &self.worker.store;
            let announcement = match Announcement::read(store) {
                Ok(Some(announcement)) => announcement,
                Ok(None) => continue,
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            };
            if announcement.finished {
                self.is_finished.store(true, Ordering::Relaxed);
                return;
            }
            if announcement.iteration == current {
                continue;
            }
            match announcement.fetch(store) {
                Ok(weights) => {
                    let weights = Arc::new(weights);
                    current = announcement.iteration;
                    let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
                    *network = CurrentNetwork { iteration: current, weights };
                    self.iteration.store(current, Ordering::Relaxed);
                }
                Err(error) => eprintln!("{error}; trying again"),
            }
        }
    }

    fn must_stop(&self) -> bool {
        self.worker.stop.load(Ordering::Relaxed)
            || self.is_finished.load(Ordering::Relaxed)
            || self.uploader.has_failed()
            || self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Opens the newest network for a thread.
    fn open_newest(&self, thread: usize) -> anyhow::Result<CachedNetwork> {
        let (iteration, weights) = {
            let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
            (network.iteration, Arc::clone(&network.weights))
        };
        let opened = open_evaluator(&weights, self.variant)?;
        self.opened[thread].store(iteration, Ordering::Relaxed);
        Ok(opened)
    }
}

impl SelfPlayHost<CachedNetwork> for Shared<'_> {
    fn next_game(&self, _thread: usize) -> Option<u64> {
        Some(self.next_game.fetch_add(1, Ordering::Relaxed))
    }

    fn may_continue(&self, thread: usize, evaluator: &mut CachedNetwork) -> bool {
        wait_while(|| self.uploader.is_full() && !self.must_stop());
        if self.must_stop() {
            return false;
        }
        if self.opened[thread].load(Ordering::Relaxed) != self.iteration.load(Ordering::Relaxed) {
            match self.open_newest(thread) {
                Ok(opened) => *evaluator = opened,
                Err(error) => {
                    let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    *failure = Some(error);
                    return false;
                }
            }
        }
        true
    }

    fn receive_game(&self, _number: u64, game: GameRecord, stats: SelfPlayStats) {
        let bytes = record_bytes(&game);
        let iteration = self.iteration.load(Ordering::Relaxed);
        self.uploader.add(FinishedGame { iteration, game, stats }, bytes);
    }
}

/// Returns about the number of bytes of a game in memory.
fn record_bytes(game: &GameRecord) -> usize {
    let plies = game.plies.iter();
    let policies: usize = plies.map(|ply| ply.policy.len() * size_of::<(u16, u16)>()).sum();
    let side_positions = game.side_positions.iter().map(|side| size_of_val(&side.moves[..]));
    let side_positions = side_positions.sum::<usize>() + size_of_val(&game.side_positions[..]);
    policies
        + side_positions
        + game.plies.len() * size_of::<crate::record::PlyRecord>()
        + size_of::<GameRecord>()
}
