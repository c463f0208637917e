//! What one crawler can be held to: its elements, what it read, and events in full.

use super::question::Question;
use super::{Entry, Report};
use crate::record::{Sample, StoreError, StoreReader, VersionRecord};

/// The case of one crawler.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The report on this crawler alone.
    pub report: Report,
    /// The versions of robots.txt at its sites that were in force within the window, oldest first.
    pub versions: Vec<VersionRecord>,
    /// Its events in full, as far as they are kept, oldest first.
    pub samples: Vec<Sample>,
}

impl Case {
    /// Reads the case of `question.crawler` from all `stores`.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn of(stores: &[StoreReader], question: &Question) -> Result<Self, StoreError> {
        let report = Report::of(stores, question)?;
        let window = report.window();
        let (mut versions, mut samples) = (Vec::new(), Vec::new());
        for store in stores {
            samples.extend(store.samples(&window, &question.filter())?);
            versions.extend(store.versions(question.site.as_deref())?);
        }
        let is_concerned = |version: &VersionRecord| {
            let of_its_sites = |entry: &Entry| entry.site == version.site;
            let within = version.from < window.to && version.until.is_none_or(|until| until >= window.from);
            within && report.crawlers.iter().any(of_its_sites)
        };
        versions.retain(is_concerned);
        versions.sort_by_key(|version| version.from);
        samples.sort_by_key(|sample| sample.time);
        Ok(Self { report, versions, samples })
    }
}
