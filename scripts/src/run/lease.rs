//! One learner at a time: a lease in a store that can only create and replace objects.
//!
//! ```text
//! lease/00000003.toml       a holder; the newest lease counts. It is created, never replaced
//! lease/00000003.heartbeat  replaced by the holder every few seconds
//! lease/00000003.released   the holder has ended in order
//! ```
//!
//! Another learner watches the heartbeat of the newest lease. If it changes, it gives up; if it stands still for
//! long enough, or the lease is released, it creates the next lease. Only one of several learners succeeds. No clock
//! of another machine is read. A holder that was suspended finds the newer lease before it writes the state of the
//! run, and ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::identity::{ProcessIdentity, host_name};
use crate::store::{Store, StoreError};

const FOLDER: &str = "lease";

/// How fast a lease passes from a killed learner to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTiming {
    /// Time between two heartbeats.
    pub heartbeat: Duration,
    /// Time for which a heartbeat must stand still before another learner takes over. It has to be several times
    /// the time between two heartbeats.
    pub observation: Duration,
}

impl LeaseTiming {
    /// Returns the timing with this time of observation, half a second at least, and three and a half heartbeats in
    /// it.
    pub fn with_observation(observation: Duration) -> LeaseTiming {
        let observation = observation.max(Duration::from_millis(500));
        LeaseTiming { heartbeat: observation.mul_f64(2.0 / 7.0), observation }
    }
}

impl Default for LeaseTiming {
    /// A heartbeat every 10 s, and an observation of 35 s.
    fn default() -> LeaseTiming {
        LeaseTiming::with_observation(Duration::from_secs(35))
    }
}

/// Why a lease cannot be acquired, or has been lost.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another learner is alive.
    #[error("{place} is in use by another learner ({holder})")]
    InUse {
        /// The store.
        place: String,
        /// Machine and identity of the holder.
        holder: String,
    },
    /// Another learner has taken over.
    #[error("another learner ({holder}) has taken over {place}")]
    Lost {
        /// The store.
        place: String,
        /// Machine and identity of the holder.
        holder: String,
    },
    /// The wait for another learner was interrupted by a signal.
    #[error("stopped while waiting for the lease of {place}")]
    Stopped {
        /// The store.
        place: String,
    },
    /// The locked file cannot be opened.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The system has no random numbers.
    #[error("no random identity: {0}")]
    Identity(String),
}

/// The content of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    learner: String,
    machine: String,
}

impl Holder {
    fn text(&self) -> String {
        format!("{} on \"{}\"", self.learner, self.machine)
    }
}

/// The lease of this process. It is released when it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    store: Store,
    number: u64,
    heartbeat: Option<JoinHandle<()>>,
    stop: Arc<(Mutex<bool>, Condvar)>,
}

impl Lease {
    /// Acquires the lease of a store. Waits while the heartbeat of another holder is observed.
    pub(super) fn acquire(
        store: &Store,
        timing: LeaseTiming,
        stop: &AtomicBool,
    ) -> Result<Lease, LeaseError> {
        let identity =
            ProcessIdentity::random().map_err(|error| LeaseError::Identity(error.to_string()))?;
        let own = Holder { learner: identity.to_string(), machine: host_name() };
        let newest = newest_lease(store)?;
        if let Some(number) = newest {
            observe(store, number, timing, stop)?;
        }
        let number = newest.map_or(1, |newest| newest + 1);
        if !store.create_toml(&lease_name(number), &own)? {
            let holder = find_holder(store, number)?;
            return Err(LeaseError::InUse { place: store.place().to_owned(), holder });
        }
        beat(store, number, 0)?;
        remove_older(store, number)?;
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let heartbeat = {
            let store = store.clone();
            let stop = Arc::clone(&stop);
            thread::spawn(move || run_heartbeat(&store, number, timing.heartbeat, &stop))
        };
        Ok(Lease { store: store.clone(), number, heartbeat: Some(heartbeat), stop })
    }

