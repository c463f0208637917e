//! What was counted, as rows with named keys and values, in a form of their own that every store understands.
//!
//! What the tally holds of a subject becomes rows once it is capped. A store adds them to its tables, they lie in the
//! outbox as JSON, and they are what a fleet answers with.

use super::hexadecimal;
use super::missing::Missing;
use super::rows::whole_micros;
use super::tally::{CountSubject, CountedDecision, PathCounts, SeenInstants};
use super::word;
use crate::decide::{Read, RulesId, VersionId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The host or target that stands for all that found no room.
pub const OTHER_PATHS: &str = "(other)";

/// What a subject or a decision is called in every store: digits of a digest of all that it is.
pub type RowId = Box<str>;

/// Span, start, subject and decision of a roll-up, and its count.
pub type RollupRow = ((i64, i64, RowId, RowId), u64);

/// Span, start and subject, and bytes that it was sent.
pub type SentRow = ((i64, i64, RowId), u64);

/// Day and subject, and its first and last instant on that day.
pub type PresenceRow = ((i64, RowId), (i64, i64));

/// Day, subject and target, and how often it was asked for.
pub type PathRow = ((i64, RowId, Box<str>), PathCounts);

/// Whose reads of what.
pub type ReadRow = ((RowId, ReadKey), ReadSum);

/// Site, SHA-256, since and until of a version; until 0 means still. Without a digest there was no file.
pub type VersionRow = (Box<str>, Box<str>, i64, i64);

/// Which reads of robots.txt are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadKey {
    /// Which version.
    #[serde(with = "word")]
    pub version: VersionId,
    /// When that came into force, in microseconds.
    pub in_force: i64,
    /// On which host; `(other)` beyond the first 1,000 readers of a crawler and version.
    pub host: Box<str>,
    /// From which network, where nothing proved who it was.
    pub network: Option<Box<str>>,
    /// The group that was the reader's: its token, `*`, or `(none)`. `None` where that was not noted.
    pub chosen: Option<Box<str>>,
}

impl ReadKey {
    /// The same by whoever it was, wherever.
    #[must_use]
    pub fn of_any_host(self) -> Self {
        Self { host: OTHER_PATHS.into(), network: None, ..self }
    }
}

/// When and how often somebody read a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSum {
    /// What it said.
    #[serde(with = "word")]
    pub rules: RulesId,
    /// First, last, and how often.
    #[serde(flatten)]
    pub seen: SeenInstants,
    /// What the policy of the last read was built from, in microseconds, by the clock of whoever saw it.
    pub as_of: u64,
    /// When the first read under that policy was, by the clock that notice runs by here.
    #[serde(skip)]
    pub at: i64,
}

impl ReadSum {
    /// The same of what fair notice makes of a read.
    pub fn of(Read { rules, as_of, at }: Read, seen: SeenInstants) -> Self {
        let at = i64::try_from(at.0.as_micros()).unwrap_or(i64::MAX);
        Self { rules, seen, as_of: whole_micros(as_of.0), at }
    }

    /// Adds more. Reads under a policy that was built later count from then on; of those before them the first does.
    pub fn add(&mut self, more: Self) {
        match self.as_of.cmp(&more.as_of) {
            Ordering::Less => (self.at, self.rules, self.as_of) = (more.at, more.rules, more.as_of),
            Ordering::Equal => self.at = self.at.min(more.at),
            Ordering::Greater => {}
        }
        self.seen.add(more.seen);
    }
}

/// Rows of several tables.
///
/// Another version of the program may read them: what it adds is empty in those of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tables {
    /// Who.
    pub subjects: BTreeMap<RowId, CountSubject>,
    /// What was decided.
    pub decisions: BTreeMap<RowId, CountedDecision>,
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
    /// Versions of robots.txt.
    pub versions: Vec<VersionRow>,
    /// Files in base64, by SHA-256.
    pub robots: BTreeMap<Box<str>, String>,
    /// What is missing.
    pub missing: Vec<Missing>,
}

