//! What of a fleet's counts is not in its report.

use super::headline::amount;
use super::time;
use crate::record::timestamp;
use serde::Serialize;
use std::time::SystemTime;

/// What a report of a fleet lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FleetPart {
    /// Members whose counts are not all there yet.
    pub outboxes: Vec<PendingOutbox>,
    /// Members whose counts were lost in part before they could be sent.
    pub skipped: Vec<SkippedCounts>,
}

/// A member whose counts are not all there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingOutbox {
    /// Its name.
    pub name: String,
    /// How many batches wait, as far as it said.
    pub batches: i64,
    /// Since when counts of it may be missing.
    #[serde(serialize_with = "time")]
    pub since: SystemTime,
}

/// A member whose counts were lost in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedCounts {
    /// Its name.
    pub name: String,
    /// When that was found.
    #[serde(serialize_with = "time")]
    pub found: SystemTime,
}

impl FleetPart {
    pub(super) fn sentences(&self) -> Vec<String> {
        let pending = self.outboxes.iter().map(|PendingOutbox { name, batches, since }| match batches {
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
        let skipped = self.skipped.iter().map(|SkippedCounts { name, found }| {
            format!(
                "Counts of {name} before {} are missing: they waited for longer than its store had room.",
                timestamp(*found)
            )
        });
        pending.chain(skipped).collect()
    }
}
