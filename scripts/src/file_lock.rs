//! Locks of files, which exclude other processes.

use std::fs::{File, TryLockError};

/// A file that this process has locked. The lock ends when it is dropped.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    /// Locks a file; `None` if another process has locked it. File systems without locks are used without one.
    pub(crate) fn lock(file: File) -> Option<LockedFile> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Ok(()) | Err(TryLockError::Error(_)) => Some(LockedFile(file)),
        }
    }

    /// Returns the file.
    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    /// Releases the lock at once. Closing the file is not enough: a process that another thread has just forked
    /// holds the lock, too, until it executes its program.
    fn drop(&mut self) {
        // A lock that was not taken need not be released.
        let _ = self.0.unlock();
    }
}
