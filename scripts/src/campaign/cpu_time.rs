//! CPU time of this process and of the engines that it runs.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// CPU seconds of this process, of its children that have ended and, on Linux, of those that run.
pub fn total_cpu_seconds() -> f64 {
    // The ended ones first: a child that ends meanwhile is missed once, and not counted twice.
    own_and_ended() + running_children().unwrap_or(0.0)
}

#[cfg(unix)]
fn own_and_ended() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let of = |who| {
        let usage = getrusage(who).ok();
        usage.map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds())
    };
    (of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)) as f64 / 1e6
}

#[cfg(not(unix))]
fn own_and_ended() -> f64 {
    cpu_time::ProcessTime::now().as_duration().as_secs_f64()
}

/// CPU seconds of the children that run; `None` where the system does not list them.
fn running_children() -> Option<f64> {
    let mut ticks = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let children = std::fs::read_to_string(thread.ok()?.path().join("children"));
        // A thread may have ended meanwhile, and so may a child.
        for child in children.unwrap_or_default().split_whitespace() {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            ticks += stat.ok().and_then(|stat| ticks_of_stat(&stat)).unwrap_or(0);
        }
    }
    Some(ticks as f64 / TICKS_PER_SECOND)
}

/// The unit of `/proc/PID/stat`: `USER_HZ` is 100 on all architectures of Linux that matter here.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads user and system time of a process and of its ended children: fields 14 to 17 of `stat`.
fn ticks_of_stat(stat: &str) -> Option<u64> {
    // The second field is the name in parentheses, which may hold anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields = after_name.split_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

/// Time between two reports of a [`CpuMeter`].
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// CPU time of a stage, on top of what it took before it was interrupted.
#[derive(Debug)]
pub struct CpuMeter {
    before: f64,
    at_start: f64,
    reported: Mutex<Instant>,
}

impl CpuMeter {
    /// Starts to measure; `before` are the CPU seconds so far.
    pub fn start(before: f64) -> CpuMeter {
        CpuMeter { before, at_start: total_cpu_seconds(), reported: Mutex::new(Instant::now()) }
    }

    /// Returns the CPU seconds of the stage so far.
    pub fn cpu_seconds(&self) -> f64 {
        self.before + (total_cpu_seconds() - self.at_start).max(0.0)
    }

    /// Returns the CPU seconds if they have not been asked for lately.
    pub fn due(&self) -> Option<f64> {
        let mut reported = self.reported.try_lock().ok()?;
        if reported.elapsed() < REPORT_EVERY {
            return None;
        }
        *reported = Instant::now();
        Some(self.cpu_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_whatever_the_name() {
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194304 100 200 0 0 7 5 30 8 20 0 1 0 99";
        assert_eq!(ticks_of_stat(stat), Some(50));
        assert_eq!(ticks_of_stat("nonsense"), None);
    }

    #[test]
    fn time_is_added_to_that_before() {
        let meter = CpuMeter::start(5.0);
        let until = Instant::now() + Duration::from_millis(60);
        while Instant::now() < until {
            std::hint::black_box(0);
        }
        assert!(meter.cpu_seconds() > 5.0);
        assert_eq!(meter.due(), None);
    }
}
