//! Counts of alerts, since the start of the process.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What became of alerts.
#[derive(Debug, Default)]
pub struct AlertTotals {
    sent: AtomicU64,
    lost: AtomicU64,
    waiting: AtomicUsize,
}

impl AlertTotals {
    /// Counts one that the receiver has taken.
    pub fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts those that nobody will get.
    pub fn lost(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes how many wait.
    pub fn waiting(&self, count: usize) {
        self.waiting.store(count, Ordering::Relaxed);
    }

    /// How many were sent, how many were lost, and how many wait.
    pub fn snapshot(&self) -> (u64, u64, usize) {
        (
            self.sent.load(Ordering::Relaxed),
            self.lost.load(Ordering::Relaxed),
            self.waiting.load(Ordering::Relaxed),
        )
    }
}
