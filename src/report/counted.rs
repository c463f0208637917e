//! What a report is made of, counted elsewhere than in a store: in memory, from an access log.

use crate::record::{
    CountSubject, DecisionCount, PathTotal, PeriodCount, ReadTotal, SeenSpan, VersionRecord,
};
use std::sync::Arc;
use std::time::SystemTime;

/// Counts of one window.
#[derive(Clone, Debug, Default)]
pub struct WindowCounts {
    /// First and last seen.
    pub presence: Vec<SeenSpan>,
    /// What was decided of whom, how often.
    pub totals: Vec<DecisionCount>,
    /// What was asked for.
    pub paths: Vec<PathTotal>,
    /// How many requests came when.
    pub stretches: Vec<PeriodCount>,
    /// Reads of robots.txt.
    pub reads: Vec<ReadTotal>,
    /// Of whom nothing can be said but what the rules would have meant: they were not published, as far as is known.
    pub hypothetical: Vec<Arc<CountSubject>>,
    /// Who fetched a robots.txt that is not known to be this one, and when last.
    pub other_fetches: Vec<(Arc<CountSubject>, SystemTime)>,
    /// Versions of robots.txt.
    pub versions: Vec<VersionRecord>,
}
