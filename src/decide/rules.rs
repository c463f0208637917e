//! The rules of one host: the version in force, and the former versions that its clients could still hold.

use super::notice::NoticeTime;
use super::version::RobotsVersion;
use std::sync::Arc;
use std::time::SystemTime;

/// The moment from which on no process served a version any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replacement {
    /// Its place in the order of everything that happened to versions.
    pub sequence: u64,
    /// When it was.
    pub at: NoticeTime,
}

/// A version that this process no longer serves.
#[derive(Clone, Debug)]
pub struct FormerVersion {
    /// The version.
    pub version: Arc<RobotsVersion>,
    /// When it came into force, by the time of day.
    pub since: SystemTime,
    /// Since when nobody serves it; `None` while another process still does.
    pub replaced: Option<Replacement>,
    /// Whether nothing is known of this version: then it allows everything.
    pub is_unknown: bool,
}

/// What `gatewayctl reload --now` sets: former versions excuse nobody, and the version in force binds at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// Whom it binds; everybody where no crawler is named. In lower case.
    pub crawler: Option<Box<str>>,
    /// It sets aside the versions that were replaced up to here.
    pub sequence: u64,
    /// When it was said. What somebody else published until then it sets aside, too.
    pub at: NoticeTime,
}

impl Waiver {
    fn binds(&self, crawler: Option<&str>) -> bool {
        self.crawler.as_deref().is_none_or(|name| crawler.is_some_and(|who| who.eq_ignore_ascii_case(name)))
    }
}

/// The rules of one host: the version in force, and those a crawler may still hold a copy of.
#[derive(Clone, Debug)]
pub struct SiteRules {
    /// The version in force.
    pub current: Arc<RobotsVersion>,
    /// Since when it is, by the time of day; `None` where nothing says so.
    pub since: Option<SystemTime>,
    /// Whether that date, to the second, tells the version from every other that somebody could hold.
    pub is_dated: bool,
    /// Other versions that are kept: first those that another process serves, then the newest first.
    pub former: Vec<FormerVersion>,
    /// When the newest of those was replaced that were dropped for want of room.
    pub dropped: Option<Replacement>,
    /// The place of the last change among versions of this host: a read notes it.
    pub sequence: u64,
    /// The operator's words against fair notice.
    pub waivers: Arc<[Waiver]>,
    /// What is served cannot be noted, so nobody can be told later what a client could hold: nobody is accused.
    pub is_unrecorded: bool,
    /// The fleet may have gone on without this gateway: what its rules forbid is refused, and nobody is accused.
    pub is_isolated: bool,
    /// Until then somebody else may have published another file: who has not read this one since could hold that.
    pub elsewhere_until: Option<NoticeTime>,
}

impl SiteRules {
    /// A version without a past: nobody can hold another.
    pub fn new(current: Arc<RobotsVersion>) -> Self {
        Self {
            current,
            since: None,
            is_dated: false,
            former: Vec::new(),
            dropped: None,
            sequence: 0,
            waivers: Arc::new([]),
            is_unrecorded: false,
            is_isolated: false,
            elsewhere_until: None,
        }
    }

    /// The version in force.
    pub const fn current(&self) -> &Arc<RobotsVersion> {
        &self.current
    }

    /// The other versions that are kept.
    pub fn former(&self) -> &[FormerVersion] {
        &self.former
    }

    /// Whether the operator has set notice aside for `crawler`, as far as a version replaced then goes.
    pub(super) fn is_waived(&self, replaced: Option<Replacement>, crawler: Option<&str>) -> bool {
        replaced.is_some_and(|replaced| {
            let mut waivers = self.waivers.iter();
            waivers.any(|waiver| replaced.sequence <= waiver.sequence && waiver.binds(crawler))
        })
    }

    /// Whether he has done so for what somebody else may have published until then.
    pub(super) fn is_waived_elsewhere(&self, until: NoticeTime, crawler: Option<&str>) -> bool {
        self.waivers.iter().any(|waiver| until <= waiver.at && waiver.binds(crawler))
    }

    /// When the last version is replaced that somebody could hold; `None` where there is none. The inner
    /// `None` says that another process still serves one.
    pub fn last_replacement(&self) -> Option<Option<NoticeTime>> {
        let kept = self.former.iter().map(|former| former.replaced.map(|replaced| replaced.at));
        let all = kept.chain(self.dropped.map(|dropped| Some(dropped.at)));
        all.reduce(|one, other| Some(one?.max(other?)))
    }
}
