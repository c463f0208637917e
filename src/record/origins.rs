//! Counts of what is asked of origins, since the start of the process.

use super::latency::OriginLatency;
use super::sharded::Sharded;
use std::time::Duration;

/// Why a request failed at its origin, in words for a label.
pub const ORIGIN_FAULTS: [&str; 11] = [
    "no-address",
    "refused",
    "connect-timeout",
    "no-route",
    "tls",
    "certificate",
    "timeout",
    "closed",
    "malformed",
    "http2-only",
    "other",
];

/// Counters that any thread may raise.
#[derive(Debug, Default)]
pub struct OriginTotals {
    attempts: Sharded<1>,
    faults: Sharded<{ ORIGIN_FAULTS.len() }>,
    /// From the moment that a request was sent to the first byte of its answer.
    pub first_byte: OriginLatency,
}

impl OriginTotals {
    /// Counts an attempt to have a request answered by a server.
    pub fn attempt(&self) {
        self.attempts.add(0, 1);
    }

    /// Counts an answer that began so long after its request was sent.
    pub fn answered(&self, took: Duration) {
        self.first_byte.observe(took);
    }

    /// Counts a failure by its place in [`ORIGIN_FAULTS`].
    pub fn failed(&self, fault: usize) {
        self.faults.add(fault, 1);
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> u64 {
        self.attempts.get(0)
    }

    /// Failures by their words.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.faults.of(ORIGIN_FAULTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_counted_under_its_own_word() {
        let totals = OriginTotals::default();
        totals.attempt();
        totals.failed(1);
        totals.failed(ORIGIN_FAULTS.len() - 1);
        totals.answered(Duration::from_millis(2));
        let failed: Vec<_> = totals.faults().filter(|(_, count)| *count > 0).collect();
        assert_eq!((totals.attempts(), failed), (1, vec![("refused", 1), ("other", 1)]));
        assert_eq!(totals.first_byte.snapshot().count, 1);
    }
}
