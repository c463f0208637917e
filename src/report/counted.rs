//! What a report is made of, wherever it was counted: in a store, or in memory from an access log.

use super::question::Question;
use crate::record::{
    Gaps, Losses, PathTotal, Presence, ReadTotal, Removed, StoreError, StoreReader, Subject, Total,
    VersionRecord, Window,
};
use std::sync::Arc;
use std::time::SystemTime;

/// Counts of one window from one place.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// First and last seen, over all that is kept.
    pub presence: Vec<Presence>,
    /// What was decided of whom, how often.
    pub totals: Vec<Total>,
    /// What was asked for.
    pub paths: Vec<PathTotal>,
    /// The times between requests.
    pub gaps: Vec<(Arc<Subject>, Gaps)>,
    /// Reads of robots.txt by anyone at the sites in question, over all that is kept.
    pub reads: Vec<ReadTotal>,
    /// Versions of robots.txt.
    pub versions: Vec<VersionRecord>,
    /// What is missing of the window.
    pub losses: Losses,
    /// What the size cap took, ever.
    pub removed: Removed,
    /// Someone else, such as a cache in front, may have answered reads.
    pub reads_are_partial: bool,
    /// The record of a read may have been lost, ever.
    pub lacks_reads: bool,
}

impl Counted {
    /// What a store tells, with at most `top` targets of each subject by name.
    pub(super) fn of(
        store: &StoreReader,
        question: &Question,
        window: &Window,
        top: usize,
    ) -> Result<Self, StoreError> {
        let (filter, removed) = (question.filter(), store.removed()?);
        let ever = Window { from: SystemTime::UNIX_EPOCH, to: window.to };
        Ok(Self {
            presence: store.presence(&filter)?,
            totals: store.totals(window, &filter)?,
            paths: store.paths(window, &filter, top)?,
            gaps: store.gaps(window, &filter)?,
            reads: store.reads(&question.filter_of_reads())?,
            versions: store.versions(question.site.as_deref())?,
            losses: store.losses(window)?,
            removed,
            reads_are_partial: store.reads_are_partial(window)?,
            lacks_reads: removed.details > 0 || store.losses(&ever)?.details_dropped > 0,
        })
    }
}
