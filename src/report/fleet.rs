//! What of a fleet's counts is not in its report, in words.

use super::headline::amount;
use crate::record::{FleetPart, PendingOutbox, SkippedCounts, timestamp};

pub(super) fn sentences(part: &FleetPart) -> Vec<String> {
    let pending = part.outboxes.iter().map(|PendingOutbox { name, batches, since }| match batches {
        0 => format!(
            "Nothing was heard of {name} since {}: what it counts since then is missing.",
            timestamp(*since)
        ),
        _ => format!(
            "{} of {name} on the way, the oldest since {}: what it counts since then is missing.",
            amount(u64::try_from(*batches).unwrap_or_default(), "batch is", "batches are"),
            timestamp(*since)
        ),
    });
    let skipped = part.skipped.iter().map(|SkippedCounts { name, found }| {
        format!(
            "Counts of {name} before {} are missing: they waited for longer than its store had room.",
            timestamp(*found)
        )
    });
    pending.chain(skipped).collect()
}
