//! The rules of one host: the version in force, and the former versions that its clients could still hold.

use super::notice::NoticeTime;
use super::version::RobotsVersion;
use std::sync::Arc;
use std::time::SystemTime;

/// Why nobody knows what a host was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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

/// A version, or why nobody knows which.
pub type KnownVersion = Result<Arc<RobotsVersion>, Doubt>;

/// One row of a host's past: something else than what is in force was served until then, or still is by somebody.
#[derive(Clone, Debug)]
pub struct FormerVersion {
    /// What it was, or why nobody knows that.
    pub version: KnownVersion,
    /// Since when nobody serves it; `None` while somebody does.
    pub until: Option<NoticeTime>,
}

/// What `gatewayctl reload --now` sets: former versions excuse nobody, and the version in force binds at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// Whom it binds; everybody where no crawler is named. In lower case.
    pub crawler: Option<Box<str>>,
    /// It sets aside the versions that were replaced up to then.
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
    /// The other rows of the host's past: first what another process serves, then the newest first.
    pub former: Vec<FormerVersion>,
    /// What had ended by then, had ended before these rules came into force: a read notes it.
    pub as_of: NoticeTime,
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
            as_of: NoticeTime::default(),
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
    pub fn with_unknown(mut self, doubt: Doubt, until: Option<NoticeTime>) -> Self {
        self.former.push(FormerVersion { version: Err(doubt), until });
        self
    }

    /// Whether the operator has set notice aside for `crawler`, as far as a version replaced then goes.
    pub(super) fn is_waived(&self, until: Option<NoticeTime>, crawler: Option<&str>) -> bool {
        let binds = |until| self.waivers.iter().any(|waiver| until <= waiver.at && waiver.binds(crawler));
        until.is_some_and(binds)
    }
}
