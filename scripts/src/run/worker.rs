//! Crash-safe self-play into a store.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use menagerie::nn::network::Backend;
use menagerie::nn::{Cache, Evaluator, Weights};
use menagerie::variant::Variant;

use super::journal::Journal;
use crate::playing_network::open_to_play;
use crate::record::{self, GameRecord};
use crate::selfplay::{self, SelfPlayConfig, SelfPlayStats};
use crate::store::Store;

/// Size of the evaluation cache of a thread; it is used for one shard, as each has another network.
const CACHE_BYTES: usize = 32 << 20;

/// A network with its own cache.
pub(super) type CachedNetwork = Box<dyn Evaluator>;

/// Opens a network for one thread of self-play.
pub(super) fn open_evaluator(
    weights: &Weights,
    variant: &Variant,
) -> anyhow::Result<CachedNetwork> {
    let opened = open_to_play(weights, variant, Backend::Auto)?;
    let gpu = opened.network.backend() == Backend::Cuda;
    anyhow::ensure!(gpu || opened.notes.is_empty(), opened.notes.join("; "));
    Ok(opened.network.with_cache(Cache::shared(CACHE_BYTES)))
}

/// Plays games of a variant and stores them.
#[derive(Clone, Copy, Debug)]
pub struct SelfPlayWorker<'a> {
    /// Where the games are stored.
    pub store: &'a Store,
    /// The variant.
    pub variant: &'a Variant,
    /// How the games are played.
    pub settings: &'a SelfPlayConfig,
    /// The number of threads, each with its own network. On a GPU one thread searches while the batch of
    /// another is evaluated.
    pub threads: usize,
    /// The random seed.
    pub seed: u64,
}

impl SelfPlayWorker<'_> {
    /// Plays the games of these numbers and writes them to the shard `name`. Until all are finished, the
    /// folder `parts` holds the finished ones; those that a killed process left there are not played
    /// again. A GPU uses the float network, a CPU the int8 network, if there is one. Returns `None` if `stop` was
    /// set before the end; the finished games are in the folder `parts` then. `progress` is called with the number of
    /// games that have been finished since it was called before.
    ///
    /// # Errors
    /// If the network does not fit, the settings are invalid, or the store cannot be written.
    pub fn play_shard(
        &self,
        weights: &Weights,
        name: &str,
        parts: &str,
        numbers: Range<u64>,
        stop: &AtomicBool,
        progress: &(dyn Fn(u64) + Sync),
    ) -> anyhow::Result<Option<(Vec<GameRecord>, SelfPlayStats)>> {
        let (journal, mut games) = Journal::open(self.store, parts.to_owned())?;
        let finished: BTreeSet<u64> = games.iter().map(|(number, _)| *number).collect();
        progress(finished.len() as u64);
        let mut evaluators = Vec::new();
        for _ in 0..self.threads.max(1) {
            evaluators.push(open_evaluator(weights, self.variant)?);
        }
        let missing: Vec<u64> = numbers.filter(|number| !finished.contains(number)).collect();
        let done = |number, game: &GameRecord| {
            journal.add(number, game);
            progress(1);
        };
        let (played, stats) = selfplay::play_games_until(
            self.variant,
            &mut evaluators,
            self.settings,
            &missing,
            self.seed,
            stop,
            &done,
        )?;
        if played.len() < missing.len() {
            journal.flush()?;
            return Ok(None);
        }
        journal.close()?;
        games.extend(played);
        games.sort_by_key(|(number, _)| *number);
        let games: Vec<GameRecord> = games.into_iter().map(|(_, game)| game).collect();
        self.store.write(name, record::encode(&games)?)?;
        Ok(Some((games, stats)))
    }

    /// Returns the number of finished games in the folder `parts`. Another process may write them meanwhile.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn finished_games(store: &Store, parts: &str) -> anyhow::Result<u64> {
        Ok(Journal::open(store, parts.to_owned())?.1.len() as u64)
    }

    /// Removes the parts of a shard that is complete.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn clear(&self, parts: &str) -> anyhow::Result<()> {
        Journal::clear(self.store, parts)
    }
}
