//! The games of an iteration that is not done yet: written down as they end, so that a kill loses
//! little more than the games in flight.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::record::{self, GameRecord};
use crate::store::Store;

/// Games that end within this time are written together.
const PAUSE: Duration = Duration::from_millis(500);

/// A growing folder of parts, each with some games and their numbers.
pub(super) struct Journal<'a> {
    store: &'a Store,
    folder: String,
    pending: Mutex<Pending>,
}

struct Pending {
    games: Vec<(u64, GameRecord)>,
    parts: usize,
    written: Instant,
    failed: Option<anyhow::Error>,
}

impl<'a> Journal<'a> {
    /// Opens the journal in `folder`, and gives the games that an earlier process wrote there.
    pub(super) fn open(
        store: &'a Store,
        folder: String,
    ) -> anyhow::Result<(Journal<'a>, Vec<(u64, GameRecord)>)> {
        let mut games = Vec::new();
        let names = store.list(&folder)?;
        for name in &names {
            let name = format!("{folder}/{name}");
            games.extend(record::decode_part(&name, &store.read(&name)?)?);
        }
        let (parts, written) = (names.len(), Instant::now());
        let pending = Pending { games: Vec::new(), parts, written, failed: None };
        Ok((Journal { store, folder, pending: Mutex::new(pending) }, games))
    }

    /// Takes a game that has ended, and writes those that wait if it is time.
    pub(super) fn add(&self, number: u64, game: &GameRecord) {
        let mut pending = self.lock();
        pending.games.push((number, game.clone()));
        if pending.written.elapsed() >= PAUSE && pending.failed.is_none() {
            pending.failed = self.write(&mut pending).err();
        }
    }

    /// Says what went wrong, if anything did; what still waits is the caller's to keep.
    pub(super) fn end(self) -> anyhow::Result<()> {
        let failed = self.lock().failed.take();
        failed.map_or(Ok(()), Err)
    }

    /// Removes the parts of a journal whose games are kept elsewhere now.
    pub(super) fn clear(store: &Store, folder: &str) -> anyhow::Result<()> {
        for name in store.list(folder)? {
            store.remove(&format!("{folder}/{name}"))?;
        }
        Ok(())
    }

    fn write(&self, pending: &mut Pending) -> anyhow::Result<()> {
        let name = format!("{}/{:06}.part", self.folder, pending.parts);
        self.store.write(&name, record::encode_part(&pending.games)?)?;
        pending.parts += 1;
        pending.games.clear();
        pending.written = Instant::now();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
