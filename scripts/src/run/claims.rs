//! The games of workers: uploads, and the claims of iterations to them.
//!
//! ```text
//! incoming/00004-WORKER-000007-12.games   uploads that no iteration has claimed
//! claims/00005.toml                       the uploads of the games of iteration 5
//! rejected/                               damaged uploads
//! ```
//!
//! An iteration claims uploads by creating its claim, which names them. Then it writes its shard from exactly these
//! uploads, and removes them. A learner that is killed in between repeats this from the claim. A worker that got no
//! answer may repeat an upload after its removal: an upload that an earlier claim names is removed and not counted.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use super::upload::{INCOMING, REJECTED, Upload, UploadName};
use crate::record::GameRecord;
use crate::selfplay::SelfPlayStats;
use crate::store::{Store, StoreError};

const FOLDER: &str = "claims";

/// Names that are read from a listing at a time.
const LISTED_UPLOADS: usize = 10_000;

/// Uploads that are fetched at a time.
const FETCHED_UPLOADS: usize = 64;

/// The claim of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Claim {
    /// The uploads, in the order of their games in the shard.
    uploads: Vec<String>,
    /// The statistics of their games.
    stats: SelfPlayStats,
}

/// The games of an iteration, and the statistics of their searches with the CPU time of the workers.
#[derive(Debug)]
pub(super) struct ClaimedGames {
    pub(super) games: Vec<GameRecord>,
    pub(super) stats: SelfPlayStats,
    /// Where they come from, for the log.
    pub(super) summary: String,
}

/// The uploads of a run.
#[derive(Debug)]
pub(super) struct Claims {
    store: Store,
    variant: Arc<Variant>,
    /// The uploads that claims name.
    claimed: HashSet<String>,
    /// Uploads that have been fetched and checked, but not claimed.
    ready: BTreeMap<String, Upload>,
}

impl Claims {
    /// Reads the claims of the run in `store`.
    pub(super) fn read(store: &Store, variant: &Arc<Variant>) -> Result<Claims, StoreError> {
        let mut claimed = HashSet::new();
        for name in store.list(FOLDER)? {
            let claim: Option<Claim> = store.find_toml(&format!("{FOLDER}/{name}"))?;
            claimed.extend(claim.into_iter().flat_map(|claim| claim.uploads));
        }
        let (store, variant) = (store.clone(), Arc::clone(variant));
        Ok(Claims { store, variant, claimed, ready: BTreeMap::new() })
    }

    /// Replaces the store by one with another patience.
    pub(super) fn set_store(&mut self, store: &Store) {
        self.store = store.clone();
    }

    /// The number of games that have been fetched and not claimed.
    pub(super) fn ready_games(&self) -> u64 {
        self.ready.values().map(|upload| upload.games.len() as u64).sum()
    }

    /// Fetches and checks uploads until there are `games` games or no other uploads. Damaged ones are moved to
    /// `rejected/`, with a message.
    pub(super) fn fetch(&mut self, games: u64) -> Result<(), StoreError> {
        let names = self.store.list_after(INCOMING, "", LISTED_UPLOADS)?;
        let (repeated, new): (Vec<_>, Vec<_>) = names
            .into_iter()
            .filter(|name| !self.ready.contains_key(name))
            .partition(|name| self.claimed.contains(name));
        self.remove(&repeated)?;
        let mut new = &new[..];
        while self.ready_games() < games && !new.is_empty() {
            let count = uploads_with(games - self.ready_games(), new).min(FETCHED_UPLOADS);
            let (names, others) = new.split_at(count);
            self.fetch_uploads(names)?;
            new = others;
        }
        Ok(())
    }

