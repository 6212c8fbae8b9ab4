//! Excludes a second learner of a run: a locked file in a folder, a lease in a bucket, both in a folder that workers
//! share.

use std::fs::{File, OpenOptions, TryLockError};
use std::sync::atomic::AtomicBool;

use super::lease::{Lease, LeaseError, LeaseTiming};
use crate::store::Store;

/// The locked file.
const LOCK_FILE: &str = "learner.lock";

/// The exclusive right to a run. It ends when it is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: Option<File>,
    lease: Option<Lease>,
}

impl RunLock {
    /// Locks a run without workers: by a file, which needs no waiting after a kill, or in a bucket by a lease.
    ///
    /// # Errors
    /// [`LeaseError::InUse`] if another process has it, or another [`LeaseError`].
    pub fn acquire(
        store: &Store,
        timing: LeaseTiming,
        stop: &AtomicBool,
    ) -> Result<RunLock, LeaseError> {
        match lock_file(store)? {
            Some(file) => Ok(RunLock { file: Some(file), lease: None }),
            None => RunLock::acquire_lease(store, timing, stop),
        }
    }

    /// Locks a run with workers: by a lease, as file locks need not work between machines.
    ///
    /// # Errors
    /// As for [`RunLock::acquire`].
    pub fn acquire_lease(
        store: &Store,
        timing: LeaseTiming,
        stop: &AtomicBool,
    ) -> Result<RunLock, LeaseError> {
        let file = lock_file(store)?;
        let lease = Lease::acquire(store, timing, stop)?;
        Ok(RunLock { file, lease: Some(lease) })
    }

    /// Checks that no other learner has taken over. `store` is that of the lock, and may have more patience.
    pub(super) fn check(&self, store: &Store) -> Result<(), LeaseError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.check(store))
    }
}

impl Drop for RunLock {
    /// Releases the lock at once: a process that another thread has just forked holds it, too.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // A lock that was not taken need not be released.
            let _ = file.unlock();
        }
    }
}

/// Locks the file of a folder; `None` for a bucket.
fn lock_file(store: &Store) -> Result<Option<File>, LeaseError> {
    let Some(folder) = store.folder() else { return Ok(None) };
    let path = folder.join(LOCK_FILE);
    let place = || path.display().to_string();
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|source| LeaseError::File { path: place(), source })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(LeaseError::InUse {
            place: store.place().to_owned(),
            holder: format!("{} is locked", place()),
        }),
        // File systems without locks are used without one.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}
