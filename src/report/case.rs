//! What one crawler can be held to: its elements, what it read, and events in full.

use super::question::ReportQuestion;
use super::{Report, ReportEntry};
use crate::decide::VersionId;
use crate::record::{SampleEvent, StoreError, StoreReader, VersionRecord, Window};
use std::time::SystemTime;

/// The case of one crawler.
#[derive(Clone, Debug, PartialEq)]
pub struct CrawlerCase {
    /// The report on this crawler alone.
    pub report: Report,
    /// The versions of robots.txt at its sites that were in force within the window, by the time at which
    /// they first were.
    pub versions: Vec<CaseVersion>,
    /// Its events in full, as far as they are kept, oldest first.
    pub samples: Vec<SampleEvent>,
}

/// One version of a site's robots.txt: equal bytes are one version, however often and at however many gateways
/// they were in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseVersion {
    /// The site.
    pub site: Box<str>,
    /// SHA-256 of the file; `None` for a site without one.
    pub sha256: Option<[u8; 32]>,
    /// What the digest begins with: the version's name.
    pub id: Option<VersionId>,
    /// When it was in force, oldest first, none touching the next; only those that the window touches.
    pub periods: Vec<VersionPeriod>,
}

/// A stretch of time in which a version was in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionPeriod {
    /// When it began.
    pub from: SystemTime,
    /// When another version took its place; `None` while none has.
    pub until: Option<SystemTime>,
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
    pub fn versions_of(&self, entry: &ReportEntry) -> impl Iterator<Item = &CaseVersion> {
        self.versions.iter().filter(|version| version.site == entry.subject.site)
    }
}

/// Joins records of equal bytes at one site, and their times.
fn versions(mut records: Vec<VersionRecord>, window: &Window) -> Vec<CaseVersion> {
    records.sort_by_key(|record| record.from);
    let is_within = |record: &VersionRecord| {
        record.from < window.to && record.until.is_none_or(|until| until >= window.from)
    };
    let mut found: Vec<CaseVersion> = Vec::new();
    for record in records.into_iter().filter(is_within) {
        let VersionRecord { site, sha256, id, from, until, .. } = record;
        match found.iter_mut().find(|version| version.site == site && version.sha256 == sha256) {
            Some(version) => version.add(VersionPeriod { from, until }),
            None => {
                found.push(CaseVersion { site, sha256, id, periods: vec![VersionPeriod { from, until }] });
            }
        }
    }
    found
}

impl CaseVersion {
    /// Adds a period that begins no earlier than any before.
    fn add(&mut self, period: VersionPeriod) {
        match self.periods.last_mut() {
            Some(last) if last.until.is_none_or(|until| until >= period.from) => {
                last.until = last.until.zip(period.until).map(|(one, other)| one.max(other));
            }
            _ => self.periods.push(period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

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
            of.map(|version| version.periods.as_slice()).collect()
        };
        let (early, late) = (
            VersionPeriod { from: at(10), until: Some(at(201)) },
            VersionPeriod { from: at(299), until: None },
        );
        assert_eq!(periods(b"one"), [[early, late].as_slice()]);
        assert_eq!(periods(b"two"), [[VersionPeriod { from: at(200), until: Some(at(300)) }].as_slice()]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
