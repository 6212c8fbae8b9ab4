//! The games of an iteration: played by this process, or by workers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::claims::ClaimedGames;
use super::{Run, SelfPlayWorker, parts_folder, progress_bar, shard_name};
use crate::pause::pause;
use crate::print_line;
use crate::record::{self, GameRecord};
use crate::selfplay::SelfPlayStats;

/// Who plays the games of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameSource {
    /// This process.
    SelfPlay,
    /// Workers ([`RemoteWorker`](super::RemoteWorker)), whose uploads are looked for at this interval.
    Workers {
        /// The interval.
        poll: Duration,
    },
}

/// The games of an iteration and their statistics.
pub(super) struct IterationGames {
    pub(super) games: Vec<GameRecord>,
    pub(super) stats: SelfPlayStats,
    /// CPU time of other processes, which is not in the clock of this one.
    pub(super) remote_cpu: Duration,
}

/// An iteration claims uploads until it has at most this number of times the games of the configuration.
const MAX_EXCESS: u64 = 4;

impl Run {
    /// Returns the games of the current iteration; `None` if it was stopped.
    pub(super) fn play_iteration(
        &mut self,
        source: GameSource,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<IterationGames>> {
        let iteration = self.state.iterations;
        let name = shard_name(iteration);
        if let Some(bytes) = self.store.find(&name)? {
            self.claims.clear(iteration)?;
            let games = record::decode(&name, &bytes)?;
            let (stats, remote_cpu) = (SelfPlayStats::default(), Duration::ZERO);
            return Ok(Some(IterationGames { games, stats, remote_cpu }));
        }
        // A claim counts, even if the games are not to be those of workers now.
        if let Some(claimed) = self.claims.resume(iteration)? {
            return self.store_claimed(claimed).map(Some);
        }
        match source {
            GameSource::SelfPlay => self.play_games(stop),
            GameSource::Workers { poll } => self.collect_games(poll, stop),
        }
    }

    /// Plays the games of the current iteration that an earlier process has not finished.
    fn play_games(&self, stop: &AtomicBool) -> anyhow::Result<Option<IterationGames>> {
        let iteration = self.state.iterations;
        let count = self.config.games;
        let worker = SelfPlayWorker {
            store: &self.store,
            variant: &self.variant,
            settings: &self.config.selfplay,
            threads: self.config.threads,
            seed: self.config.seed,
        };
        let bar = progress_bar(count, iteration, "games");
        let numbers = iteration * count..(iteration + 1) * count;
        let weights = self.weights(iteration)?;
        let name = shard_name(iteration);
        let parts = parts_folder(iteration);
        let progress = |games| bar.inc(games);
        let played = worker.play_shard(&weights, &name, &parts, numbers, stop, &progress)?;
        bar.finish_and_clear();
        let remote_cpu = Duration::ZERO;
        Ok(played.map(|(games, stats)| IterationGames { games, stats, remote_cpu }))
    }

    /// Waits until workers have uploaded the games of an iteration, and claims them.
    fn collect_games(
        &mut self,
        poll: Duration,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<IterationGames>> {
        let iteration = self.state.iterations;
        let count = self.config.games;
        let bar = progress_bar(count, iteration, "games of workers");
        while self.claims.ready_games() < count {
            self.claims.fetch(count.saturating_mul(MAX_EXCESS))?;
            bar.set_position(self.claims.ready_games().min(count));
            if self.claims.ready_games() < count && !pause(poll, || stop.load(Ordering::Relaxed)) {
                return Ok(None);
            }
        }
        bar.finish_and_clear();
        // Another learner may have taken over while this one waited.
        self.lock.check(&self.store)?;
        let claimed = self.claims.claim(iteration)?;
        self.store_claimed(claimed).map(Some)
    }

    /// Writes the shard of the current iteration, and removes the uploads that are in it.
    fn store_claimed(&self, claimed: ClaimedGames) -> anyhow::Result<IterationGames> {
        let iteration = self.state.iterations;
        let ClaimedGames { games, stats, summary } = claimed;
        print_line!("iteration {iteration}: {summary}");
        self.store.write(&shard_name(iteration), record::encode(&games)?)?;
        self.claims.clear(iteration)?;
        Ok(IterationGames { games, stats, remote_cpu: stats.cpu })
    }
}
