//! Rows: what a host was given, from when until when.
//!
//! A version is replaced when nobody serves it any more: the end of a row is never earlier than the truth. Versions that say
//! the same are one. What nobody knows stands among them as something unknown, and excuses from an accusation until its
//! notice is over.

use super::whole_micros;
use crate::decide::{Doubt, KnownVersion, NoticePeriod, NoticeTime, RobotsVersion, SiteRules};
use crate::decide::{FormerVersion, RulesId};
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVersion {
    /// A file, or none.
    Known {
        /// What it says ([`RulesId`]): by this versions are told apart.
        rules: Box<str>,
        /// Its bytes.
        file: FileDigest,
    },
    /// Something unknown, and why it is ([`Doubt`]).
    Unknown(Box<str>),
}

impl RowVersion {
    /// A file that says this.
    pub fn known(rules: RulesId, file: FileDigest) -> Self {
        Self::Known { rules: rules.to_string().into(), file }
    }

    /// Something that nobody knows.
    pub fn unknown(doubt: Doubt) -> Self {
        Self::Unknown(doubt.to_string().into())
    }

    /// It in one word, as members of a fleet tell each other: a digest, nothing for no file, or why it is not known.
    pub fn word(&self) -> &str {
        match self {
            Self::Known { file, .. } => file.as_deref().unwrap_or_default(),
            Self::Unknown(doubt) => doubt,
        }
    }

    /// Its file; `None` where that is not known.
    pub const fn file(&self) -> Option<&FileDigest> {
        match self {
            Self::Known { file, .. } => Some(file),
            Self::Unknown(_) => None,
        }
    }

    /// Why it is not known.
    pub fn doubt(&self) -> Option<Doubt> {
        match self {
            Self::Known { .. } => None,
            Self::Unknown(word) => Some(word.parse().unwrap_or(Doubt::Lost)),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
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
    /// When it came into force by the time of day, in microseconds.
    since: u64,
    /// Whether that date, to the second, tells it from every other version of the host.
    is_dated: bool,
    /// When it was replaced, on the clock that notice runs by; nothing while it is served.
    until: Option<Duration>,
}

impl HostRow {
    /// When it was replaced.
    pub fn until(&self) -> Option<NoticeTime> {
        self.until.map(NoticeTime)
    }

    fn since(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.since)
    }

    /// Dates of HTTP have whole seconds (RFC 9110 §5.6.7).
    const fn second(&self) -> u64 {
        self.since / 1_000_000
    }
}

/// The rows of the hosts of one pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRows {
    rows: Vec<HostRow>,
    /// The latest date of any version there ever was, in whole seconds.
    latest: u64,
}

impl HostRows {
    /// All of them.
    pub fn rows(&self) -> &[HostRow] {
        &self.rows
    }

    /// The versions that are served.
    pub fn open(&self) -> impl Iterator<Item = &RowVersion> {
        self.rows.iter().filter(|row| row.until.is_none()).map(|row| &row.version)
    }

    /// What was served last, as far as it is known.
    pub fn last_file(&self) -> Option<&FileDigest> {
        let known = self.rows.iter().filter(|row| row.version.file().is_some());
        known.max_by_key(|row| row.until.unwrap_or(Duration::MAX))?.version.file()
    }

    /// The version is served from now on; `beside` are the rows of others for the same hosts.
    pub fn serve(&mut self, version: &RowVersion, beside: &Self, now: SystemTime) {
        let is_open = |row: &&HostRow| row.until.is_none();
        let latest = self.latest.max(beside.latest);
        let other = beside.rows.iter().filter(is_open).find(|row| row.version == *version);
        let place = self.rows.iter().position(|row| row.version.is_same(version));
        let is_first = !self.rows.iter().any(|row| row.until.is_none());
        let last = self.rows.iter().filter_map(|row| row.until).max();
        let goes_on = place.and_then(|at| self.rows.get(at)).is_some_and(|row| {
            // A process that is started again goes on with what the last one served.
            (row.until.is_none() || is_first && row.until == last) && row.version == *version
        });
        if let Some(row) = place.filter(|_| goes_on).and_then(|at| self.rows.get_mut(at)) {
            row.until = None;
            return;
        }
        place.map(|at| self.rows.remove(at));
        let (since, is_dated) = if let Some(row) = other {
            (row.since, row.is_dated && row.second() == latest)
        } else {
            let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            (whole_micros(since), since.as_secs() > latest)
        };
        let row = HostRow { version: version.clone(), since, is_dated, until: None };
        self.latest = latest.max(row.second());
        if !is_dated {
            // Within one second, or after a step of the clock, it may bear the date of an earlier one. Then no date tells
            // versions of this host apart any more.
            self.rows.iter_mut().for_each(|row| row.is_dated = false);
        }
        self.rows.push(row);
    }

