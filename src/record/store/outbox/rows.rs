//! Rows as they were written to the store, in a form of their own that other stores understand.

use super::unreadable;
use crate::record::missing::Missing;
use crate::record::store::error::StoreError;
use crate::record::tally::PathCounts;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

/// What a subject or a decision is called in every store: digits of a digest of all that it is.
pub(in crate::record::store) type RowId = Box<str>;

/// The largest piece that is taken for one, unpacked.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Span, start, subject and decision of a roll-up, and its count.
pub type RollupRow = ((i64, i64, Box<str>, Box<str>), u64);

/// Span, start and subject, and bytes that it was sent.
pub type SentRow = ((i64, i64, Box<str>), u64);

/// Day and subject, and its first and last instant on that day.
pub type PresenceRow = ((i64, Box<str>), (i64, i64));

/// Day, subject and target, and allowed, violations, stale, variants, spoofed and refused.
pub type PathRow = ((i64, Box<str>, Box<str>), [u64; 6]);

/// Reads of one version by one reader: subject, version, when that came into force, host, network and the group that was the
/// reader's; what it said, the first and the last instant, how many; and what the policy of the last one was built
/// from, by the clock of whoever saw it.
pub type ReadRow = ((Box<str>, Box<str>, i64, Box<str>, Box<str>, Box<str>), (Box<str>, i64, i64, u64, u64));

/// Rows of several tables. Words are those of the database.
///
/// Another version of the program may read them: what it adds is empty in those of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportedRows {
    /// Site, client, crawler, purpose and proof, by id.
    pub subjects: BTreeMap<Box<str>, [Box<str>; 5]>,
    /// Kind, action, notice, version, tokens, rule and method of proof, and the line, by id.
    pub decisions: BTreeMap<Box<str>, ([Box<str>; 7], u32)>,
    /// Counts.
    pub rollups: Vec<RollupRow>,
    /// Bytes of answers.
    pub sent: Vec<SentRow>,
    /// When who was seen.
    pub presence: Vec<PresenceRow>,
    /// Targets.
    pub paths: Vec<PathRow>,
    /// Reads of robots.txt.
    pub reads: Vec<ReadRow>,
    /// Site, SHA-256, since and until of versions; until 0 means still. Without a digest there was no file.
    pub versions: Vec<(Box<str>, Box<str>, i64, i64)>,
    /// Files in base64, by SHA-256.
    pub robots: BTreeMap<Box<str>, String>,
    /// What is missing.
    pub missing: Vec<Missing>,
}

/// No database of words takes the character that ends them elsewhere.
pub(in crate::record::store) fn word(text: &str) -> Box<str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

fn id(words: &[Box<str>], line: u32) -> RowId {
    let mut digest = Sha256::new();
    for word in words {
        digest.update(word.len().to_be_bytes());
        digest.update(word.as_bytes());
    }
    digest.update(line.to_be_bytes());
    let mut id = crate::record::hexadecimal(&digest.finalize());
    id.truncate(32);
    id.into()
}

impl ExportedRows {
    /// Notes who a row is of.
    pub(in crate::record::store) fn subject(&mut self, words: [&str; 5]) -> RowId {
        let words = words.map(word);
        let id = id(&words, 0);
        self.subjects.insert(id.clone(), words);
        id
    }

    /// Notes what a row is of.
    pub(in crate::record::store) fn decision(&mut self, words: [&str; 7], line: u32) -> RowId {
        let words = words.map(word);
        let id = id(&words, line);
        self.decisions.insert(id.clone(), (words, line));
        id
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds rows, which may then be of the same things twice.
    pub fn add(&mut self, other: Self) {
        self.subjects.extend(other.subjects);
        self.decisions.extend(other.decisions);
        self.rollups.extend(other.rollups);
        self.sent.extend(other.sent);
        self.presence.extend(other.presence);
        self.paths.extend(other.paths);
        self.reads.extend(other.reads);
        self.versions.extend(other.versions);
        self.robots.extend(other.robots);
        self.missing.extend(other.missing);
    }

    /// The same with one row of each thing.
    #[must_use]
    pub fn summed(self) -> Self {
        Self {
            rollups: by_key(self.rollups, |known, more| *known = known.saturating_add(more)),
            sent: by_key(self.sent, |known, more| *known = known.saturating_add(more)),
            presence: by_key(self.presence, |known, more| {
                *known = (known.0.min(more.0), known.1.max(more.1));
            }),
            paths: by_key(self.paths, |known, more| {
                known.iter_mut().zip(more).for_each(|(known, more)| *known = known.saturating_add(more));
            }),
            reads: by_key(self.reads, |known, (rules, first, last, count, as_of)| {
                known.0 = rules;
                (known.1, known.2) = (known.1.min(first), known.2.max(last));
                (known.3, known.4) = (known.3.saturating_add(count), known.4.max(as_of));
            }),
            missing: Missing::added_up(self.missing),
            ..self
        }
    }

    /// As JSON.
    ///
    /// # Errors
    /// None: numbers and texts can be written.
    pub fn json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(unreadable)
    }

    pub(super) fn packed(&self) -> Result<Vec<u8>, StoreError> {
        // Zstandard's compressor, which nothing else uses, would make the program 0.6 MB larger.
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::new(3));
        packer.write_all(self.json()?.as_bytes()).and_then(|()| packer.finish()).map_err(unreadable)
    }

    pub(super) fn unpacked(packed: &[u8]) -> Result<Self, StoreError> {
        let text = ZlibDecoder::new(packed).take(LARGEST);
        serde_json::from_reader(std::io::BufReader::new(text)).map_err(unreadable)
    }
}

pub(in crate::record::store) const fn path_counts(counts: &PathCounts) -> [u64; 6] {
    let PathCounts { allowed, violations, stale, variants, spoofed, refused } = *counts;
    [allowed, violations, stale, variants, spoofed, refused]
}

fn by_key<K: Ord, V>(mut rows: Vec<(K, V)>, mut add: impl FnMut(&mut V, V)) -> Vec<(K, V)> {
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    let mut summed: Vec<(K, V)> = Vec::with_capacity(rows.len());
    for (key, value) in rows {
        match summed.last_mut().filter(|(known, _)| *known == key) {
            Some((_, known)) => add(known, value),
            None => summed.push((key, value)),
        }
    }
    summed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_thing_are_one_row() {
        let mut rows = ExportedRows::default();
        let who = rows.subject(["example.org", "crawler", "a\0b", "", "unchecked"]);
        assert_eq!(&*rows.subjects[&who][2], "a\u{fffd}b");
        let what = rows.decision(["violation", "forward", "", "", "*", "Disallow: /", ""], 7);
        for count in [1, 2] {
            let mut more = ExportedRows::default();
            more.rollups.push(((60, 120, who.clone(), what.clone()), count));
            more.paths.push(((0, who.clone(), "/x".into()), [count, 0, 0, 0, 0, 1]));
            more.presence.push(((0, who.clone()), (10 - i64::try_from(count).unwrap(), 20)));
            rows.add(more);
        }
        let summed = ExportedRows::unpacked(&rows.summed().packed().unwrap()).unwrap();
        assert_eq!(summed.rollups, [((60, 120, who.clone(), what), 3)]);
        assert_eq!(summed.paths, [((0, who.clone(), "/x".into()), [3, 0, 0, 0, 0, 2])]);
        assert_eq!(summed.presence, [((0, who), (8, 20))]);
        assert!(ExportedRows::unpacked(b"x").is_err());
    }
}
