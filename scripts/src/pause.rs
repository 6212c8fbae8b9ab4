//! Pauses that end early, as when the process has to stop.

use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a pause checks whether it has to end.
const POLL: Duration = Duration::from_millis(50);

/// Waits for `length`. Returns `false`, within 50 ms, if `is_over` returns `true` before or at its end.
pub(crate) fn pause(length: Duration, is_over: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_over() {
            return false;
        }
        let left = length.saturating_sub(start.elapsed());
        if left.is_zero() {
            return true;
        }
        thread::sleep(POLL.min(left));
    }
}

/// Waits as long as `is_busy` returns `true`.
pub(crate) fn wait_while(is_busy: impl Fn() -> bool) {
    while is_busy() {
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn pauses_last_until_their_end_or_a_stop() {
        let start = Instant::now();
        assert!(pause(Duration::from_millis(60), || false));
        assert!(start.elapsed() >= Duration::from_millis(60));
        assert!(pause(Duration::ZERO, || false));
        assert!(!pause(Duration::ZERO, || true));
        let checks = Cell::new(0);
        let third = || {
            checks.set(checks.get() + 1);
            checks.get() == 3
        };
        assert!(!pause(Duration::MAX, third));
        checks.set(0);
        wait_while(|| !third());
        assert_eq!(checks.get(), 3);
    }
}
