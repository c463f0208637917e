//! Fair notice over time: what hosts were given before, by this process and by others.
//!
//! A crawler's copy does not know that the gateway was started anew (RFC 9309 §2.4). So a version has its row on the disk
//! before it is served, and its row ends when it is certain that it is served no more. What a host's visitors could hold is
//! read out of the rows. Where they cannot be written nobody is accused.

mod fleet;
mod giving;
mod keeping;
mod looking;

use super::Policy;
use crate::config::Config;
use crate::decide::{Doubt, NoticePeriod, NoticeTime, RobotsVersion};
use crate::record::{
    FileDigest, Filter, HOLDS, HostRows, KeptSpans, NoticeClock, PastRows, ROWS_FOLDER, ReadBook,
    RowDocument, RowFolder, RowVersion, RowsError, RowsMemory, SEEN, ServedVersions, StoreErrorKind,
    StoreReader, process_name,
};
use crate::robots::ParseLimits;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, SystemTime};

use giving::file_of;
pub(super) use giving::{served, version_of};
pub use keeping::{SiteNotice, UnknownSpan};

/// The past of all hosts, and the folder it is in. Whoever uses it may wait for a disk.
#[derive(Debug)]
pub struct NoticeHistory {
    path: PathBuf,
    memory: RowsMemory,
    folder: Option<RowFolder>,
    /// What all processes say, and the clock that notice runs by.
    pub(crate) own: RowDocument,
    /// Why there are no rows, as it was told.
    fault: Option<String>,
    compiled: HashMap<FileDigest, Arc<RobotsVersion>>,
    /// What versions were compiled under.
    limits: ParseLimits,
    notice: Duration,
    /// What the fleet is to know of before it is served.
    announced: ServedVersions,
    /// Rises when something comes to be served, or is about to be.
    pub(super) opened: u64,
    /// Whether rows may be open of what is served no more.
    has_former: bool,
    /// Until when the policy in force knows all that others serve, in microseconds.
    known_until: Arc<AtomicU64>,
    /// Whether others wrote something since the policy in force was last given its past.
    has_news: bool,
    /// When others wrote something last, or ended.
    news: NoticeTime,
    /// Whether this process has said that it serves nothing any more.
    is_closed: bool,
}

/// What the store of this configuration remembers of rows, and the latest time that a read bears. After a power cut, or a kill
/// before the machine was started anew, that is later than the last rows: the clock goes on from it, or what ends from now on
/// would seem to have ended before such a read. Who has read what is taken up.
fn remembered(config: &Config, book: &ReadBook) -> (RowsMemory, NoticeTime) {
    let found = StoreReader::open(&config.store_path())
        .and_then(|reader| Ok((reader.reads(&Filter::default())?, reader.rows_noted()?)));
    let memory = match found {
        Ok((reads, noted)) => {
            book.restore(&reads);
            let latest = reads.iter().map(|read| read.read().as_of).max().unwrap_or_default();
            return (noted.map_or(RowsMemory::Nothing, RowsMemory::Noted), latest);
        }
        Err(error) if error.kind() == StoreErrorKind::Missing => RowsMemory::Nothing,
        Err(error) => {
            tracing::warn!(
                "the store cannot say who has read robots.txt, nor whether it is known what was served before: {error}"
            );
            RowsMemory::Unreadable
        }
    };
    (memory, NoticeTime::default())
}

const fn limits(config: &Config) -> ParseLimits {
    ParseLimits { max_bytes: config.robots_max_size.0 }
}

impl NoticeHistory {
    /// Opens the rows of this configuration, or begins them, and takes up who has read what. Before the store is opened to be
    /// written: a broken one is set aside then, and what it remembers with it.
    pub fn open(config: &Config, reads: &ReadBook) -> Self {
        Self::new(config, remembered(config, reads))
    }

    fn new(config: &Config, (memory, latest): (RowsMemory, NoticeTime)) -> Self {
        let remembered = if let RowsMemory::Noted(noted) = memory { noted } else { NoticeTime::default() };
        let mut this = Self {
            path: config.state_dir.join(ROWS_FOLDER),
            memory,
            folder: None,
            own: RowDocument {
                by: process_name(),
                clock: NoticeClock::going_on_from(latest.max(remembered)),
                ..RowDocument::default()
            },
            fault: None,
            compiled: HashMap::new(),
            limits: limits(config),
            notice: *config.notice,
            announced: ServedVersions::default(),
            opened: 1,
            has_former: false,
            known_until: Arc::default(),
            has_news: false,
            news: NoticeTime::default(),
            is_closed: false,
        };
        if let Err(error) = this.open_folder() {
            this.fail(&error);
        }
        if config.fleet.is_none() {
            // What the members of one served to which this gateway does not belong any more is replaced.
            let now = this.own.clock.now();
            for member in this.own.members.values_mut() {
                member.close(|_, _| false, now);
            }
            this.own.stamps.clear();
        }
        this
    }

