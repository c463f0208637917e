//! Rows: what a host was given, from when until when.
//!
//! A version is replaced when nobody serves it any more: the end of a row is never earlier than the truth. Versions that say
//! the same are one. What nobody knows stands among them as something unknown, and excuses from an accusation until its
//! notice is over.

use crate::decide::{
    Doubt, FormerVersion, KnownVersion, NoticePeriod, NoticeTime, RobotsVersion, RulesId, SiteRules,
};
use crate::record::word;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many former versions of a host stay compiled.
const FORMER_VERSIONS: usize = 16;

/// The pattern of every host that no other names.
const EVERY_OTHER: &str = "*";

/// The SHA-256 of a robots.txt in hexadecimal digits, or none for a host without one.
pub type FileDigest = Option<Box<str>>;

/// What was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVersion {
    /// A file, or none.
    Known {
        /// What it says: by this versions are told apart.
        #[serde(with = "word")]
        rules: RulesId,
        /// Its bytes.
        file: FileDigest,
    },
    /// Something unknown, and why it is.
    Unknown(#[serde(with = "word")] Doubt),
}

impl RowVersion {
    /// Its file; `None` where that is not known.
    pub const fn file(&self) -> Option<&FileDigest> {
        match self {
            Self::Known { file, .. } => Some(file),
            Self::Unknown(_) => None,
        }
    }

    /// Why it is not known.
    pub const fn doubt(&self) -> Option<Doubt> {
        match self {
            Self::Known { .. } => None,
            Self::Unknown(doubt) => Some(*doubt),
        }
    }

    /// Whether both say the same: then they are one for notice.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known { rules, .. }, Self::Known { rules: others, .. }) => rules == others,
            _ => self == other,
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRow {
    /// What was served.
    pub version: RowVersion,
    /// When it came into force by the time of day.
    since: SystemTime,
    /// Whether that date, to the second, tells it from every other version of the host.
    is_dated: bool,
    /// When it was replaced, on the clock that notice runs by; nothing while it is served. Members of a fleet say how long ago
    /// that was.
    pub until: Option<Duration>,
}

impl HostRow {
    /// When it was replaced.
    pub fn until(&self) -> Option<NoticeTime> {
        self.until.map(NoticeTime)
    }

    /// Dates of HTTP have whole seconds (RFC 9110 §5.6.7).
    fn second(&self) -> u64 {
        self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
    }
}

/// The rows of the hosts of one pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRows {
    /// All of them.
    pub rows: Vec<HostRow>,
    /// The latest date of any version there ever was, in whole seconds.
    latest: u64,
}

impl HostRows {
    /// The versions that are served.
    pub fn open(&self) -> impl Iterator<Item = &RowVersion> {
        self.rows.iter().filter(|row| row.until.is_none()).map(|row| &row.version)
    }

    /// What was served last, as far as it is known.
    pub fn last_file(&self) -> Option<&FileDigest> {
        let known = self.rows.iter().filter(|row| row.version.file().is_some());
        known.max_by_key(|row| row.until.unwrap_or(Duration::MAX))?.version.file()
    }

    /// The version is served from now on.
    pub fn serve(&mut self, version: &RowVersion, now: SystemTime) {
        let is_first = !self.rows.iter().any(|row| row.until.is_none());
        let last = self.rows.iter().filter_map(|row| row.until).max();
        // A process that is started again goes on with what the last one served.
        let goes_on = |row: &HostRow| row.until.is_none() || is_first && row.until == last;
        if let Some(row) = self.rows.iter_mut().find(|row| row.version == *version && goes_on(row)) {
            row.until = None;
            return;
        }
        self.rows.retain(|row| !row.version.is_same(version));
        let mut row = HostRow { version: version.clone(), since: now, is_dated: true, until: None };
        // Within one second, or after a step of the clock, it may bear the date of an earlier one.
        row.is_dated = row.second() > self.latest;
        self.latest = self.latest.max(row.second());
        self.rows.push(row);
    }

    /// What `is_served` does not hold for is not served any more; `true` where anything was.
    pub fn close(&mut self, is_served: impl Fn(&RowVersion) -> bool, now: NoticeTime) -> bool {
        let ended = self.rows.iter_mut().filter(|row| row.until.is_none() && !is_served(&row.version));
        ended.map(|row| row.until = Some(now.0)).count() > 0
    }

