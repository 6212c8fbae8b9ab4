//! Signals that end a command in order.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code of a process that a signal ended.
pub(crate) const STOPPED: u8 = 130;

/// Time limit of commands that share a store to stop after a signal. Kubernetes and Slurm kill after 30 s.
pub(crate) const STORE_GRACE: Duration = Duration::from_secs(20);

/// Returns a flag that SIGINT and SIGTERM set. A second signal ends the process at once, and so does the end
/// of `grace`; engines end when their input does.
pub(crate) fn stop_flag(grace: Duration) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    let watched = Arc::clone(&stop);
    thread::spawn(move || {
        while !watched.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(100));
        }
        thread::sleep(grace);
        exit(STOPPED.into());
    });
    Ok(stop)
}