    fn fetch_uploads(&mut self, names: &[String]) -> Result<(), StoreError> {
        let objects: Vec<String> = names.iter().map(|name| incoming(name)).collect();
        let contents = self.store.find_all(&objects)?;
        for (name, bytes) in names.iter().zip(contents) {
            let Some(bytes) = bytes else { continue };
            match Upload::decode(name, &bytes, &self.variant) {
                Ok(upload) => {
                    self.ready.insert(name.clone(), upload);
                }
                Err(error) => {
                    let place = self.store.place();
                    eprintln!("{place}/{}: {error}; moved to {REJECTED}/", incoming(name));
                    self.store.write(&format!("{REJECTED}/{name}"), bytes)?;
                    self.store.remove(&incoming(name))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the games of an iteration that has claimed uploads but not written its shard, because it was
    /// killed; `None` if it has no claim.
    pub(super) fn resume(&mut self, iteration: u64) -> Result<Option<ClaimedGames>, StoreError> {
        let claim: Option<Claim> = self.store.find_toml(&claim_name(iteration))?;
        let Some(claim) = claim else { return Ok(None) };
        self.claimed.extend(claim.uploads.iter().cloned());
        let missing: Vec<String> =
            claim.uploads.iter().filter(|name| !self.ready.contains_key(*name)).cloned().collect();
        for names in missing.chunks(FETCHED_UPLOADS) {
            self.fetch_uploads(names)?;
        }
        Ok(Some(self.take(claim)))
    }

    /// Claims the uploads that are ready for an iteration, and returns their games. If the iteration has a claim, it
    /// is that of another learner, which counts.
    pub(super) fn claim(&mut self, iteration: u64) -> Result<ClaimedGames, StoreError> {
        let mut stats = SelfPlayStats::default();
        for upload in self.ready.values() {
            stats += upload.stats;
        }
        let claim = Claim { uploads: self.ready.keys().cloned().collect(), stats };
        if !self.store.create_toml(&claim_name(iteration), &claim)?
            && let Some(games) = self.resume(iteration)?
        {
            return Ok(games);
        }
        self.claimed.extend(claim.uploads.iter().cloned());
        Ok(self.take(claim))
    }

    /// Returns the games of a claim whose uploads are ready.
    fn take(&mut self, claim: Claim) -> ClaimedGames {
        let mut games = Vec::new();
        let mut workers = BTreeSet::new();
        let mut iterations = BTreeSet::new();
        for name in &claim.uploads {
            let Some(upload) = self.ready.remove(name) else {
                let place = self.store.place();
                eprintln!("{place}/{} is claimed but cannot be read; left out", incoming(name));
                continue;
            };
            games.extend(upload.games);
            if let Ok(UploadName { iteration, worker, .. }) = name.parse() {
                iterations.insert(iteration);
                workers.insert(worker);
            }
        }
        let oldest = iterations.first().copied().unwrap_or_default();
        let newest = iterations.last().copied().unwrap_or_default();
        let summary = format!(
            "{} games in {} uploads of {} workers, by networks {oldest} to {newest}",
            games.len(),
            claim.uploads.len(),
            workers.len()
        );
        ClaimedGames { games, stats: claim.stats, summary }
    }

    /// Removes the uploads of an iteration whose shard is written.
    pub(super) fn clear(&self, iteration: u64) -> Result<(), StoreError> {
        let claim: Option<Claim> = self.store.find_toml(&claim_name(iteration))?;
        self.remove(&claim.map(|claim| claim.uploads).unwrap_or_default())
    }

    fn remove(&self, names: &[String]) -> Result<(), StoreError> {
        let names: Vec<String> = names.iter().map(|name| incoming(name)).collect();
        self.store.remove_all(&names)
    }
}

fn claim_name(iteration: u64) -> String {
    format!("{FOLDER}/{iteration:05}.toml")
}

fn incoming(name: &str) -> String {
    format!("{INCOMING}/{name}")
}
/// Returns the number of uploads that hold `games` games, by their names: at least 1, if there is one.
fn uploads_with(games: u64, names: &[String]) -> usize {
    let mut total = 0u64;
    let before_enough = names.iter().take_while(|name| {
        let more = total < games;
        // Names that are invalid are rejected when they are fetched.
        total = total.saturating_add(name.parse::<UploadName>().map_or(0, |name| name.games));
        more
    });
    before_enough.count()
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::super::upload::tests::upload;
    use super::*;

    #[test]
    fn uploads_on_which_the_learner_cannot_train_are_moved_and_not_claimed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("a text")).expect("a store");
        let variant = Catalogue::shipped().get("3x3").expect("it is shipped");
        let mut no_share = upload(&variant);
        no_share.games[0].plies[0].policy[0].1 = 0;
        let mut no_time = upload(&variant);
        no_time.stats.cpu = std::time::Duration::MAX;
        let names = ["0-a-1-1.games", "0-b-1-1.games", "0-c-1-1.games"];
        for (name, upload) in names.iter().zip([no_share, upload(&variant), no_time]) {
            let bytes = upload.encode().expect("bytes");
            store.write(&incoming(name), bytes).expect("written");
        }
        let mut claims = Claims::read(&store, &variant).expect("read");
        claims.fetch(3).expect("fetched");
        assert_eq!(claims.ready_games(), 1);
        assert_eq!(store.list(REJECTED).expect("listed"), [names[0], names[2]]);
        let claimed = claims.claim(0).expect("claimed");
        assert_eq!(
            (claimed.games, claimed.stats),
            (upload(&variant).games, SelfPlayStats::default())
        );
        assert_eq!(store.list(INCOMING).expect("listed"), [names[1]]);
    }

    #[test]
    fn uploads_are_fetched_until_their_names_hold_enough_games() {
        let names = ["0-a-1-5.games", "0-a-2-7.games", "no name", "0-b-1-9.games", "0-b-2-1.games"];
        let names = names.map(str::to_owned);
        for (games, count) in [(1, 1), (5, 1), (6, 2), (12, 2), (13, 4), (21, 4), (22, 5), (999, 5)]
        {
            assert_eq!(uploads_with(games, &names), count, "{games} games");
        }
        assert_eq!(uploads_with(3, &[]), 0);
    }
}
