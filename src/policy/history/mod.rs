//! Fair notice over time: what hosts were given before, by this process and by others.
//!
//! A crawler's copy does not know that the gateway was started anew (RFC 9309 §2.4). So a version has its row on the disk
//! before it is served, and its row ends when it is certain that it is served no more. What a host's visitors could hold is
//! read out of the rows. Where they cannot be written nobody is accused.

mod fleet;
mod giving;
mod keeping;
mod looking;
mod remembered;

use super::Policy;
use crate::config::Config;
use crate::decide::{Doubt, NoticePeriod, NoticeTime, RobotsVersion};
use crate::record::{
    FileDigest, HOLDS, HostRows, NoticeClock, PastRows, ROWS_FOLDER, RowDocument, RowFolder, RowVersion,
    RowsError, RowsMemory, SEEN, ServedVersions, process_name,
};
use crate::robots::ParseLimits;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, SystemTime};

use giving::file_of;
pub(super) use giving::{served, served_by};
pub use keeping::{BindNowError, SiteNotice, UnknownSpan};
pub use remembered::take_up_reads;

/// The past of all hosts, and the folder it is in.
///
/// Whoever has it locked may wait for a disk, and holds the turn to reload meanwhile. What is told to an operator waits
/// for neither.
#[derive(Debug)]
pub struct NoticeHistory {
    state: Mutex<HistoryState>,
    /// The fault that was told last.
    told: Mutex<Option<String>>,
}

#[derive(Debug)]
struct HistoryState {
    path: PathBuf,
    memory: RowsMemory,
    folder: Option<RowFolder>,
    /// What all processes say, and the clock that notice runs by.
    own: RowDocument,
    /// Why there are no rows.
    fault: Option<String>,
    compiled: HashMap<FileDigest, Arc<RobotsVersion>>,
    /// What versions were compiled under.
    limits: ParseLimits,
    notice: Duration,
    /// What ended later was not known to have when the policy in force was built.
    as_of: NoticeTime,
    /// What the fleet is to know of before it is served.
    announced: ServedVersions,
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

impl NoticeHistory {
    /// Opens the rows of this configuration, or begins them. Before the store is opened to be written: a broken one is set
    /// aside then, and what it remembers of rows with it.
    pub fn open(config: &Config) -> Self {
        let mut state = HistoryState::new(config, remembered::memory(config));
        if config.fleet.is_none() {
            state.leave_fleet();
        }
        Self { told: Mutex::new(state.fault.clone()), state: Mutex::new(state) }
    }

    /// Writes down what `policy` serves, beside what is served already, and gives the policy its hosts' past.
    ///
    /// `true` where others are to see it before it is served: they judge by what they know of. Then it is adopted once more,
    /// with what they wrote meanwhile.
    ///
    /// # Errors
    /// When it cannot be written. The policy may not be served then.
    pub(super) fn adopt(&self, policy: &mut Policy, previous: Option<&Policy>) -> Result<bool, RowsError> {
        let mut state = self.state.lock();
        let is_renewed = previous.is_some_and(|old| !Arc::ptr_eq(&old.identifier, &policy.identifier));
        state.catch_up_with(policy, is_renewed);
        let is_unseen = state.record(policy)? && state.may_have_company();
        state.give(policy);
        Ok(is_unseen)
    }

    /// Ends the rows of what is served no more, now that `policy` is in force; `true` where there are any.
    pub(super) fn end_former(&self, policy: &Policy) -> bool {
        self.state.lock().end_former(policy)
    }

    /// The first policy of a process. Where nothing can be written it is served all the same, and accuses nobody.
    pub fn begin(&self, mut policy: Policy) -> Policy {
        if policy.config.fleet.is_some() {
            self.state.lock().keep_last(&mut policy);
        }
        let adopted = loop {
            match self.adopt(&mut policy, None) {
                Ok(true) => thread::sleep(HOLDS),
                adopted => break adopted,
            }
        };
        let mut state = self.state.lock();
        if let Err(error) = adopted {
            (state.folder, state.fault) = (None, Some(error.to_string()));
        }
        state.hear();
        state.give(&mut policy);
        // What was heard until now, this policy knows.
        state.has_news = false;
        state.hear();
        drop(state);
        policy
    }

    /// Gives a policy that serves what is served already the past as it is now. It comes into force.
    pub(super) fn give(&self, policy: &mut Policy) {
        let mut state = self.state.lock();
        state.give(policy);
        state.has_news = false;
    }

    /// Looks at what other processes wrote, whether they are still there, and whether rows can be written again; `true`
    /// where something is new.
    pub(super) fn look(&self, policy: &Policy) -> bool {
        self.state.lock().look(policy)
    }

    /// Sees what other processes wrote; `true` where the policy in force does not know of it.
    pub(super) fn hear(&self) -> bool {
        self.state.lock().hear()
    }

    /// Notes the time for the start after the next boot.
    pub(super) fn note_time(&self) {
        let mut state = self.state.lock();
        if !state.is_closed {
            let next = state.own.clone();
            // From an earlier time notice only takes longer.
            let _ = state.write(next);
        }
    }