    /// Something that nobody knows was served until then, or still is.
    pub fn doubt(&mut self, doubt: Doubt, until: Option<NoticeTime>) {
        let (version, since) = (RowVersion::Unknown(doubt), SystemTime::UNIX_EPOCH);
        self.add_row(&HostRow { version, since, is_dated: false, until: until.map(|until| until.0) });
    }

    /// Nothing is unknown of what was served before the gateway; `true` where something was.
    pub fn forget_before(&mut self) -> bool {
        let rows = self.rows.len();
        self.rows.retain(|row| row.version.doubt() != Some(Doubt::Before));
        self.rows.len() < rows
    }

    fn add_row(&mut self, row: &HostRow) {
        match self.rows.iter_mut().find(|known| known.version.is_same(&row.version)) {
            Some(known) if known.until.is_none() || row.until.is_some() && row.until <= known.until => {}
            Some(known) => known.clone_from(row),
            None => self.rows.push(row.clone()),
        }
    }

    /// Takes up what others say of the same hosts: of each version until when the last one served it.
    pub fn add(&mut self, other: &Self) {
        let is_of_other = |row: &HostRow| {
            other.rows.iter().any(|one| one.version != row.version && one.second() == row.second())
        };
        self.rows.iter_mut().for_each(|row| row.is_dated &= !is_of_other(row));
        other.rows.iter().for_each(|row| self.add_row(row));
        self.latest = self.latest.max(other.latest);
    }

    /// Lets go of what nobody can hold any more, and of what finds no room.
    pub fn prune(&mut self, period: NoticePeriod, now: NoticeTime) {
        self.rows.retain(|row| row.until().is_none_or(|until| period.covers(until, now)));
        let is_former = |row: &HostRow| row.until.is_some() && row.version.file().is_some();
        while self.rows.iter().filter(|row| is_former(row)).count() > FORMER_VERSIONS {
            let former = self.rows.iter().enumerate().filter(|(_, row)| is_former(row));
            let Some((oldest, _)) = former.min_by_key(|(_, row)| row.until) else { return };
            let until = self.rows.remove(oldest).until();
            self.doubt(Doubt::Dropped, until);
        }
    }

    /// What visitors are judged by to whom `current` is served, as far as these rows know. Without a row that says that it is
    /// served, it cannot be held against anybody.
    pub fn rules(
        &self,
        current: &Arc<RobotsVersion>,
        as_of: NoticeTime,
        mut compiled: impl FnMut(&FileDigest) -> KnownVersion,
    ) -> SiteRules {
        let is_own =
            |row: &&HostRow| matches!(row.version, RowVersion::Known { rules, .. } if rules == current.rules);
        let own = self.rows.iter().find(is_own).filter(|row| row.until.is_none());
        let mut version = |row: &HostRow| match &row.version {
            RowVersion::Known { file, .. } => compiled(file),
            RowVersion::Unknown(doubt) => Err(*doubt),
        };
        let others = self.rows.iter().filter(|row| !is_own(row));
        let mut former: Vec<FormerVersion> =
            others.map(|row| FormerVersion { version: version(row), until: row.until() }).collect();
        // First what others still serve, then the newest.
        former.sort_by_key(|row| std::cmp::Reverse(row.until.unwrap_or(NoticeTime(Duration::MAX))));
        SiteRules {
            since: own.map(|row| row.since),
            is_dated: own.is_some_and(|row| row.is_dated),
            former,
            as_of,
            ..SiteRules::new(Arc::clone(current))
        }
    }

    /// Whether anybody could hold something else than what is served from now on.
    fn has_past(&self) -> bool {
        self.rows.len() > 1 || self.rows.iter().any(|row| row.until.is_some())
    }
}

/// The patterns that could be those of a host, or of the hosts of a pattern: the most specific first.
pub fn patterns(of: &str) -> impl Iterator<Item = String> + '_ {
    let own = (of != EVERY_OTHER).then(|| of.to_owned());
    let name = of.strip_prefix("*.").unwrap_or(of);
    let above = std::iter::successors(name.split_once('.'), |(_, rest)| rest.split_once('.'));
    let above = above.map(|(_, domain)| format!("*.{domain}"));
    own.into_iter().chain(above).chain([EVERY_OTHER.to_owned()])
}