    fn open_folder(&mut self) -> Result<(), RowsError> {
        let opened = RowFolder::open(&self.path, self.memory, self.own.clock, self.own.by.clone());
        let (folder, mut own, is_lost) = opened.map_err(|source| self.error(source))?;
        if is_lost {
            // Other processes may go on to serve what only the lost rows told, and may end before they have written it again.
            own.hosts.doubt(Doubt::Lost, own.clock.now().after(SEEN));
            tracing::error!(
                "{}: what was served before is lost in part: until notice is over nobody is accused",
                self.path.display()
            );
        }
        (self.own, self.folder, self.has_news) = (own, Some(folder), true);
        Ok(())
    }

    fn error(&self, source: io::Error) -> RowsError {
        RowsError { path: self.path.clone(), source }
    }

    /// Tells once that rows cannot be read or written.
    fn fail(&mut self, error: &RowsError) {
        let fault = Some(error.to_string());
        if self.fault != fault {
            tracing::error!("{error}; until then no violations are counted");
        }
        self.fault = fault;
    }

    /// Writes down what `policy` serves, beside what is served already, and gives the policy its hosts' past.
    ///
    /// `true` where others are to see it before it is served: they judge by what they know of. Then it is adopted once more,
    /// with what they wrote meanwhile.
    ///
    /// # Errors
    /// When it cannot be written. The policy may not be served then.
    pub(super) fn adopt(
        &mut self,
        policy: &mut Policy,
        previous: Option<&Policy>,
    ) -> Result<bool, RowsError> {
        // The same past under other bounds, or for another catalogue, is compiled anew.
        let limits = limits(&policy.config);
        if self.limits != limits
            || previous.is_some_and(|old| !Arc::ptr_eq(&old.identifier, &policy.identifier))
        {
            self.compiled.clear();
        }
        (self.limits, self.notice) = (limits, *policy.config.notice);
        for site in policy.sites() {
            self.compiled.insert(file_of(site), Arc::clone(site.rules.current()));
        }
        let is_unseen = self.record(policy)? && self.may_have_company();
        self.give_past(policy);
        Ok(is_unseen)
    }

    /// The first policy of a process. Where nothing can be written it is served all the same, and accuses nobody.
    pub fn begin(&mut self, mut policy: Policy) -> Policy {
        if policy.config.fleet.is_some() {
            self.keep_last(&mut policy);
        }
        let adopted = loop {
            match self.adopt(&mut policy, None) {
                Ok(true) => thread::sleep(HOLDS),
                adopted => break adopted,
            }
        };
        if let Err(error) = adopted {
            self.folder = None;
            self.fail(&error);
        }
        self.give(&mut policy);
        self.hear();
        policy
    }

    /// Gives a policy that serves what is served already the past as it is now. It comes into force.
    pub(super) fn give(&mut self, policy: &mut Policy) {
        self.give_past(policy);
        self.has_news = false;
    }

    /// Notes the time for the start after the next boot, and which hosts' robots.txt other proxies pass on.
    pub(super) fn note_time(&mut self, robots_seen: KeptSpans) {
        if !self.is_closed {
            // From an earlier time notice only takes longer.
            let _ = self.write(RowDocument { robots_seen, ..self.own.clone() });
        }
    }

    /// Notes that this process serves nothing any more.
    pub fn close(&mut self) {
        let mut next = self.own.clone();
        next.hosts.close(|_, _| false, self.own.clock.now());
        // Without this the next process finds out by the lock; by what the store remembers, where nothing says what was served.
        if self.write(next).is_err() && self.folder.is_none() {
            self.memory = RowsMemory::Noted(self.own.clock.now());
        }
        (self.folder, self.is_closed) = (None, true);
    }

    /// When rows were written last, as the store is to remember; a later time while something is served and none can be.
    pub fn last_noted(&self) -> Option<NoticeTime> {
        match self.memory {
            _ if self.folder.is_none() && !self.is_closed => Some(self.own.clock.now()),
            RowsMemory::Noted(noted) => Some(noted),
            RowsMemory::Nothing | RowsMemory::Unreadable => None,
        }
    }

    const fn period(&self) -> NoticePeriod {
        NoticePeriod { notice: self.notice, settle: Duration::ZERO }
    }