    /// Checks that no other learner has taken over.
    pub(super) fn check(&self, store: &Store) -> Result<(), LeaseError> {
        match newest_lease(store)? {
            Some(number) if number > self.number => {
                let holder = find_holder(store, number)?;
                Err(LeaseError::Lost { place: store.place().to_owned(), holder })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (stop, changed) = &*self.stop;
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        if let Some(heartbeat) = self.heartbeat.take() {
            // A panic of the thread has been reported.
            let _ = heartbeat.join();
        }
        // If it fails, the next learner observes the heartbeat.
        if let Err(error) = self.store.write(&released_name(self.number), Vec::new()) {
            eprintln!("the lease is not released: {error}");
        }
    }
}

/// Returns when the lease has been released or its heartbeat has stood still.
fn observe(
    store: &Store,
    number: u64,
    timing: LeaseTiming,
    stop: &AtomicBool,
) -> Result<(), LeaseError> {
    let start = Instant::now();
    let first = store.find(&heartbeat_name(number))?;
    let mut is_announced = false;
    loop {
        if store.find(&released_name(number))?.is_some() {
            return Ok(());
        }
        if store.find(&heartbeat_name(number))? != first {
            let holder = find_holder(store, number)?;
            return Err(LeaseError::InUse { place: store.place().to_owned(), holder });
        }
        if start.elapsed() >= timing.observation {
            return Ok(());
        }
        if !is_announced {
            is_announced = true;
            eprintln!(
                "{}: waiting {:.0} s for a heartbeat of the last learner ({})",
                store.place(),
                timing.observation.as_secs_f64(),
                find_holder(store, number)?
            );
        }
        let poll = Instant::now();
        while poll.elapsed() < timing.heartbeat / 4 {
            if stop.load(Ordering::Relaxed) {
                return Err(LeaseError::Stopped { place: store.place().to_owned() });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Replaces the heartbeat until the lease is released. Failures are reported and do not end it: another learner takes
/// over if they last.
fn run_heartbeat(store: &Store, number: u64, interval: Duration, stop: &(Mutex<bool>, Condvar)) {
    for count in 1.. {
        let stopped = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = stop.1.wait_timeout_while(stopped, interval, |stopped| !*stopped);
        if *wait.unwrap_or_else(PoisonError::into_inner).0 {
            return;
        }
        if let Err(error) = beat(store, number, count) {
            eprintln!("no heartbeat: {error}");
        }
    }
}

fn beat(store: &Store, number: u64, count: u64) -> Result<(), StoreError> {
    store.write(&heartbeat_name(number), count.to_string().into_bytes())
}

/// Removes the objects of older leases.
fn remove_older(store: &Store, number: u64) -> Result<(), StoreError> {
    let current = format!("{number:08}");
    let names = store.list(FOLDER)?.into_iter().filter(|name| *name < current);
    store.remove_all(&names.map(|name| format!("{FOLDER}/{name}")).collect::<Vec<_>>())
}

/// Returns the number of the newest lease.
fn newest_lease(store: &Store) -> Result<Option<u64>, StoreError> {
    let names = store.list(FOLDER)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".toml")?.parse().ok()).max())
}

/// Returns the holder of a lease, for messages.
fn find_holder(store: &Store, number: u64) -> Result<String, StoreError> {
    let holder: Option<Holder> = store.find_toml(&lease_name(number))?;
    Ok(holder.map_or_else(|| "unknown".to_owned(), |holder| holder.text()))
}

fn lease_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.toml")
}

fn heartbeat_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.heartbeat")
}

fn released_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.released")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_passes_on_when_released_or_silent_but_not_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("a text")).expect("a store");
        let timing = LeaseTiming::with_observation(Duration::from_millis(700));
        let acquire = || Lease::acquire(&store, timing, &AtomicBool::new(false));
        let first = acquire().expect("no other");
        let error = acquire().expect_err("in use");
        assert!(matches!(error, LeaseError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(store.place()), "{error}");
        drop(first);
        let start = Instant::now();
        let second = acquire().expect("released");
        assert!(start.elapsed() < timing.observation);
        // As after a kill: neither heartbeat nor release.
        *second.stop.0.lock().expect("no panic") = true;
        second.stop.1.notify_all();
        thread::sleep(Duration::from_millis(50));
        let third = acquire().expect("silent");
        third.check(&store).expect("held");
        let error = second.check(&store).expect_err("taken over");
        assert!(matches!(error, LeaseError::Lost { .. }), "{error}");
        // A late release of the second does not end the third.
        drop(second);
        third.check(&store).expect("held");
        assert!(acquire().is_err());
        let stopped = Lease::acquire(&store, timing, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(LeaseError::Stopped { .. })));
    }
}
