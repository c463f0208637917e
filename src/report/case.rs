//! What one crawler can be held to: its elements, what it read, and events in full.

use super::question::ReportQuestion;
use super::{Report, ReportEntry};
use crate::record::{SampleEvent, StoreError, StoreReader, VersionRecord, Window};

/// The case of one crawler.
#[derive(Clone, Debug, PartialEq)]
pub struct CrawlerCase {
    /// The report on this crawler alone.
    pub report: Report,
    /// When which robots.txt was in force at its sites, as far as the window touches it. Equal bytes are one version, at
    /// however many gateways they were in force: its times follow one another, and versions are in the order of their first.
    pub versions: Vec<VersionRecord>,
    /// Its events in full, as far as they are kept, oldest first.
    pub samples: Vec<SampleEvent>,
}

impl CrawlerCase {
    /// Reads the case of `question.crawler` from all `stores`.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn of(stores: &[StoreReader], question: &ReportQuestion) -> Result<Self, StoreError> {
        let report = Report::of(stores, question)?;
        let window = report.window();
        let (mut records, mut samples) = (Vec::new(), Vec::new());
        for store in stores {
            samples.extend(store.samples(&window, &question.filter())?);
            records.extend(store.versions(question.site.as_deref())?);
        }
        records.retain(|version| report.crawlers.iter().any(|entry| entry.subject.site == version.site));
        samples.sort_by_key(|sample| sample.time);
        Ok(Self { versions: versions(records, &window), report, samples })
    }

    /// The same to be shown around: without requests in full.
    #[must_use]
    pub fn public(self) -> Self {
        Self { report: self.report.public(), samples: Vec::new(), ..self }
    }

    /// The versions at the site of an element.
    pub fn versions_of(&self, entry: &ReportEntry) -> impl Iterator<Item = &VersionRecord> {
        self.versions.iter().filter(|version| version.site == entry.subject.site)
    }
}

/// Joins the times of equal bytes at one site that touch each other, and has the others follow one another.
fn versions(mut records: Vec<VersionRecord>, window: &Window) -> Vec<VersionRecord> {
    records.sort_by_key(|record| record.from);
    records.retain(|record| record.from < window.to && record.until.is_none_or(|until| until >= window.from));
    let mut found: Vec<VersionRecord> = Vec::new();
    for record in records {
        let last =
            found.iter().rposition(|known| (&known.site, known.sha256) == (&record.site, record.sha256));
        let place = last.map_or(found.len(), |last| last + 1);
        match last.and_then(|last| found.get_mut(last)) {
            Some(known) if known.until.is_none_or(|until| until >= record.from) => {
                known.until = known.until.zip(record.until).map(|(one, other)| one.max(other));
            }
            _ => found.insert(place, record),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::VersionId;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn record(bytes: &[u8], from: u64, until: Option<u64>) -> VersionRecord {
        let mut sha256 = [0; 32];
        sha256.iter_mut().zip(bytes).for_each(|(digit, byte)| *digit = *byte);
        let (id, until) = (Some(VersionId::of(bytes)), until.map(at));
        VersionRecord { site: "a".into(), sha256: Some(sha256), id, bytes: None, from: at(from), until }
    }

    #[test]
    fn equal_bytes_are_one_version_in_all_their_times() {
        let window = Window { from: at(100), to: at(1_000) };
        let of_two_gateways = vec![
            record(b"one", 10, Some(200)),
            record(b"two", 200, Some(300)),
            record(b"one", 300, None),
            record(b"one", 12, Some(201)),
            record(b"two", 201, Some(299)),
            record(b"one", 299, None),
            record(b"old", 1, Some(10)),
            record(b"new", 1_000, None),
        ];
        let found = versions(of_two_gateways, &window);
        let periods = |bytes: &[u8]| -> Vec<_> {
            let of = found.iter().filter(|version| version.id == Some(VersionId::of(bytes)));
            of.map(|version| (version.from, version.until)).collect()
        };
        assert_eq!(periods(b"one"), [(at(10), Some(at(201))), (at(299), None)]);
        assert_eq!(periods(b"two"), [(at(200), Some(at(300)))]);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