    /// What all of these say of the hosts of a pattern.
    fn rows<'a>(pattern: &str, all: impl Iterator<Item = &'a PastRows>) -> HostRows {
        let mut rows = HostRows::default();
        all.filter_map(|one| one.of(pattern)).for_each(|one| rows.add(one));
        rows
    }

    /// Writes what the policy serves, beside what is served already; `true` where that is new.
    fn record(&mut self, policy: &Policy) -> Result<bool, RowsError> {
        if self.is_closed {
            return Ok(false);
        }
        if self.folder.is_none() {
            self.open_folder()?;
        }
        self.refresh()?;
        let is_written = self.folder.as_ref().is_some_and(RowFolder::is_written);
        let (served, mut next) = (served(policy), self.own.clone());
        let now = self.own.clock.now();
        let all = served.at.keys().map(|pattern| &**pattern).chain(self.named_beside());
        for pattern in all.filter(|pattern| !self.own.hosts.0.contains_key(*pattern)) {
            let mut rows = Self::rows(pattern, self.own.processes());
            let known = Self::rows(pattern, self.own.processes().chain(self.own.members.values()));
            if known.rows.iter().all(|row| row.version.file().is_none()) {
                let lost = known.rows.iter().find_map(|row| row.version.doubt());
                rows.doubt(lost.unwrap_or(Doubt::Before), Some(now));
            }
            next.hosts.0.insert(pattern.into(), rows);
        }
        next.hosts.serve(&served, SystemTime::now());
        if next == self.own && is_written {
            return Ok(false);
        }
        let known = self.own.files();
        for file in policy.sites().iter().filter_map(|site| site.robots.as_ref()) {
            if !is_written || !known.contains(&Some(file.digest.clone())) {
                self.keep(&file.digest, &file.bytes)?;
            }
        }
        self.prune(&mut next, &served);
        let is_open = |pattern: &str, version| {
            self.own.hosts.of(pattern).is_some_and(|rows| rows.open().any(|open| open == version))
        };
        let mut said = next.hosts.0.keys().filter_map(|pattern| Some((pattern, served.of(pattern)?)));
        let is_news = !is_written || said.any(|(pattern, version)| !is_open(pattern, version));
        self.write(next)?;
        self.has_former = true;
        self.opened += u64::from(is_news);
        Ok(is_news)
    }

    fn keep(&self, digest: &str, bytes: &[u8]) -> Result<(), RowsError> {
        let kept = self.folder.as_ref().map_or(Ok(()), |folder| folder.keep(digest, bytes));
        kept.map_err(|source| self.error(source))
    }

    /// The hosts that another process has a file for. Where no site of this process names them, they get none here.
    fn named_beside(&self) -> impl Iterator<Item = &str> {
        let all = self.own.others.values().flat_map(|other| &other.0);
        let has_file =
            |rows: &HostRows| rows.open().any(|version| version.file().is_some_and(Option::is_some));
        all.filter(move |(_, rows)| has_file(rows)).map(|(pattern, _)| &**pattern)
    }

    fn prune(&self, next: &mut RowDocument, served: &ServedVersions) {
        let (period, now) = (self.period(), self.own.clock.now());
        let beside: BTreeSet<&str> = self.named_beside().collect();
        let is_named = |name: &str| served.at.contains_key(name) || self.announced.at.contains_key(name);
        next.hosts.prune(period, now, |name| is_named(name) || beside.contains(name));
        next.members.retain(|_, member| {
            member.prune(period, now, |_| true);
            member.rows().next().is_some()
        });
        next.waived.retain(|noted| period.covers(noted.at, now));
    }

    fn write(&mut self, mut next: RowDocument) -> Result<(), RowsError> {
        let missing = || io::Error::other("it could not be opened");
        let written = self.folder.as_mut().ok_or_else(missing).and_then(|folder| folder.write(&mut next));
        let is_new = written.map_err(|source| self.error(source))?;
        (self.memory, self.own, self.fault) = (RowsMemory::Noted(next.noted), next, None);
        self.note_news(is_new);
        Ok(())
    }

    /// Ends the rows of what is served no more, now that `policy` is in force; `true` where there are any.
    pub(super) fn end_former(&mut self, policy: &Policy) -> bool {
        let (mut next, served) = (self.own.clone(), served(policy));
        if self.announced.at.iter().all(|(host, version)| served.at.get(host) == Some(version)) {
            self.announced = ServedVersions::default();
        }
        let is_served = |host: &str, version: &RowVersion| {
            served.of(host) == Some(version) || self.announced.of(host) == Some(version)
        };
        // What others served that have ended since may have become one with a row of this process.
        let ended = policy.in_force().max(self.news);
        let is_ended = self.folder.is_some() && next.hosts.close(is_served, ended);
        if is_ended {
            self.prune(&mut next, &served);
        }
        // Where it cannot be written, they go on to excuse until it can.
        self.has_former = is_ended && self.write(next).is_err();
        is_ended
    }
}

#[cfg(test)]
mod tests;
