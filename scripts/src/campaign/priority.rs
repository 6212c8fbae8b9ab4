//! Low priority: the campaign gives way to whatever else the machine does.

use std::path::Path;

/// Raises the nice value of this process to `nice` if it is below, for its threads to come and its children,
/// too. Returns what failed, a line each.
///
/// Where Linux groups processes by session, nice values count within a session only; the session then gets
/// the same value. It is to be called before any thread is started: Linux sets it for one thread.
pub fn lower_priority(nice: i32) -> Vec<String> {
    let mut failures = Vec::new();
    if let Err(error) = raise_nice(nice) {
        failures.push(format!("cannot set the nice value {nice}: {error}"));
    }
    let autogroup = Path::new("/proc/self/autogroup");
    if let Err(error) = raise_autogroup(autogroup, nice) {
        failures.push(format!("cannot set {} to {nice}: {error}", autogroup.display()));
    }
    failures
}

#[cfg(unix)]
fn raise_nice(nice: i32) -> std::io::Result<()> {
    use rustix::process::{getpriority_process, setpriority_process};

    if getpriority_process(None)? < nice {
        setpriority_process(None, nice)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn raise_nice(_nice: i32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The file holds `/autogroup-52 nice 0` and takes a number.
fn raise_autogroup(file: &Path, nice: i32) -> std::io::Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(file)?;
    let now: i32 = text.split_whitespace().next_back().and_then(|n| n.parse().ok()).unwrap_or(0);
    if now < nice { std::fs::write(file, nice.to_string()) } else { Ok(()) }
}
