//! Fair notice: which versions of a robots.txt a crawler could hold, and had it read the one in force.
//!
//! RFC 9309 §2.4 lets a crawler use a cached copy for up to 24 hours. The gateway serves the file, so it
//! knows which client read which version, and when; a client is accused only when *every* version it
//! could hold disallows the request. Pure: the reads and the time are arguments.

use super::rules::{Doubt, FormerVersion, SiteRules};
use super::version::{RobotsVersion, RulesId};
use std::time::Duration;

/// A moment on the clock that notice runs by. It goes on while the machine runs, and nobody sets it: it is no
/// time of day. Time during which the machine was off does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticeTime(pub Duration);

impl NoticeTime {
    /// The moment `span` later.
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// The moment `span` earlier.
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }

    /// How much later this is than `earlier`; nothing where it is not.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// A client's complete fetch of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// What the version said.
    pub rules: RulesId,
    /// What its policy was built from: all that had ended by then, had ended before it. Reads and versions are ordered by
    /// this.
    pub as_of: NoticeTime,
    /// When it was, to tell from when on it counts.
    pub at: NoticeTime,
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
    pub fn counts(&self, read: &Read, now: NoticeTime) -> bool {
        read.at.after(self.settle) <= now
    }

    /// Whether what was replaced then may still be held at `now`.
    pub fn covers(&self, replaced: NoticeTime, now: NoticeTime) -> bool {
        now < replaced.after(self.notice)
    }
}

/// What notice a client in breach of the rules had had of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Notice {
    /// Its last read was of the version in force.
    Read,
    /// It was not, but every copy it could hold disallows the request.
    Lapsed,
    /// A version that it could still hold allows the request.
    Pending,
    /// The same, but the operator has the version in force bind at once.
    Waived,
    /// No version that is known allows it, but nobody knows all that it could hold.
    Unknown,
    /// The file is not published: requests for it do not come through the proxy that asks.
    Unpublished,
}

impl Notice {
    /// The name used in the journal and in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the request is let pass in every mode: nobody is refused against a version that it could hold, and nothing
    /// is enforced that is not served.
    pub const fn excuses(self) -> bool {
        matches!(self, Self::Pending | Self::Unpublished)
    }
}

/// What a client could hold at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldVersions<'a> {
    rules: &'a SiteRules,
    period: NoticePeriod,
    now: NoticeTime,
    last_read: Option<&'a Read>,
}

impl<'a> HeldVersions<'a> {
    pub(super) fn new(
        rules: &'a SiteRules,
        reads: &'a [Read],
        period: NoticePeriod,
        now: NoticeTime,
    ) -> Self {
        let counted = reads.iter().filter(|read| period.counts(read, now));
        Self { rules, period, now, last_read: counted.max_by_key(|read| read.as_of) }
    }

    /// The rows of the past that the client could still hold.
    pub(super) fn former(self) -> impl Iterator<Item = &'a FormerVersion> {
        self.rules.former.iter().filter(move |old| self.could_hold(old))
    }

    /// `Read` or `Lapsed`, for a request that every version it could hold disallows.
    pub(super) fn of_violation(self, in_force: &RobotsVersion) -> Notice {
        let has_read = self.last_read.is_some_and(|read| read.rules == in_force.rules);
        if has_read { Notice::Read } else { Notice::Lapsed }
    }

    /// Whether the client could hold what a row says: within notice, and not when it has read another file since.
    fn could_hold(self, old: &FormerVersion) -> bool {
        let Some(until) = old.until else { return true };
        let has_read_since = |read: &Read| match old.version {
            // It came through the door when the other file did not any more.
            Err(Doubt::Elsewhere) => until <= read.at,
            _ => until <= read.as_of,
        };
        self.period.covers(until, self.now) && !self.last_read.is_some_and(has_read_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{RobotsVersion, VersionId};
    use crate::robots::{ParseLimits, Robots};
    use std::sync::Arc;

    const PERIOD: NoticePeriod =
        NoticePeriod { notice: Duration::from_secs(100), settle: Duration::from_secs(10) };

    fn version(path: &str) -> Arc<RobotsVersion> {
        let text = format!("User-agent: *\nDisallow: /{path}\n");
        let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
        Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots)))
    }

    fn at(seconds: u64) -> NoticeTime {
        NoticeTime(Duration::from_secs(seconds))
    }

    /// `a` was replaced at second 50.
    fn rules() -> SiteRules {
        let former = vec![FormerVersion { version: Ok(version("a")), until: Some(at(50)) }];
        SiteRules { former, as_of: at(50), ..SiteRules::new(version("b")) }
    }

    fn held(rules: &SiteRules, reads: &[Read], now: u64) -> usize {
        HeldVersions::new(rules, reads, PERIOD, at(now)).former().count()
    }

    #[test]
    fn a_former_version_is_held_until_its_notice_ends_or_another_is_read() {
        let rules = rules();
        assert_eq!((held(&rules, &[], 149), held(&rules, &[], 150)), (1, 0));
        let read = |path, as_of| Read { rules: version(path).rules, as_of: at(as_of), at: at(60) };
        assert_eq!(held(&rules, &[read("b", 50)], 69), 1, "it has not settled");
        assert_eq!(held(&rules, &[read("b", 50)], 70), 0);
        assert_eq!(held(&rules, &[read("a", 49)], 70), 1, "it read the former one itself");
    }

    #[test]
    fn a_file_from_elsewhere_is_held_until_its_notice_ends_or_this_one_is_read() {
        let rules = SiteRules::new(version("b")).with_unknown(Doubt::Elsewhere, Some(at(50)));
        let is_held = |reads: &[Read], now| held(&rules, reads, now) == 1;
        assert!(is_held(&[], 149) && !is_held(&[], 150));
        let read = |second| Read { rules: version("b").rules, as_of: at(7), at: at(second) };
        assert!(is_held(&[read(49)], 100) && is_held(&[read(60)], 69));
        let later = Read { as_of: at(8), ..read(60) };
        assert!(!is_held(&[read(60)], 70) && !is_held(&[read(49), later], 70));
    }

    #[test]
    fn what_another_process_serves_is_held_by_everybody() {
        let mut rules = rules();
        rules.former[0].until = None;
        let read = Read { rules: version("b").rules, as_of: at(60), at: at(60) };
        assert_eq!(held(&rules, &[read], 100_000), 1);
    }

    #[test]
    fn a_violation_is_after_a_read_only_where_that_was_the_last_one() {
        let rules = rules();
        let read = |path, as_of| Read { rules: version(path).rules, as_of: at(as_of), at: at(0) };
        let notice = |reads: &[Read]| {
            HeldVersions::new(&rules, reads, PERIOD, at(1_000)).of_violation(rules.current())
        };
        assert_eq!(notice(&[]), Notice::Lapsed);
        assert_eq!(notice(&[read("b", 50)]), Notice::Read);
        assert_eq!(notice(&[read("b", 30), read("a", 50)]), Notice::Lapsed, "b, then a");
    }
}
