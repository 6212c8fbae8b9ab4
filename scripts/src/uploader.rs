//! Uploads finished games: at once if the last upload began long enough ago, else together with those that finish
//! until then. Slow games are lost by a kill as rarely as fast ones, and fast ones need few requests.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Store;

/// Bytes of games that wait for their upload, from which on no other games should begin.
const MAX_PENDING_BYTES: usize = 256 << 20;

/// Bytes of the games of one upload; it may exceed them by one game.
const MAX_UPLOAD_BYTES: usize = 16 << 20;

/// Time for which failed uploads are repeated.
pub const MAX_OUTAGE: Duration = Duration::from_secs(12 * 3600);

/// The games of a process that have not been uploaded.
#[derive(Debug)]
pub struct Uploader<T> {
    interval: Duration,
    state: Mutex<Pending<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Pending<T> {
    /// The games with their approximate sizes in bytes.
    games: Vec<(T, usize)>,
    /// The sum of the sizes, with that of the upload in progress.
    bytes: usize,
    /// No other games will be added.
    is_closed: bool,
    /// An upload has failed for good.
    has_failed: bool,
}

/// An upload, encoded.
#[derive(Debug)]
pub struct EncodedUpload {
    /// The name of its object, different for all uploads of all processes.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl<T> Uploader<T> {
    /// Returns an uploader that begins an upload every `interval` at most.
    pub fn new(interval: Duration) -> Uploader<T> {
        let pending = Pending { games: Vec::new(), bytes: 0, is_closed: false, has_failed: false };
        Uploader { interval, state: Mutex::new(pending), changed: Condvar::new() }
    }

    /// Adds a finished game of about this size.
    pub fn add(&self, game: T, bytes: usize) {
        let mut pending = self.lock();
        pending.games.push((game, bytes));
        pending.bytes += bytes;
        self.changed.notify_all();
    }

    /// Returns `true` if no other game should begin before an upload.
    pub fn is_full(&self) -> bool {
        self.lock().bytes >= MAX_PENDING_BYTES
    }

    /// Returns `true` if an upload has failed for good.
    pub fn has_failed(&self) -> bool {
        self.lock().has_failed
    }

    /// Ends [`Uploader::run`] after the games that have been added.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Uploads games until the uploader is closed. `encode` gets the number of the upload and its games, and
    /// `report` the name of each finished upload. Returns the number of games.
    ///
    /// # Errors
    /// If an upload fails for as long as the store has patience, or cannot be encoded. The message has the number of
    /// games that are lost.
    pub fn run(
        &self,
        store: &Store,
        encode: &mut dyn FnMut(u64, Vec<T>) -> anyhow::Result<EncodedUpload>,
        report: &dyn Fn(&str),
    ) -> anyhow::Result<u64> {
        let mut uploaded = 0;
        let mut last_start = None;
        for number in 0.. {
            let Some((games, bytes)) = self.take(last_start) else { break };
            last_start = Some(Instant::now());
            let count = games.len() as u64;
            let stored = encode(number, games).and_then(|upload| {
                store.write(&upload.name, upload.bytes)?;
                Ok(upload.name)
            });
            match stored {
                Ok(name) => report(&name),
                Err(error) => {
                    let mut pending = self.lock();
                    pending.has_failed = true;
                    let lost = count + pending.games.len() as u64;
                    return Err(error.context(format!("{lost} finished games are lost")));
                }
            }
            uploaded += count;
            self.lock().bytes -= bytes;
        }
        Ok(uploaded)
    }

    /// Waits until the next upload is due. Returns its games and their size; `None` if the uploader is closed and
    /// has no games.
    fn take(&self, last_start: Option<Instant>) -> Option<(Vec<T>, usize)> {
        let mut pending = self.lock();
        loop {
            let elapsed = last_start.map_or(self.interval, |start| start.elapsed());
            let wait = self.interval.saturating_sub(elapsed);
            let is_due = pending.is_closed || wait.is_zero();
            if !pending.games.is_empty() && is_due {
                break;
            }
            if pending.is_closed {
                return None;
            }
            pending = if pending.games.is_empty() {
                self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner)
            } else {
                let waited = self.changed.wait_timeout(pending, wait);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
        let mut bytes = 0;
        let mut count = 0;
        while count < pending.games.len() && bytes < MAX_UPLOAD_BYTES {
            bytes += pending.games[count].1;
            count += 1;
        }
        Some((pending.games.drain(..count).map(|(game, _)| game).collect(), bytes))
    }

    fn lock(&self) -> MutexGuard<'_, Pending<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn uploader_groups_games_that_finish_within_the_interval() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("a text")).expect("a store");
        let uploader = Uploader::new(Duration::from_millis(300));
        let mut encode = |number: u64, games: Vec<u8>| {
            Ok(EncodedUpload { name: format!("games/{number}"), bytes: games })
        };
        let uploaded = thread::scope(|scope| {
            let run = scope.spawn(|| uploader.run(&store, &mut encode, &|_| ()));
            // The first one is uploaded at once.
            uploader.add(1, 1);
            while store.list("games").expect("listed").is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            for game in 2..5 {
                uploader.add(game, 1);
            }
            thread::sleep(Duration::from_millis(400));
            uploader.add(5, 1);
            uploader.add(6, MAX_UPLOAD_BYTES);
            uploader.add(7, MAX_PENDING_BYTES);
            assert!(uploader.is_full());
            uploader.close();
            run.join().expect("no panic").expect("uploaded")
        });
        assert_eq!(uploaded, 7);
        assert!(!uploader.is_full() && !uploader.has_failed());
        assert_eq!(store.read("games/1").expect("an upload"), [2, 3, 4]);
        let rest: Vec<u8> = store.list("games").expect("listed")[2..]
            .iter()
            .flat_map(|name| store.read(&format!("games/{name}")).expect("an upload"))
            .collect();
        assert_eq!(rest, [5, 6, 7]);
    }
}
