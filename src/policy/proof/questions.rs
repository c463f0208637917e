//! What became of the questions to name servers, counted since the start.

use super::reverse::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of questions to name servers.
#[derive(Debug, Default)]
pub(super) struct Questions {
    answered: AtomicU64,
    failed: AtomicU64,
    left: AtomicU64,
}

/// How many questions there were, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    /// A name server answered, be it that there is no name.
    pub answered: u64,
    /// None answered in time, or the answer was no use.
    pub failed: u64,
    /// Not asked, because too many were waiting.
    pub left: u64,
}

impl Questions {
    pub(super) fn count_result(&self, reverse: &Reverse) {
        let counter = match reverse {
            Reverse::Names(_) => &self.answered,
            Reverse::Unknown => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_not_asked(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> QuestionCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        QuestionCounts { answered: read(&self.answered), failed: read(&self.failed), left: read(&self.left) }
    }
}