    /// What `is_served` does not hold for is not served any more; `true` where anything was.
    pub fn close(&mut self, is_served: impl Fn(&RowVersion) -> bool, now: NoticeTime) -> bool {
        let ended = self.rows.iter_mut().filter(|row| row.until.is_none() && !is_served(&row.version));
        ended.map(|row| row.until = Some(now.0)).count() > 0
    }

    /// Something that nobody knows was served until then, or still is.
    pub fn doubt(&mut self, doubt: Doubt, until: Option<NoticeTime>) {
        self.served(RowVersion::unknown(doubt), SystemTime::UNIX_EPOCH, until);
    }

    /// The version was served by somebody from then until then, or still is.
    pub fn served(&mut self, version: RowVersion, since: SystemTime, until: Option<NoticeTime>) {
        let since = whole_micros(since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        self.add_row(&HostRow { version, since, is_dated: false, until: until.map(|until| until.0) });
    }

    /// Everything has been known since then, and nothing of the time before.
    pub fn know_since(&mut self, since: NoticeTime) {
        self.forget_before();
        self.doubt(Doubt::Before, Some(since));
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
        other.rows.iter().for_each(|row| self.add_row(row));
        if self.latest > 0 && other.latest > 0 && *self != *other {
            let seconds: Vec<u64> = self.rows.iter().map(HostRow::second).collect();
            let is_alone = |second: u64| seconds.iter().filter(|other| **other == second).count() == 1;
            self.rows.iter_mut().for_each(|row| row.is_dated &= is_alone(row.second()));
        }
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
        let said: Box<str> = current.rules.to_string().into();
        let is_own =
            |row: &&HostRow| matches!(&row.version, RowVersion::Known { rules, .. } if *rules == said);
        let own = self.rows.iter().find(is_own).filter(|row| row.until.is_none());
        let others = self.rows.iter().filter(|row| !is_own(row));
        let mut former: Vec<FormerVersion> = others
            .map(|row| FormerVersion {
                version: row
                    .version
                    .file()
                    .map_or_else(|| Err(row.version.doubt().unwrap_or(Doubt::Lost)), &mut compiled),
                since: row.since(),
                until: row.until(),
            })
            .collect();
        // First what others still serve, then the newest.
        former.sort_by_key(|row| std::cmp::Reverse(row.until.unwrap_or(NoticeTime(Duration::MAX))));
        SiteRules {
            since: own.map(HostRow::since),
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

    fn shift(&mut self, shifted: impl Fn(NoticeTime) -> NoticeTime) {
        self.rows.iter_mut().for_each(|row| row.until = row.until().map(&shifted).map(|until| until.0));
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

/// What somebody serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedVersions {
    /// By pattern: `example.org`, `*.example.org`, or `*` for every other host.
    pub at: BTreeMap<Box<str>, BTreeSet<RowVersion>>,
    /// What hosts get that were served once and that nobody names any more.
    pub elsewhere: Option<RowVersion>,
}

impl ServedVersions {
    /// What is served to the hosts of a pattern.
    fn of<'a>(&'a self, pattern: &str) -> impl Iterator<Item = &'a RowVersion> {
        let found = patterns(pattern).find_map(|pattern| self.at.get(&*pattern));
        let elsewhere = self.elsewhere.iter().filter(move |_| found.is_none());
        found.into_iter().flatten().chain(elsewhere)
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
    pub fn serve(&mut self, served: &ServedVersions, beside: impl Fn(&str) -> HostRows, now: SystemTime) {
        for pattern in served.at.keys() {
            self.tell_apart(pattern);
        }
        for (pattern, rows) in &mut self.0 {
            let beside = beside(pattern);
            served.of(pattern).for_each(|version| rows.serve(version, &beside, now));
        }
    }

    /// Nothing but these is served any more; `true` where that was otherwise.
    pub fn close(&mut self, served: &ServedVersions, now: NoticeTime) -> bool {
        let mut is_other = false;
        for (pattern, rows) in &mut self.0 {
            is_other |= rows.close(|version| served.of(pattern).any(|one| one == version), now);
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

    /// The same by another clock.
    pub fn shift(&mut self, shifted: impl Fn(NoticeTime) -> NoticeTime + Copy) {
        self.0.values_mut().for_each(|rows| rows.shift(shifted));
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &HostRow> {
        self.0.values().flat_map(|rows| &rows.rows)
    }
}
