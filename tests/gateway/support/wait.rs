//! Waiting for a condition, never for a length of time.

use std::time::{Duration, Instant};

/// How long a condition may take before the test fails. Generous: the machine may be busy, and its disk
/// has made a start wait for more than ten seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(4);

/// Asks `condition` until it answers; fails the test, naming `what`, when it has not after [`PATIENCE`].
#[track_caller]
pub(crate) fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    match within(PATIENCE, condition) {
        Some(value) => value,
        None => panic!("waited {PATIENCE:?} in vain: {what}"),
    }
}

/// Asks `condition` until it answers or `patience` is over.
pub(crate) fn within<T>(patience: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(value) = condition() {
            return Some(value);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(STEP);
    }
}
