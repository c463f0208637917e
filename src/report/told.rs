//! Who was told what about the use of pages: the preferences of each version of robots.txt that a crawler read.
//!
//! It proves delivery: somebody who gave that name, with that proof, read the file. What is done with a page cannot be seen
//! from a site, so that none of this is ever a violation.

use super::question::CatalogueView;
use super::time;
use crate::decide::VersionId;
use crate::record::{CountSubject, ReadTotal, VersionRecord, word};
use crate::robots::{ParseLimits, Robots};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

/// A preference that was read, in one version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The record, with its name. Bytes that are not UTF-8 are replaced.
    pub preference: String,
    /// Its line.
    pub line: u32,
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
        let mut by_version: BTreeMap<VersionId, (SystemTime, SystemTime, u64)> = BTreeMap::new();
        for read in reads {
            let all = by_version.entry(read.version).or_insert((read.first, read.last, 0));
            *all = (all.0.min(read.first), all.1.max(read.last), all.2 + read.count);
        }
        let (tokens, star) = known.tokens(subject);
        let mut told = Vec::new();
        for (robots_version, (first, last, reads)) in by_version {
            let Some(robots) = self.0.get(&robots_version) else { continue };
            let stated = robots.preferences(robots.group(&tokens, star)).into_iter();
            told.extend(stated.filter_map(|preference| {
                let line = preference.lines.first().copied()?;
                Some(Told { preference: preference.to_string(), line, robots_version, first, last, reads })
            }));
        }
        told.sort_by_key(|told| (told.first, told.robots_version, told.line));
        told
    }
}