/// What a process serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedVersions {
    /// By pattern: `example.org`, `*.example.org`, or `*` for every other host.
    pub at: BTreeMap<Box<str>, RowVersion>,
    /// What hosts get that were served once and that nobody names any more.
    pub elsewhere: Option<RowVersion>,
}

impl ServedVersions {
    /// What is served to the hosts of a pattern.
    pub fn of(&self, pattern: &str) -> Option<&RowVersion> {
        patterns(pattern).find_map(|pattern| self.at.get(&*pattern)).or(self.elsewhere.as_ref())
    }
}

/// The rows of all hosts that somebody serves, by pattern. Hosts that no pattern ever told apart share the rows of the most
/// specific one that is theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRows(pub BTreeMap<Box<str>, HostRows>);

impl PastRows {
    /// The rows of the hosts of a pattern.
    pub fn of(&self, pattern: &str) -> Option<&HostRows> {
        patterns(pattern).find_map(|pattern| self.0.get(&*pattern))
    }

    /// Tells the hosts of a pattern apart. They keep what was served to them so far.
    pub fn tell_apart(&mut self, pattern: &str) -> &mut HostRows {
        let known = || self.of(pattern).cloned().unwrap_or_default();
        let rows = if self.0.contains_key(pattern) { HostRows::default() } else { known() };
        self.0.entry(pattern.into()).or_insert(rows)
    }

    /// These versions are served from now on, beside those that are.
    pub fn serve(&mut self, served: &ServedVersions, now: SystemTime) {
        for pattern in served.at.keys() {
            self.tell_apart(pattern);
        }
        for (pattern, rows) in &mut self.0 {
            served.of(pattern).into_iter().for_each(|version| rows.serve(version, now));
        }
    }

    /// What `is_served` does not hold for is not served any more; `true` where anything was.
    pub fn close(&mut self, is_served: impl Fn(&str, &RowVersion) -> bool, now: NoticeTime) -> bool {
        let mut is_other = false;
        for (pattern, rows) in &mut self.0 {
            is_other |= rows.close(|version| is_served(pattern, version), now);
        }
        is_other
    }

    /// Takes up what another one says.
    pub fn add(&mut self, other: &Self) {
        for pattern in other.0.keys() {
            self.tell_apart(pattern);
        }
        for (pattern, rows) in &mut self.0 {
            if let Some(others) = other.of(pattern) {
                rows.add(others);
            }
        }
    }

    /// Something that nobody knows was served to everybody until then.
    pub fn doubt(&mut self, doubt: Doubt, until: NoticeTime) {
        self.tell_apart(EVERY_OTHER);
        self.0.values_mut().for_each(|rows| rows.doubt(doubt, Some(until)));
    }

    /// Lets go of what nobody can hold any more, and of hosts that nobody names where nothing is lost by it.
    pub fn prune(&mut self, period: NoticePeriod, now: NoticeTime, is_named: impl Fn(&str) -> bool) {
        self.0.values_mut().for_each(|rows| rows.prune(period, now));
        let past = self.0.iter().filter(|(_, rows)| rows.has_past()).map(|(pattern, _)| pattern.clone());
        let past: BTreeSet<Box<str>> = past.collect();
        // Without rows of its own a host has the past of those that it shares rows with.
        let has_past = |pattern: &str| patterns(pattern).any(|pattern| past.contains(&*pattern));
        self.0.retain(|pattern, _| is_named(pattern) || has_past(pattern));
    }

    /// Has everything end at another time, or by another reckoning.
    pub fn reckon(&mut self, end: impl Fn(Option<Duration>) -> Option<Duration>) {
        self.0.values_mut().flat_map(|host| &mut host.rows).for_each(|row| row.until = end(row.until));
    }

    /// The robots.txt files that are named.
    pub fn files(&self) -> BTreeSet<&FileDigest> {
        self.rows().filter_map(|row| row.version.file()).collect()
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &HostRow> {
        self.0.values().flat_map(|rows| &rows.rows)
    }
}
