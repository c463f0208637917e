//! Who was told what, as a file that can be handed over: with the very text of each version and its SHA-256, so that
//! whoever gets it can check it without us.

use super::case::versions;
use super::proved::MethodCounts;
use super::{Report, ReportEntry, ReportQuestion, Told, VersionPeriod, amount, time};
use crate::decide::VersionId;
use crate::record::{CountSubject, Reads, StoreError, StoreReader, VersionRecord, Window, hexadecimal, word};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

/// What it proves, what it does not, and how to check it.
const STATEMENTS: [&str; 6] = [
    "It shows what was delivered. A read is a complete answer to a request for robots.txt, or the answer 304 to \
     a request that named this version by its entity tag. A request that gave only a date is not counted.",
    "It does not show use. What anybody did with a page cannot be seen from a site, so that nothing here says that a \
     preference was kept, or that it was not.",
    "`confirmed` means that the address or a signature proved at the time that the request came from the crawler of this \
     name. Behind `unchecked` is whoever gave this name, one or several: \
     nothing is said about whoever it belongs to. Behind \
     `contradicted` is somebody whose address is not that of this crawler.",
    "Of each version a crawler is listed with the records that its group of the file has for it, and with those for \
     everyone; the file was always delivered whole. As RFC 9309 has it for records that it does not know, names that go on \
     behind a preference are names of the same group.",
    "To check a version, decode its `base64` and take the SHA-256 of these bytes: it is `sha256`, and `robots_version` is \
     its first 12 digits. `text` is the same bytes, where they are UTF-8.",
    "This is the site's own record. Nobody has signed it.",
];

const WHOLE_TIME: &str =
    "Reads are counted over the whole time that is kept, not only within the time that was asked for.";

/// The whole of it; field names and order are public API.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToldAnnex {
    /// What it proves, what it does not, and how to check it.
    pub statements: [&'static str; 6],
    /// The time that was asked for, but not before the first read.
    #[serde(serialize_with = "time")]
    pub from: SystemTime,
    /// Its end.
    #[serde(serialize_with = "time")]
    pub to: SystemTime,
    /// Whether every read was seen.
    pub reads: Reads,
    /// What it lacks, in whole sentences.
    pub notes: Vec<String>,
    /// One element for each site, crawler and proof.
    pub crawlers: Vec<ToldCrawler>,
    /// The versions that they read, by the time at which they came into force.
    pub versions: Vec<ToldVersion>,
}

/// What one crawler was told, as far as one proof goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToldCrawler {
    /// Which crawler, where, and what supported its name at the time.
    #[serde(flatten)]
    pub subject: CountSubject,
    /// How many of its requests in the time that was asked for rest on which method of proof.
    pub proof_by: MethodCounts,
    /// From which networks it was read in this name, where nothing proved it: they may be one client or several.
    pub networks: Vec<Box<str>>,
    /// Every preference in every version that it read, and each version whose text is not kept.
    pub told: Vec<Told>,
}

/// One version of a site's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldVersion {
    /// The site.
    pub site: Box<str>,
    /// The first 12 digits of its SHA-256.
    #[serde(with = "word")]
    pub robots_version: VersionId,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// When it was in force.
    pub in_force: Vec<VersionPeriod>,
    /// How many bytes it has; null where the size cap of the store took its text.
    pub bytes: Option<usize>,
    /// Its text; null where that is not UTF-8, or not kept.
    pub text: Option<String>,
    /// Its bytes; null where they are not kept.
    pub base64: Option<String>,
}

impl ToldAnnex {
    /// Of a `report` that answers `question` to `stores`.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn of(
        stores: &[StoreReader],
        question: &ReportQuestion,
        report: &Report,
    ) -> Result<Self, StoreError> {
        let crawlers: Vec<ToldCrawler> =
            report.crawlers.iter().filter(|entry| !entry.told.is_empty()).map(told_crawler).collect();
        let mut read: BTreeMap<&str, Vec<VersionId>> = BTreeMap::new();
        for crawler in &crawlers {
            let of_site = read.entry(&crawler.subject.site).or_default();
            of_site.extend(crawler.told.iter().map(|told| told.robots_version));
        }
        let mut records = Vec::new();
        for store in stores {
            records.extend(store.versions(question.site.as_deref())?);
        }
        let is_read = |record: &VersionRecord| {
            record.id.is_some_and(|id| read.get(&*record.site).is_some_and(|read| read.contains(&id)))
        };
        records.retain(is_read);
        let first = crawlers.iter().flat_map(|crawler| &crawler.told).map(|told| told.first).min();
        let Report { to, reads, mut notes, .. } = report.clone();
        notes.extend(without_text(&crawlers));
        if question.now.is_some_and(|now| question.to < now) {
            notes.push(WHOLE_TIME.to_owned());
        }
        let (from, versions) = (report.from.max(first.unwrap_or(report.from)), told_versions(records));
        Ok(Self { statements: STATEMENTS, from, to, reads, notes, crawlers, versions })
    }
}

/// What to know of versions whose text is not kept.
fn without_text(crawlers: &[ToldCrawler]) -> Option<String> {
    let told =
        crawlers.iter().flat_map(|crawler| crawler.told.iter().map(|told| (&crawler.subject.site, told)));
    let gone: BTreeSet<_> = told
        .filter(|(_, told)| told.preference.is_none())
        .map(|(site, told)| (site, told.robots_version))
        .collect();
    let count = amount(gone.len() as u64, "version", "versions");
    let note = format!(
        "The size cap of the store took the text of {count} that crawlers read: what was said there to whom is not known."
    );
    (!gone.is_empty()).then_some(note)
}

fn told_crawler(entry: &ReportEntry) -> ToldCrawler {
    ToldCrawler {
        subject: entry.subject.clone(),
        proof_by: entry.proof_by,
        networks: entry.networks.iter().cloned().collect(),
        told: entry.told.clone(),
    }
}

/// A version was read whenever it was in force, also before the time that was asked for.
fn told_versions(records: Vec<VersionRecord>) -> Vec<ToldVersion> {
    let kept = records.iter().filter_map(|record| Some((record.id?, Arc::clone(record.bytes.as_ref()?))));
    let kept: HashMap<VersionId, Arc<[u8]>> = kept.collect();
    let always = Window { from: SystemTime::UNIX_EPOCH, to: ReportQuestion::open_end() };
    let found = versions(records, &always).into_iter().filter_map(|version| {
        let robots_version = version.id?;
        let bytes = kept.get(&robots_version);
        Some(ToldVersion {
            site: version.site,
            robots_version,
            sha256: hexadecimal(&version.sha256?),
            in_force: version.periods,
            bytes: bytes.map(|bytes| bytes.len()),
            text: bytes.and_then(|bytes| Some(std::str::from_utf8(bytes).ok()?.to_owned())),
            base64: bytes.map(|bytes| STANDARD.encode(bytes)),
        })
    });
    found.collect()
}
