//! Requests that are not in the counts, and how that is said.

use super::headline::amount;
use super::time;
use crate::record::{LossReason, MissingSpan, Window, timestamp};
use serde::Serialize;
use std::time::SystemTime;

/// Requests of the report's time that are not in its counts, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MissingCounts {
    /// Why.
    pub reason: LossReason,
    /// When the first of them may have come.
    #[serde(serialize_with = "time")]
    pub from: SystemTime,
    /// When the last of them had come.
    #[serde(serialize_with = "time")]
    pub to: SystemTime,
    /// How many, where that is known.
    pub requests: Option<u64>,
}

/// Adds what one store lacks to what others do, as far as it is of the time.
pub(super) fn add(all: &mut Vec<MissingCounts>, found: Vec<MissingSpan>, window: &Window) {
    for MissingSpan { reason, from, to, requests } in found {
        let (from, to) = (from.max(window.from), to.min(window.to));
        let same = all.iter_mut().find(|known| known.reason == reason);
        match same.and_then(|known| Some((known.requests.zip(requests)?, known))) {
            Some(((ours, theirs), known)) => {
                (known.from, known.to) = (known.from.min(from), known.to.max(to));
                known.requests = Some(ours.saturating_add(theirs));
            }
            None => all.push(MissingCounts { reason, from, to, requests }),
        }
    }
}

/// How many unclean ends are told one by one.
const NAMED: usize = 3;

/// What is missing, in whole sentences.
pub(super) fn sentences(all: &[MissingCounts]) -> Vec<String> {
    let mut found: Vec<String> = all.iter().filter_map(MissingCounts::sentence).collect();
    let ends: Vec<String> = all
        .iter()
        .filter(|missing| missing.reason == LossReason::UncleanEnd)
        .map(|end| format!("after {} and before {}", timestamp(end.from), timestamp(end.to)))
        .collect();
    if !ends.is_empty() {
        let more = ends.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} times more"));
        let times = ends.into_iter().take(NAMED).chain(more).collect::<Vec<_>>().join("; ");
        found.push(format!(
            "A gateway ended without writing what it had counted last (killed, or the machine stopped), so requests may \
             be missing that came {times}."
        ));
    }
    found
}

impl MissingCounts {
    /// `None` where it is not known how many.
    fn sentence(&self) -> Option<String> {
        let requests = amount(self.requests?, "request is", "requests are");
        let why = match self.reason {
            LossReason::NotWritten => "the store could not be written",
            LossReason::Waiting => {
                "the store could not be written, and they wait beside it for it or for the next start"
            }
            LossReason::SizeCap => "the store was at its size cap, which took the oldest",
            LossReason::Retention => "they were older than `retention`",
            LossReason::UncleanEnd => return None,
        };
        Some(format!("{requests} missing from the counts: {why}."))
    }
}
