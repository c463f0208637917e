//! Exact counts since the start of the process, by kind of event and action.

use super::event::EventKind;
use crate::enforce::Action;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that any thread may raise. None is ever lost: they depend on no queue.
#[derive(Debug, Default)]
pub struct Totals {
    requests: AtomicU64,
    judged: AtomicU64,
    violations: AtomicU64,
    stale: AtomicU64,
    variants: AtomicU64,
    spoofed: AtomicU64,
    refused: AtomicU64,
    robots_txt: AtomicU64,
    faults: AtomicU64,
    malformed: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TotalsSnapshot {
    /// Requests seen, judged or not.
    pub requests: u64,
    /// Requests of clients that robots.txt speaks to.
    pub judged: u64,
    /// Violations.
    pub violations: u64,
    /// Requests disallowed only by some version the client could hold.
    pub stale: u64,
    /// Variants of a disallowed path.
    pub variants: u64,
    /// Allowed requests under a borrowed name.
    pub spoofed: u64,
    /// Refusals.
    pub refused: u64,
    /// Answers to `/robots.txt`.
    pub robots_txt: u64,
    /// Faults of the gateway's own stages that were caught, the request being forwarded unjudged.
    pub faults: u64,
    /// Requests that broke the grammar of HTTP and were turned away.
    pub malformed: u64,
}

impl Totals {
    /// Counts one request that reached a site.
    pub fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one answer to `/robots.txt`.
    pub fn robots_txt(&self) {
        self.robots_txt.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one caught fault.
    pub fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one malformed request.
    pub fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one judged request.
    pub fn judged(&self, kind: EventKind, action: Action) {
        self.judged.fetch_add(1, Ordering::Relaxed);
        let counter = match kind {
            EventKind::Violation => Some(&self.violations),
            EventKind::Stale => Some(&self.stale),
            EventKind::Variant => Some(&self.variants),
            EventKind::Spoof => Some(&self.spoofed),
            EventKind::Allowed => None,
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        if action == Action::Refuse {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts now.
    #[must_use]
    pub fn snapshot(&self) -> TotalsSnapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TotalsSnapshot {
            requests: read(&self.requests),
            judged: read(&self.judged),
            violations: read(&self.violations),
            stale: read(&self.stale),
            variants: read(&self.variants),
            spoofed: read(&self.spoofed),
            refused: read(&self.refused),
            robots_txt: read(&self.robots_txt),
            faults: read(&self.faults),
            malformed: read(&self.malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_counter() {
        let totals = Totals::default();
        totals.judged(EventKind::Violation, Action::Refuse);
        totals.judged(EventKind::Violation, Action::Forward);
        totals.judged(EventKind::Stale, Action::Forward);
        totals.judged(EventKind::Variant, Action::Refuse);
        totals.judged(EventKind::Spoof, Action::Forward);
        totals.judged(EventKind::Allowed, Action::Forward);
        let counts = totals.snapshot();
        assert_eq!((counts.judged, counts.violations, counts.stale), (6, 2, 1));
        assert_eq!((counts.variants, counts.spoofed, counts.refused), (1, 1, 2));
    }
}
