//! Fair notice: which versions of a robots.txt a crawler could hold, and had it read the one in force.
//!
//! RFC 9309 §2.4 lets a crawler use a cached copy for up to 24 hours. The gateway serves the file, so it
//! knows which client read which version, and when; a client is accused only when *every* version it
//! could hold disallows the request. Pure: the reads and the time are arguments.

use super::version::{SiteRules, Version, VersionId};
use std::time::{Duration, SystemTime};

/// A client's complete fetch of one version: the time of the first one since that version came into
/// force. Repeated fetches of an unchanged file add nothing to what the client could hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The version that was read.
    pub version: VersionId,
    /// When it was read.
    pub at: SystemTime,
}

/// How long former versions excuse a client, and when a read begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticePeriod {
    /// How long after its replacement a version may still be held.
    pub notice: Duration,
    /// How long after a read it counts: a crawler reads on one machine and fetches from the queue of
    /// another.
    pub settle: Duration,
}

impl NoticePeriod {
    /// Whether a read counts at `now`.
    #[must_use]
    pub fn counts(&self, read: &Read, now: SystemTime) -> bool {
        read.at.checked_add(self.settle).is_some_and(|counts_from| counts_from <= now)
    }
}

/// What notice a client in breach of the rules had had of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// It had read the version in force.
    Read,
    /// It had not, but every copy it could hold disallows the request.
    Lapsed,
    /// A version that it could still hold allows the request.
    Pending,
}

impl Notice {
    /// The name used in the journal and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Lapsed => "lapsed",
            Self::Pending => "pending",
        }
    }
}

/// What a client could hold at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings<'a> {
    rules: &'a SiteRules,
    reads: &'a [Read],
    period: NoticePeriod,
    now: SystemTime,
}

impl<'a> Holdings<'a> {
    pub(super) const fn new(
        rules: &'a SiteRules,
        reads: &'a [Read],
        period: NoticePeriod,
        now: SystemTime,
    ) -> Self {
        Self { rules, reads, period, now }
    }

    /// The former versions the client could still hold.
    pub(super) fn former(self) -> impl Iterator<Item = &'a Version> {
        let last_read = self.last_counted_read();
        let former = self.rules.former().iter();
        former
            .filter(move |old| self.could_hold(old.replaced, old.version.id, last_read))
            .map(|old| &*old.version)
    }

    /// Whether the client could hold a version that is no longer known: it might allow anything.
    pub(super) fn holds_unknown(self) -> bool {
        self.rules.dropped().is_some_and(|replaced| self.could_hold(replaced, None, self.last_counted_read()))
    }

    /// `Read` or `Lapsed`, for a request that every version it could hold disallows.
    pub(super) fn of_violation(self) -> Notice {
        let in_force = self.rules.current().id;
        let has_read = self.counted().any(|read| Some(read.version) == in_force);
        if has_read { Notice::Read } else { Notice::Lapsed }
    }

    /// Whether the client could hold a version replaced at `replaced`: not when it has read another since.
    /// What it read last it holds, even if the file was replaced while it was being read.
    fn could_hold(self, replaced: SystemTime, id: Option<VersionId>, last_read: Option<&Read>) -> bool {
        let within_notice = replaced.checked_add(self.period.notice).is_none_or(|end| self.now < end);
        within_notice && last_read.is_none_or(|read| replaced >= read.at || id == Some(read.version))
    }

    fn last_counted_read(self) -> Option<&'a Read> {
        self.counted().max_by_key(|read| read.at)
    }

    fn counted(self) -> impl Iterator<Item = &'a Read> {
        self.reads.iter().filter(move |read| self.period.counts(read, self.now))
    }
}
