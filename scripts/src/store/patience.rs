//! Repeats requests while a store cannot be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::StoreError;

/// The first pause before a request is repeated; each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How long failed requests are repeated.
#[derive(Clone, Debug, Default)]
pub(super) struct Patience {
    limit: Duration,
    stop: Arc<AtomicBool>,
}

impl Patience {
    pub(super) fn new(limit: Duration, stop: &Arc<AtomicBool>) -> Patience {
        Patience { limit, stop: Arc::clone(stop) }
    }

    /// Makes a request until it succeeds, the limit is over, or `stop` is set.
    pub(super) fn repeat<T>(
        &self,
        mut request: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match request() {
                Err(error @ StoreError::Object { .. }) => error,
                result => return result,
            };
            if self.stop.load(Ordering::Relaxed) || start.elapsed() + pause > self.limit {
                return Err(error);
            }
            let advice = if error.is_refused() { " (renew the credentials)" } else { "" };
            eprintln!("{error}; trying again in {:.1} s{advice}", pause.as_secs_f64());
            crate::pause::pause(pause, || self.stop.load(Ordering::Relaxed));
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }
}
