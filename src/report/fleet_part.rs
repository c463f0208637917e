//! What of a fleet's counts has not come together yet: the exchange finds it, and the report tells it.

use super::time;
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
