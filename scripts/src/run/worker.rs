//! Self-play into a store: games that nobody loses.

use std::collections::BTreeSet;
use std::ops::Range;

use indicatif::ProgressBar;
use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cached, Weights};
use menagerie::variant::Variant;

use super::journal::Journal;
use crate::record::{self, GameRecord};
use crate::selfplay::{self, SelfPlayConfig, SelfPlayStats};
use crate::store::Store;

/// Bytes of a thread's cache of evaluations; a network's numbers hold for one shard only.
const CACHE: usize = 32 << 20;

/// Where games of a variant go, and how they are played.
#[derive(Clone, Copy, Debug)]
pub struct SelfPlayWorker<'a> {
    /// Where they go.
    pub store: &'a Store,
    /// The game.
    pub variant: &'a Variant,
    /// How they are played.
    pub settings: &'a SelfPlayConfig,
    /// Threads, each with a network of its own: on a CPU each keeps a core busy; on a GPU one
    /// searches while another's batch is evaluated.
    pub threads: usize,
    /// The seed of all that is random.
    pub seed: u64,
}

impl SelfPlayWorker<'_> {
    /// Plays the games of these numbers with a network and writes them to the shard `name`. The
    /// folder `parts` holds those that are over until then; what a process that was killed left
    /// there is not played again. A GPU runs the floats, a CPU the integers of eight bits, if there
    /// are any.
    ///
    /// # Errors
    /// If the network does not fit, the settings make no sense, or the store cannot be written.
    pub fn play(
        &self,
        weights: &Weights,
        name: &str,
        parts: &str,
        numbers: Range<u64>,
        bar: &ProgressBar,
    ) -> anyhow::Result<(Vec<GameRecord>, SelfPlayStats)> {
        let (journal, mut games) = Journal::open(self.store, parts.to_owned())?;
        let known: BTreeSet<u64> = games.iter().map(|(number, _)| *number).collect();
        bar.inc(known.len() as u64);
        let encoding = Encoding::of(&self.variant.start());
        let open = |_| -> anyhow::Result<_> {
            let opened = weights.open(&encoding, self.variant.name(), Backend::Auto)?;
            let gpu = opened.network.backend() == Backend::Cuda;
            anyhow::ensure!(gpu || opened.notes.is_empty(), opened.notes.join("; "));
            Ok(Cached::new(opened.network, CACHE))
        };
        let mut evaluators =
            (0..self.threads.max(1)).map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let missing: Vec<u64> = numbers.filter(|number| !known.contains(number)).collect();
        let done = |number, game: &GameRecord| {
            journal.add(number, game);
            bar.inc(1);
        };
        let (variant, settings) = (self.variant, self.settings);
        let (played, spent) =
            selfplay::play(variant, &mut evaluators, settings, &missing, self.seed, &done)?;
        bar.finish_and_clear();
        journal.end()?;
        games.extend(played);
        games.sort_by_key(|(number, _)| *number);
        let games: Vec<GameRecord> = games.into_iter().map(|(_, game)| game).collect();
        self.store.write(name, record::encode(&games)?)?;
        Ok((games, spent))
    }

    /// Removes the parts of games that a shard holds now and that will not be asked for again.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn clear(&self, parts: &str) -> anyhow::Result<()> {
        Journal::clear(self.store, parts)
    }
}
