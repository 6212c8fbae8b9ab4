//! Counts the requests to a store.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The requests to a store and their contents. Requests that were repeated by the store's client count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Objects read, also those that do not exist.
    pub reads: u64,
    /// Objects written.
    pub writes: u64,
    /// Requests that remove objects.
    pub removals: u64,
    /// Pages of listings.
    pub listings: u64,
    /// Bytes of the objects read.
    pub bytes_read: u64,
    /// Bytes of the objects written.
    pub bytes_written: u64,
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} reads ({} bytes), {} writes ({} bytes), {} removals, {} listings",
            self.reads,
            self.bytes_read,
            self.writes,
            self.bytes_written,
            self.removals,
            self.listings
        )
    }
}

/// The counters of [`Traffic`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) reads: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) removals: AtomicU64,
    pub(super) listings: AtomicU64,
    pub(super) bytes_read: AtomicU64,
    pub(super) bytes_written: AtomicU64,
}

impl Counters {
    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            removals: self.removals.load(Ordering::Relaxed),
            listings: self.listings.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
        }
    }
}
