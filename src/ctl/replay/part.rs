//! What one chunk of a log came to: small, plain, and free of the chunk itself.

use super::published::{LoggedAnswer, LoggedFile};
use crate::identify::Identity;
use crate::record::{CountedDecision, SeenInstants};
use serde::{Serialize, Serializer};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use strum::{EnumCount as _, VariantArray as _};

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// One judged request, or one read of robots.txt. Numbers are places in the lists of its [`ChunkResult`].
#[derive(Clone, Debug)]
pub(super) struct JudgedLine {
    /// Microseconds since 1970.
    pub(super) at: i64,
    pub(super) subject: u32,
    pub(super) what: JudgedKind,
    /// Where its target stands in [`ChunkResult::targets`].
    pub(super) target: Range<usize>,
    pub(super) host: u32,
    pub(super) address: Option<IpAddr>,
}

/// What a [`JudgedLine`] is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum JudgedKind {
    /// A request that was decided on; and why it would be forwarded in enforce mode, where the rules disallow it.
    Decided(u32, Option<ForwardReason>),
    /// A fetch of robots.txt, and what its answer says of the file.
    Fetched(LoggedFile),
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct NewSubject {
    pub(super) site: usize,
    pub(super) identity: Arc<Identity>,
}

/// Why enforce mode forwards what robots.txt disallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum ForwardReason {
    /// Its kind of client is only audited.
    #[strum(serialize = "client")]
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

/// What a line, or the request in it, was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(in crate::ctl) enum LineKind {
    /// Any.
    Lines,
    Unread,
    BeforeSince,
    /// Of a host that none of the sites has.
    OtherHosts,
    /// No request at all, or none for a path.
    NoRequest,
    /// Lines that do not tell the User-Agent.
    WithoutUserAgent,
    Browsers,
    Apps,
    Exempt,
    Off,
    Judged,
    /// Requests for robots.txt, whoever made them.
    RobotsTxt,
}

/// How many lines of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ctl) struct LineCounts([u64; LineKind::COUNT]);

impl LineCounts {
    pub(in crate::ctl) fn of(&self, kind: LineKind) -> u64 {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }

    pub(super) fn sum(&self, kinds: &[LineKind]) -> u64 {
        kinds.iter().map(|kind| self.of(*kind)).sum()
    }

    pub(in crate::ctl) fn count(&mut self, kind: LineKind) {
        self.0.get_mut(kind as usize).into_iter().for_each(|count| *count += 1);
    }

    pub(in crate::ctl) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }
}

/// Those that were not read are told with an example.
impl Serialize for LineCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let told = LineKind::VARIANTS.iter().filter(|kind| **kind != LineKind::Unread);
        serializer.collect_map(told.map(|kind| (<&str>::from(kind), self.of(*kind))))
    }
}

/// The result of one chunk. It names each subject, decision and host once, and its lines refer to them.
#[derive(Debug, Default)]
pub(super) struct ChunkResult {
    pub(super) tally: LineCounts,
    /// From the first to the last.
    pub(super) span: Option<SeenInstants>,
    pub(super) hits: Vec<JudgedLine>,
    /// Whole answers to `GET /robots.txt`, whoever asked.
    pub(super) answers: Vec<LoggedAnswer>,
    pub(super) targets: Vec<u8>,
    pub(super) subjects: Vec<NewSubject>,
    pub(super) decisions: Vec<CountedDecision>,
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

impl ChunkResult {
    pub(super) fn unreadable(&mut self, line: &[u8]) {
        self.tally.count(LineKind::Unread);
        if self.unread.is_none() {
            self.unread = Some((self.physical, line.get(..SHOWN).unwrap_or(line).to_vec()));
        }
    }

    /// Keeps a target, and says where.
    pub(super) fn target(&mut self, target: &[u8]) -> Range<usize> {
        let start = self.targets.len();
        self.targets.extend_from_slice(target);
        start..self.targets.len()
    }
}
