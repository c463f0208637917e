//! Counts of alerts, since the start of the process.

use std::sync::atomic::AtomicU64;

/// What became of alerts.
#[derive(Debug, Default)]
pub struct AlertTotals {
    /// Those that the receiver has taken.
    pub sent: AtomicU64,
    /// Those that nobody will get.
    pub lost: AtomicU64,
    /// Those that wait now.
    pub waiting: AtomicU64,
}
