//! The time of the same length before a report's window, to compare with.

use super::headline::grouped;
use super::question::ReportQuestion;
use super::time;
use crate::record::{CountedDecision, EventKind, StoreError, StoreReader, Window};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// What crawlers did in the time before, under their own names; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PeriodBefore {
    /// Its first moment. Where the store keeps hours or days only, it is moved back to where one begins.
    #[serde(serialize_with = "time")]
    pub from: SystemTime,
    /// The moment after its last: where the report begins.
    #[serde(serialize_with = "time")]
    pub to: SystemTime,
    /// What all of them come to.
    #[serde(flatten)]
    pub all: CountsBefore,
    /// The same by name, in lower case.
    pub crawlers: BTreeMap<String, CountsBefore>,
}

/// Counts of the time before; field names are public API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CountsBefore {
    /// Requests that were judged.
    pub requests: u64,
    /// Their violations.
    pub violations: u64,
    /// Those that were refused.
    pub refused: u64,
}

/// `None` where a store does not reach back so far, or what it knows is too coarse to be compared.
pub(super) fn of(
    stores: &[StoreReader],
    question: &ReportQuestion,
    window: &Window,
) -> Result<Option<PeriodBefore>, StoreError> {
    let length = window.to.duration_since(window.from).unwrap_or_default();
    let Some(wanted) = window.from.checked_sub(length) else { return Ok(None) };
    let mut before = Window { from: wanted, to: window.from };
    for store in stores {
        before.from = before.from.min(store.window(before.from, before.to)?.from);
        if store.span()?.is_none_or(|span| span.from > wanted) {
            return Ok(None);
        }
    }
    let widened = wanted.duration_since(before.from).unwrap_or_default();
    if length == Duration::ZERO || widened > length / 5 {
        return Ok(None);
    }
    let (mut all, mut crawlers) = (CountsBefore::default(), BTreeMap::new());
    for store in stores {
        for (subject, activity) in store.counts(&before, &question.filter())? {
            if !subject.is_crawler() || subject.is_borrowed() {
                continue;
            }
            let name = subject.crawler.as_deref().unwrap_or_default().to_ascii_lowercase();
            let own: &mut CountsBefore = crawlers.entry(name).or_default();
            let is_refused =
                |decision: &CountedDecision| decision.action.keeps_out() && decision.kind != EventKind::Pace;
            for counts in [own, &mut all] {
                counts.requests += activity.requests(|_| true);
                counts.violations += activity.requests(|decision| decision.kind == EventKind::Violation);
                counts.refused += activity.requests(is_refused);
            }
        }
    }
    Ok(Some(PeriodBefore { from: before.from, to: before.to, all, crawlers }))
}

impl PeriodBefore {
    /// How much `now`, of a time of this length, is beside what was `before`, in few words. Both are taken by the hour,
    /// since the time before may be a little longer.
    pub fn change(&self, now: u64, before: u64, window: &Window) -> String {
        if before == 0 {
            return if now == 0 { "as before" } else { "none before" }.to_owned();
        }
        let length =
            |from, to: SystemTime| u128::from(to.duration_since(from).unwrap_or_default().as_secs().max(1));
        let before = u128::from(before) * length(window.from, window.to);
        let percent = (u128::from(now) * length(self.from, self.to) * 100 + before / 2) / before;
        match u64::try_from(percent).unwrap_or(u64::MAX) {
            100 => "as before".to_owned(),
            percent @ 950.. => format!("{} times", grouped(percent / 100 + percent % 100 / 50)),
            percent @ 101.. => format!("+{}\u{a0}%", percent - 100),
            percent => format!("\u{2212}{}\u{a0}%", 100 - percent),
        }
    }
}
