//! What one chunk of a log came to: small, plain, and free of the chunk itself.

use super::published::{Answer, Answered};
use crate::identify::Identity;
use crate::record::Decision;
use std::net::IpAddr;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// One judged request, or one read of robots.txt.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// Microseconds since 1970.
    pub(super) at: i64,
    pub(super) subject: u32,
    pub(super) what: What,
    /// Where its target stands in [`Part::targets`].
    pub(super) target: Range<usize>,
    pub(super) host: u32,
    pub(super) address: Option<IpAddr>,
}

/// What a [`Hit`] is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A request that was decided on, by number.
    Decided(u32),
    /// A fetch of robots.txt, and what its answer says of the file.
    Fetched(Answered),
}

/// Who asks, by number.
#[derive(Clone, Debug)]
pub(super) struct NewSubject {
    pub(super) site: usize,
    pub(super) identity: Arc<Identity>,
}

/// What was decided, by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NewDecision {
    pub(super) decision: Decision,
    /// Why a request that the rules disallow would be forwarded in enforce mode all the same.
    pub(super) spared: Option<Spared>,
}

/// Why enforce mode forwards what robots.txt disallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Spared {
    /// Its kind of client is only audited.
    Kind,
    /// The crawler has a mode of its own.
    Crawler,
    /// What it fetches for has a mode of its own.
    Purpose,
    /// The site is off, or has a mode that is left as it is.
    Site,
    /// It may be a person's browser after all.
    Doubt,
    /// The path is disallowed in another spelling only, and the site forwards those.
    Variant,
    /// A certificate authority's check.
    Certificate,
}

/// Lines by what they were, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) lines: u64,
    pub(super) unread: u64,
    /// Before `--since`.
    pub(super) early: u64,
    /// Of a host that none of the sites has.
    pub(super) elsewhere: u64,
    /// No request at all, or none for a path.
    pub(super) no_request: u64,
    /// Lines that do not tell the User-Agent.
    pub(super) unlogged: u64,
    pub(super) browsers: u64,
    pub(super) apps: u64,
    pub(super) exempt: u64,
    pub(super) off: u64,
    pub(super) judged: u64,
    /// Requests for robots.txt, whoever made them.
    pub(super) robots_txt: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        let Self {
            lines,
            unread,
            early,
            elsewhere,
            no_request,
            unlogged,
            browsers,
            apps,
            exempt,
            off,
            judged,
            robots_txt,
        } = other;
        self.lines += lines;
        self.unread += unread;
        self.early += early;
        self.elsewhere += elsewhere;
        self.no_request += no_request;
        self.unlogged += unlogged;
        self.browsers += browsers;
        self.apps += apps;
        self.exempt += exempt;
        self.off += off;
        self.judged += judged;
        self.robots_txt += robots_txt;
    }
}

/// The result of one chunk. Numbers are the worker's own, and stand for what it has named in this part or an
/// earlier one.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) tally: Tally,
    /// First and last time, in microseconds.
    pub(super) span: Option<(i64, i64)>,
    pub(super) hits: Vec<Hit>,
    /// Whole answers to `GET /robots.txt`, whoever asked.
    pub(super) answers: Vec<Answer>,
    pub(super) targets: Vec<u8>,
    pub(super) subjects: Vec<NewSubject>,
    /// The worker has forgotten the subjects of earlier parts, and begins with number 0.
    pub(super) subjects_anew: bool,
    pub(super) decisions: Vec<NewDecision>,
    pub(super) hosts: Vec<Box<str>>,
    /// Lines, blank ones too.
    pub(super) physical: u64,
    /// Which log, and the first line of it, counted within the part, that could not be read.
    pub(super) log: usize,
    pub(super) unread: Option<(u64, Vec<u8>)>,
    /// Why the log could not be read beyond this part.
    pub(super) broken: Option<String>,
    /// Events as lines of the journal.
    pub(super) events: Vec<u8>,
}

impl Part {
    pub(super) fn unreadable(&mut self, line: &[u8]) {
        self.tally.unread += 1;
        if self.unread.is_none() {
            self.unread = Some((self.physical, line.get(..SHOWN).unwrap_or(line).to_vec()));
        }
    }

    pub(super) fn seen(&mut self, at: i64) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Keeps a target, and says where.
    pub(super) fn target(&mut self, target: &[u8]) -> Range<usize> {
        let start = self.targets.len();
        self.targets.extend_from_slice(target);
        start..self.targets.len()
    }
}
