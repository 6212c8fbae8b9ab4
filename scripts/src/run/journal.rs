//! Finished games of an iteration that is not finished: stored as they end, so that a kill loses little
//! more than the games in progress.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::record::{self, GameRecord};
use crate::store::Store;

/// Least time between two parts: games that end in between are written together.
const PART_INTERVAL: Duration = Duration::from_millis(500);

/// A folder of parts, each with some games and their numbers.
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
    /// Opens the journal in `folder`. Returns it and the games that an earlier process wrote there.
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
        let pending = Pending {
            games: Vec::new(),
            parts: names.len(),
            written: Instant::now(),
            failed: None,
        };
        Ok((Journal { store, folder, pending: Mutex::new(pending) }, games))
    }

    /// Adds a finished game, and writes the pending ones if it is time.
    pub(super) fn add(&self, number: u64, game: &GameRecord) {
        let mut pending = self.lock();
        pending.games.push((number, game.clone()));
        if pending.written.elapsed() >= PART_INTERVAL && pending.failed.is_none() {
            pending.failed = self.write(&mut pending).err();
        }
    }

    /// Closes the journal, and writes the pending games.
    ///
    /// # Errors
    /// The first error of [`Journal::add`], or if the games cannot be written.
    pub(super) fn flush(self) -> anyhow::Result<()> {
        let mut pending = self.lock();
        if let Some(error) = pending.failed.take() {
            return Err(error);
        }
        if pending.games.is_empty() { Ok(()) } else { self.write(&mut pending) }
    }

    /// Closes the journal. Pending games are not written: the caller stores all games elsewhere.
    ///
    /// # Errors
    /// The first error of [`Journal::add`].
    pub(super) fn close(self) -> anyhow::Result<()> {
        match self.lock().failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Removes the parts of a journal whose games are stored elsewhere now.
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
