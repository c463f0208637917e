//! What a report is made of, counted elsewhere than in a store: in memory, from an access log.

use crate::record::{PathTotal, Presence, ReadTotal, Stretch, Total, VersionRecord};

/// Counts of one window.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// First and last seen.
    pub presence: Vec<Presence>,
    /// What was decided of whom, how often.
    pub totals: Vec<Total>,
    /// What was asked for.
    pub paths: Vec<PathTotal>,
    /// How many requests came when.
    pub stretches: Vec<Stretch>,
    /// Reads of robots.txt.
    pub reads: Vec<ReadTotal>,
    /// Versions of robots.txt.
    pub versions: Vec<VersionRecord>,
}