    /// Notes that this process serves nothing any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        let is_unsaid = state.folder.is_none();
        if is_unsaid {
            // Nothing says yet what was served.
            state.open();
            let now = state.own.clock.now();
            state.own.hosts.doubt(Doubt::Lost, now);
        }
        let mut next = state.own.clone();
        next.hosts.close(|_, _| false, state.own.clock.now());
        // Without this the next process finds out by the lock.
        if state.write(next).is_err() && is_unsaid {
            state.memory = RowsMemory::Noted(state.own.clock.now());
        }
        (state.folder, state.is_closed) = (None, true);
    }

    /// When rows were written last, as the store is to remember; a later time while something is served and none can be.
    pub fn last_noted(&self) -> Option<NoticeTime> {
        let state = self.state.lock();
        if state.folder.is_none() && !state.is_closed {
            return Some(state.own.clock.now());
        }
        match state.memory {
            RowsMemory::Noted(noted) => Some(noted),
            RowsMemory::Nothing | RowsMemory::Unreadable => None,
        }
    }
}

const fn limits(config: &Config) -> ParseLimits {
    ParseLimits { max_bytes: config.robots_max_size }
}

impl HistoryState {
    fn new(config: &Config, (memory, latest): (RowsMemory, NoticeTime)) -> Self {
        let remembered = if let RowsMemory::Noted(noted) = memory { noted } else { NoticeTime::default() };
        let mut state = Self {
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
            notice: config.notice,
            as_of: NoticeTime::default(),
            announced: ServedVersions::default(),
            has_former: false,
            known_until: Arc::default(),
            has_news: false,
            news: NoticeTime::default(),
            is_closed: false,
        };
        state.open();
        state
    }

    fn open(&mut self) {
        match RowFolder::open(&self.path, &self.memory, self.own.clock, self.own.by.clone()) {
            Ok((folder, mut own, is_lost)) => {
                if is_lost {
                    // Other processes may go on to serve what only the lost rows told, and may end before they have written
                    // it again.
                    own.hosts.doubt(Doubt::Lost, own.clock.now().after(SEEN));
                    tracing::error!(
                        "{}: what was served before is lost in part: until notice is over nobody is accused",
                        self.path.display()
                    );
                }
                (self.own, self.folder, self.fault) = (own, Some(folder), None);
                self.has_news = true;
            }
            Err(error) => {
                let error = error.to_string();
                if self.fault.as_ref() != Some(&error) {
                    tracing::error!("{error}; until then no violations are counted");
                }
                self.fault = Some(error);
            }
        }
    }

    /// The same past under other bounds, or for another catalogue, is compiled anew.
    fn catch_up_with(&mut self, policy: &Policy, is_renewed: bool) {
        let limits = limits(&policy.config);
        if is_renewed || self.limits != limits {
            self.compiled.clear();
        }
        (self.limits, self.notice) = (limits, policy.config.notice);
        for site in policy.sites() {
            self.compiled.insert(file_of(site), Arc::clone(site.rules.current()));
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
            self.open();
        }
        let Some(folder) = &mut self.folder else { return Err(RowsError::missing(&self.path)) };
        let is_new = folder.refresh(&mut self.own)?;
        let is_written = folder.is_written();
        self.note_news(is_new);
        let (served, mut next) = (served(policy), self.own.clone());
        let now = self.own.clock.now();
        let all = served.at.keys().map(|pattern| &**pattern).chain(self.named_beside());
        for pattern in all.filter(|pattern| !self.own.hosts.0.contains_key(*pattern)) {
            let mut rows = Self::rows(pattern, self.own.processes());
            let known = Self::rows(pattern, self.own.processes().chain(self.own.members.values()));
            if known.rows().iter().all(|row| row.version.file().is_none()) {
                let lost = known.rows().iter().find_map(|row| row.version.doubt());
                rows.doubt(lost.unwrap_or(Doubt::Before), Some(now));
            }
            next.hosts.0.insert(pattern.into(), rows);
        }
        next.hosts.serve(&served, SystemTime::now());
        if next == self.own && is_written {
            return Ok(false);
        }
        let known = self.own.files();
        if let Some(folder) = &self.folder {
            for file in policy.sites().iter().filter_map(|site| site.robots.as_ref()) {
                if !is_written || !known.contains(&Some(file.digest.clone())) {
                    folder.keep(&file.digest, &file.bytes)?;
                }
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
        Ok(is_news)
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
        let Some(folder) = &mut self.folder else { return Err(RowsError::missing(&self.path)) };
        let is_new = folder.write(&mut next)?;
        (self.memory, self.own) = (RowsMemory::Noted(next.noted), next);
        self.note_news(is_new);
        Ok(())
    }

    fn end_former(&mut self, policy: &Policy) -> bool {
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
            // Where it cannot be written, they go on to excuse until it can.
            self.has_former = self.write(next).is_err();
        } else {
            self.has_former = false;
        }
        is_ended
    }
}

#[cfg(test)]
mod tests;
