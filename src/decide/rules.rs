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

/// Why nobody knows what a host was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// It was before the gateway first served the host.
    Before,
    /// What was noted of it is lost or damaged.
    Lost,
    /// So many versions came one after another that the oldest were dropped.
    Dropped,
    /// Somebody else published robots.txt until the first request for it came through a proxy's door.
    Elsewhere,
    /// What other members of the fleet serve cannot be heard.
    Unheard,
    /// What is served cannot be noted.
    Unrecorded,
}

impl Doubt {
    /// What is not known, as the subject of a sentence.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Before => "what was served before the gateway",
            Self::Lost => "what was served before the records were lost or damaged",
            Self::Dropped => "what the oldest of more than 16 versions within notice said",
            Self::Elsewhere => "what was published before /robots.txt came through the proxy",
            Self::Unheard => "what other members of the fleet serve",
            Self::Unrecorded => "what crawlers could hold, since the state folder cannot be written,",
        }
    }
}

/// One row of a host's past: something that this process does not serve was served until then, or still is by another
/// process.
#[derive(Clone, Debug)]
pub struct FormerVersion {
    /// What it was, or why nobody knows that.
    pub version: Result<Arc<RobotsVersion>, Doubt>,
    /// When it came into force, by the time of day.
    pub since: SystemTime,
    /// Since when nobody serves it; `None` while another process still does.
    pub replaced: Option<Replacement>,
}

impl FormerVersion {
    /// Something that nobody knows.
    pub const fn unknown(doubt: Doubt, replaced: Option<Replacement>) -> Self {
        Self { version: Err(doubt), since: SystemTime::UNIX_EPOCH, replaced }
    }
}

/// What `gatewayctl reload --now` sets: former versions excuse nobody, and the version in force binds at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// Whom it binds; everybody where no crawler is named. In lower case.
    pub crawler: Option<Box<str>>,
    /// It sets aside the versions that were replaced up to here.
    pub sequence: u64,
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
    /// The other rows of the host's past: first what another process serves, then the newest first.
    pub former: Vec<FormerVersion>,
    /// The place of the last change among versions of this host: a read notes it.
    pub sequence: u64,
    /// The operator's words against fair notice.
    pub waivers: Arc<[Waiver]>,
    /// The file is not published: no request for it comes through the door of the proxy that asks. Nothing is enforced
    /// that is not served.
    pub is_unpublished: bool,
}

impl SiteRules {
    /// A version without a past: nobody can hold another.
    pub fn new(current: Arc<RobotsVersion>) -> Self {
        Self {
            current,
            since: None,
            is_dated: false,
            former: Vec::new(),
            sequence: 0,
            waivers: Arc::new([]),
            is_unpublished: false,
        }
    }

    /// The version in force.
    pub const fn current(&self) -> &Arc<RobotsVersion> {
        &self.current
    }

    /// The same, and something that nobody knows was served until then, or still is.
    #[must_use]
    pub fn with_unknown(mut self, doubt: Doubt, replaced: Option<Replacement>) -> Self {
        self.former.push(FormerVersion::unknown(doubt, replaced));
        self
    }

    /// The other rows of the host's past.
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

    /// When the last version is replaced that somebody could hold; `None` where there is none. The inner
    /// `None` says that another process still serves one.
    pub fn last_replacement(&self) -> Option<Option<NoticeTime>> {
        let all = self.former.iter().map(|former| former.replaced.map(|replaced| replaced.at));
        all.reduce(|one, other| Some(one?.max(other?)))
    }
}