impl Tables {
    /// Notes who a row is of.
    pub fn subject(&mut self, subject: &CountSubject) -> RowId {
        noted(&mut self.subjects, subject)
    }

    /// Notes what a row is of.
    pub fn decision(&mut self, decision: &CountedDecision) -> RowId {
        noted(&mut self.decisions, decision)
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
        let sum = |known: &mut u64, more| *known = known.saturating_add(more);
        Self {
            rollups: by_key(self.rollups, sum),
            sent: by_key(self.sent, sum),
            presence: by_key(self.presence, |known: &mut (i64, i64), more: (i64, i64)| {
                *known = (known.0.min(more.0), known.1.max(more.1));
            }),
            paths: by_key(self.paths, |known: &mut PathCounts, more| known.add(&more)),
            reads: by_key(self.reads, ReadSum::add),
            missing: Missing::added_up(self.missing),
            ..self
        }
    }
}

/// The name of a subject or a decision as JSON, by which it is one everywhere.
pub(super) fn name(of: &impl Serialize) -> String {
    // A value whose keys are texts has a form in JSON always.
    serde_json::to_string(of).unwrap_or_default()
}

fn noted<T: Clone + Serialize>(all: &mut BTreeMap<RowId, T>, of: &T) -> RowId {
    let mut id = hexadecimal(&Sha256::digest(name(of)));
    id.truncate(32);
    let id = RowId::from(id);
    all.insert(id.clone(), of.clone());
    id
}

fn by_key<K: Ord, V: Copy>(mut rows: Vec<(K, V)>, mut add: impl FnMut(&mut V, V)) -> Vec<(K, V)> {
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows.dedup_by(|more, known| {
        let is_same = known.0 == more.0;
        if is_same {
            add(&mut known.1, more.1);
        }
        is_same
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforce::Action;
    use crate::identify::{ClientKind, Proof};
    use crate::record::EventKind;

    #[test]
    fn rows_of_one_thing_are_one_row() {
        let mut rows = Tables::default();
        let who = rows.subject(&CountSubject {
            site: "example.org".into(),
            crawler: Some("GPTBot".into()),
            client: ClientKind::Crawler,
            purpose: None,
            proof: Proof::Unchecked,
        });
        let what = rows.decision(&CountedDecision {
            kind: EventKind::Violation,
            action: Action::Forward,
            notice: None,
            version: None,
            group: vec!["*".into()],
            line: Some(7),
            rule: Some("Disallow: /".into()),
            proof_by: None,
        });
        for count in [1, 2] {
            let mut more = Tables::default();
            more.rollups.push(((60, 120, who.clone(), what.clone()), count));
            let counts = PathCounts { allowed: count, refused: 1, ..PathCounts::default() };
            more.paths.push(((0, who.clone(), "/x".into()), counts));
            more.presence.push(((0, who.clone()), (10 - i64::try_from(count).unwrap(), 20)));
            rows.add(more);
        }
        let summed: Tables = serde_json::from_str(&serde_json::to_string(&rows.summed()).unwrap()).unwrap();
        assert_eq!(summed.rollups, [((60, 120, who.clone(), what), 3)]);
        let counts = PathCounts { allowed: 3, refused: 2, ..PathCounts::default() };
        assert_eq!(summed.paths, [((0, who.clone(), "/x".into()), counts)]);
        assert_eq!(summed.presence, [((0, who), (8, 20))]);
    }

    #[test]
    fn a_read_counts_from_when_the_policy_it_was_under_was_read_first() {
        let rules = crate::decide::RobotsVersion::allowing_everything().rules;
        let read = |as_of, at| ReadSum { rules, seen: SeenInstants::once(at), as_of, at };
        let mut sum = read(5, 30);
        for (more, at) in [(read(5, 20), 20), (read(5, 40), 20), (read(6, 50), 50), (read(5, 10), 50)] {
            sum.add(more);
            assert_eq!(sum.at, at);
        }
        assert_eq!((sum.as_of, sum.seen), (6, SeenInstants { first: 10, last: 50, count: 5 }));
    }
}
