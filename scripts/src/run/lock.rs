//! Excludes a second learner of a run: a locked file in a folder, a lease in a bucket, both in a folder that workers
//! share.

use std::fs::OpenOptions;
use std::sync::atomic::AtomicBool;

use super::lease::{Lease, LeaseError, LeaseTiming};
use crate::file_lock::LockedFile;
use crate::store::Store;

/// The locked file.
const LOCK_FILE: &str = "learner.lock";

/// The exclusive right to a run. It ends when it is dropped.
#[derive(Debug)]
pub struct RunLock {
    _file: Option<LockedFile>,
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
            Some(file) => Ok(RunLock { _file: Some(file), lease: None }),
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
        Ok(RunLock { _file: file, lease: Some(lease) })
    }

    /// Checks that no other learner has taken over. `store` is that of the lock, and may have more patience.
    pub(crate) fn check(&self, store: &Store) -> Result<(), LeaseError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.check(store))
    }
}

/// Locks the file of a folder; `None` for a bucket.
fn lock_file(store: &Store) -> Result<Option<LockedFile>, LeaseError> {
    let Some(folder) = store.folder() else { return Ok(None) };
    let path = folder.join(LOCK_FILE);
    let place = || path.display().to_string();
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|source| LeaseError::File { path: place(), source })?;
    let locked = LockedFile::lock(file).ok_or_else(|| LeaseError::InUse {
        place: store.place().to_owned(),
        holder: format!("{} is locked", place()),
    })?;
    Ok(Some(locked))
}
