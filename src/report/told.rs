//! Who was told what about the use of pages: the preferences of each version of robots.txt that a crawler read.
//!
//! It proves delivery: somebody who gave that name, with that proof, read the file. What is done with a page cannot be seen
//! from a site, so that none of this is ever a violation.

use super::question::CatalogueView;
use super::time;
use crate::decide::{NO_GROUP, VersionId};
use crate::record::{CountSubject, ReadTotal, VersionRecord, word};
use crate::robots::{ParseLimits, Robots};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::SystemTime;

/// A preference that was read, in one version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The record, with its name. Bytes that are not UTF-8 are replaced. Null where the text of the version is not kept, so
    /// that nobody knows what it said.
    pub preference: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// In which version.
    #[serde(with = "word")]
    pub robots_version: VersionId,
    /// The first read of it.
    #[serde(serialize_with = "time")]
    pub first: SystemTime,
    /// The last read.
    #[serde(serialize_with = "time")]
    pub last: SystemTime,
    /// How many.
    pub reads: u64,
}

/// From which networks somebody read whose name nothing proved.
pub(super) fn networks(reads: &[ReadTotal]) -> BTreeSet<Box<str>> {
    reads.iter().filter_map(|read| read.network.clone()).collect()
}

/// The versions that were read and whose text is kept.
#[derive(Debug, Default)]
pub(super) struct ReadFiles(HashMap<VersionId, Robots>);

impl ReadFiles {
    /// Compiles those of `versions` for which `is_read` holds, each once.
    pub(super) fn new(versions: &[VersionRecord], is_read: impl Fn(VersionId) -> bool) -> Self {
        let mut found = HashMap::new();
        for version in versions {
            let (Some(id), Some(bytes)) = (version.id, version.bytes.as_deref()) else { continue };
            if is_read(id) {
                let limits = ParseLimits { max_bytes: bytes.len() };
                found.entry(id).or_insert_with(|| Robots::parse(bytes, &limits).robots);
            }
        }
        Self(found)
    }

    /// What was said to a subject in what it read: by version, the first that it read first.
    pub(super) fn told(
        &self,
        subject: &CountSubject,
        known: &CatalogueView,
        reads: &[ReadTotal],
    ) -> Vec<Told> {
        let mut by_line: BTreeMap<(VersionId, Option<u32>), Told> = BTreeMap::new();
        for read in reads {
            for (line, preference) in self.said(subject, known, read) {
                let ReadTotal { version: robots_version, first, last, .. } = *read;
                let told = by_line.entry((robots_version, line)).or_insert_with(|| Told {
                    preference,
                    line,
                    robots_version,
                    first,
                    last,
                    reads: 0,
                });
                (told.first, told.last) = (told.first.min(first), told.last.max(last));
                told.reads = told.reads.saturating_add(read.count);
            }
        }
        let mut told: Vec<Told> = by_line.into_values().collect();
        told.sort_by_key(|told| (told.first, told.robots_version, told.line));
        told
    }

    /// The lines of one version for its reader, or nothing but that its text is not kept.
    fn said(
        &self,
        subject: &CountSubject,
        known: &CatalogueView,
        read: &ReadTotal,
    ) -> Vec<(Option<u32>, Option<String>)> {
        let Some(robots) = self.0.get(&read.version) else { return vec![(None, None)] };
        let group = match read.chosen.as_deref() {
            None => {
                let (tokens, star) = known.tokens(subject);
                robots.group(&tokens, star)
            }
            Some(NO_GROUP) => None,
            Some("*") => robots.group::<&str>(&[], true),
            Some(token) => robots.group(&[token], false),
        };
        let stated = robots.preferences(group).into_iter();
        stated.map(|preference| (preference.lines.first().copied(), Some(preference.to_string()))).collect()
    }
}
