//! What is missing of what should have been recorded, by the time it is missing of.
//!
//! One row, from the memory that had no room to the report: requests that are in no count, details, and reads of
//! robots.txt that may have gone unseen.

use super::event::timestamp;
use super::tally::instant;
use serde::{Deserialize, Serialize, Serializer};

/// Memory had no room, or the store could not be written for longer than memory had room.
pub const NOT_WRITTEN: &str = "not-written";
/// The size cap of the store took it.
pub const SIZE_CAP: &str = "size-cap";
/// It was older than `retention`.
pub const RETENTION: &str = "retention";
/// A gateway ended without writing what it had counted last.
pub const UNCLEAN_END: &str = "unclean-end";

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum MissingWhat {
    /// Requests: they are in no count.
    Requests,
    /// Targets, and events in full; their requests are counted.
    Details,
    /// Reads of robots.txt, or what tells that there were none.
    Reads,
}

/// Something is missing of a time, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is.
    pub what: MissingWhat,
    /// Why: one of the words above; of reads also what shows that they may go unseen: a field of requests, a stand-in for
    /// the names of visitors, or `configured`.
    pub reason: Box<str>,
    /// The site; empty for all.
    pub site: Box<str>,
    /// When the first of it may have come, in microseconds.
    pub from: i64,
    /// When the last of it had come.
    pub to: i64,
    /// How much, where that is known: nobody knows what a process counted that was killed.
    pub count: Option<u64>,
}

impl Missing {
    /// Something of all sites.
    pub fn new(what: MissingWhat, reason: &str, (from, to): (i64, i64), count: Option<u64>) -> Self {
        Self { what, reason: reason.into(), site: Box::default(), from, to, count }
    }

    /// Adds more of the same.
    pub fn add(&mut self, more: &Self) {
        (self.from, self.to) = (self.from.min(more.from), self.to.max(more.to));
        self.count = self.count.zip(more.count).map(|(own, more)| own.saturating_add(more));
    }

    /// Adds it to those of `all` that are of the same, for the same reason, at the same site.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let is_like = |known: &&mut Self| {
            (known.what, &known.reason, &known.site) == (self.what, &self.reason, &self.site)
        };
        match all.iter_mut().find(is_like) {
            Some(known) => known.add(&self),
            None => all.push(self),
        }
    }

    /// How much of this is missing, as far as that is known.
    pub fn sum<'m>(all: impl IntoIterator<Item = &'m Self>, what: MissingWhat) -> u64 {
        let counts =
            all.into_iter().filter(|missing| missing.what == what).filter_map(|missing| missing.count);
        counts.fold(0, u64::saturating_add)
    }

    fn key(&self) -> (MissingWhat, i64, &str, &str) {
        (self.what, self.from, &self.reason, &self.site)
    }

    /// The same with one row of what begins at the same time.
    #[must_use]
    pub fn added_up(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by(|one, other| one.key().cmp(&other.key()));
        all.dedup_by(|more, known| {
            let is_same = known.key() == more.key();
            if is_same {
                known.add(more);
            }
            is_same
        });
        all
    }
}

/// Writes rows as reports have them: field names are public API.
///
/// # Errors
/// What the serialiser fails with.
pub fn write_missing<S: Serializer>(all: &[Missing], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|Missing { what, reason, site, from, to, count }| {
        let site = Some(site).filter(|site| !site.is_empty());
        let [from, to] = [from, to].map(|at| timestamp(instant(*at)));
        serde_json::json!({ "what": what, "reason": reason, "site": site, "from": from, "to": to, "count": count })
    }))
}
