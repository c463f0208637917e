//! Who was told what about the use of pages: a table of the page.

use super::text::visible;
use crate::record::CountSubject;
use crate::report::{Report, ReportEntry, Told};

/// One preference that one crawler read, in one version.
pub(super) struct ToldRow<'r> {
    pub(super) subject: &'r CountSubject,
    pub(super) told: &'r Told,
    pub(super) preference: Option<String>,
}

impl<'r> ToldRow<'r> {
    /// Those of a report, of crawlers alone.
    pub(super) fn all(report: &'r Report) -> Vec<Self> {
        let entries = report.crawlers.iter().filter(|entry| entry.subject.is_crawler());
        let row = |entry: &'r ReportEntry, told: &'r Told| Self {
            subject: &entry.subject,
            told,
            preference: told.preference.as_deref().map(visible),
        };
        entries.flat_map(|entry| entry.told.iter().map(move |told| row(entry, told))).collect()
    }
}
