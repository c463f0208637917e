//! Fair notice over time: what hosts were given before, by this process and by others.
//!
//! A crawler's copy does not know that the gateway was started anew (RFC 9309 §2.4). So a version is put in the
//! ledger before it is served, and what a host's visitors could hold is read out of it. Where the ledger cannot be
//! written nobody is accused.

mod fleet;
mod keeping;
mod past;
mod remembered;

pub(super) use past::{Past, patterns};

use super::hosts::Hosts;
use super::{Policy, Site};
use crate::config::Config;
use crate::decide::{Doubt, RobotsVersion, SiteRules};
use crate::record::{
    FileDigest, LEDGER_FILE, Ledger, LedgerChange, LedgerError, LedgerMemory, LedgerNews, NoticeClock,
    compacted,
};
use crate::robots::ParseLimits;
use parking_lot::Mutex;
use past::FilesByHost;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use keeping::LOOK;
pub use keeping::{BindNowError, SiteNotice, UnknownSpan};
pub use remembered::take_up_reads;

/// Entries are kept at least that long, should the operator lengthen the notice.
const KEEP: Duration = Duration::from_secs(7 * 86_400);

/// After how long the other processes of a state folder have seen what one of them wrote.
const SEEN: Duration = LOOK.saturating_add(Duration::from_millis(250));

/// The past of all hosts, and the ledger it is in.
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
    memory: LedgerMemory,
    ledger: Option<Ledger>,
    /// Why there is no ledger.
    fault: Option<String>,
    past: Past,
    clock: NoticeClock,
    /// What the past was compiled under.
    limits: ParseLimits,
    notice: Duration,
}

impl NoticeHistory {
    /// Opens the ledger of this configuration, or begins it. The store has been opened before.
    pub fn open(config: &Config) -> Self {
        let mut state = HistoryState::new(config, remembered::memory(config));
        if config.fleet.is_none() {
            state.leave_fleet();
        }
        Self { told: Mutex::new(state.fault.clone()), state: Mutex::new(state) }
    }

    /// Puts what `policy` serves in the ledger, where that says otherwise, and gives the policy its hosts' past.
    ///
    /// # Errors
    /// When it cannot be written. The policy may not be served then.
    pub(super) fn adopt(&self, policy: &mut Policy, previous: Option<&Policy>) -> Result<(), LedgerError> {
        let mut state = self.state.lock();
        state.catch_up_with(&policy.config);
        let is_renewed = previous.is_some_and(|old| !Arc::ptr_eq(&old.identifier, &policy.identifier));
        state.use_versions(policy, is_renewed);
        let last = state.last_entry();
        state.record(policy)?;
        state.give(policy);
        let is_news = state.last_entry() != last;
        let has_company = state.ledger.as_ref().is_some_and(Ledger::has_other_processes);
        drop(state);
        if is_news && has_company {
            // The others judge by what they know of: they are to know of this before anybody can read it.
            thread::sleep(SEEN);
        }
        Ok(())
    }

    /// The first policy of a process. Where nothing can be written it is served all the same, and accuses nobody.
    pub fn begin(&self, mut policy: Policy) -> Policy {
        if policy.config.fleet.is_some() {
            self.state.lock().keep_last(&mut policy);
        }
        if let Err(error) = self.adopt(&mut policy, None) {
            let mut state = self.state.lock();
            state.fault = Some(error.to_string());
            state.ledger = None;
            state.give(&mut policy);
        }
        policy
    }

    /// Gives a policy that serves what is served already the past as it is now.
    pub(super) fn give(&self, policy: &mut Policy) {
        self.state.lock().give(policy);
    }

    /// Looks at what other processes wrote, whether they are still there, and whether the ledger can be written
    /// again; `true` where something is new.
    pub(super) fn poll_ledger(&self, policy: &Policy) -> bool {
        let mut state = self.state.lock();
        if state.ledger.is_none() {
            state.open(&policy.config);
            let is_open = state.ledger.is_some() && state.record(policy).is_ok();
            if !is_open {
                state.ledger = None;
            }
            return is_open;
        }
        // Where it cannot be read, what is known goes on to hold.
        state.catch_up(policy).unwrap_or_default()
    }

    /// Notes the time for the start after the next boot.
    pub(super) fn note_time(&self) {
        if let Some(ledger) = &self.state.lock().ledger {
            // From an earlier time notice only takes longer.
            let _ = ledger.note_time();
        }
    }

    /// Notes that this process serves nothing any more.
    pub fn close(&self) {
        if let Some(ledger) = self.state.lock().ledger.take() {
            ledger.close();
        }
    }

    /// What the ledger says of the past.
    pub(super) fn past<T>(&self, read: impl FnOnce(&Past) -> T) -> T {
        read(&self.state.lock().past)
    }

    /// The last entry of the ledger: what the store is to remember.
    pub fn last_entry(&self) -> Option<u64> {
        self.state.lock().last_entry()
    }
}

const fn limits(config: &Config) -> ParseLimits {
    ParseLimits { max_bytes: config.robots_max_size }
}

impl HistoryState {
    fn new(config: &Config, memory: LedgerMemory) -> Self {
        let limits = limits(config);
        let mut state = Self {
            path: config.state_dir.join(LEDGER_FILE),
            memory,
            ledger: None,
            fault: None,
            past: Past::new(limits),
            clock: NoticeClock::default(),
            limits,
            notice: config.notice,
        };
        state.open(config);
        state
    }

    fn open(&mut self, config: &Config) {
        let keep = KEEP.max(config.notice * 2);
        match Ledger::open(&self.path, &self.memory, keep) {
            Ok((ledger, news)) => {
                self.clock = ledger.clock();
                self.memory = LedgerMemory::Entry(ledger.last());
                self.ledger = Some(ledger);
                self.fault = None;
                self.apply_news(news);
            }
            Err(error) => {
                let error = error.to_string();
                if self.fault.as_ref() != Some(&error) {
                    tracing::error!("{error}; until then nobody is accused");
                }
                self.fault = Some(error);
            }
        }
    }

    fn last_entry(&self) -> Option<u64> {
        self.ledger.as_ref().map(Ledger::last)
    }

    /// The same past under other bounds is read anew.
    fn catch_up_with(&mut self, config: &Config) {
        let (limits, notice) = (limits(config), config.notice);
        let is_same = (self.limits, self.notice) == (limits, notice);
        (self.limits, self.notice) = (limits, notice);
        if !is_same && let Some(ledger) = &mut self.ledger {
            ledger.forget();
            self.past = Past::new(limits);
            // Where it cannot be read, recording fails as well, and says so.
            if let Ok(news) = ledger.refresh(&[]) {
                self.apply_news(news);
            }
        }
    }

    fn apply_news(&mut self, news: LedgerNews) -> bool {
        let is_new = !news.entries.is_empty();
        let mut entries = news.entries;
        let period = self.period();
        if news.is_all {
            self.past = Past::new(self.limits);
            entries = compacted(&entries, self.clock.now().before(self.notice));
        }
        for entry in &entries {
            self.past.apply(entry, period);
        }
        is_new
    }

    const fn period(&self) -> crate::decide::NoticePeriod {
        crate::decide::NoticePeriod { notice: self.notice, settle: Duration::ZERO }
    }

    fn append(&mut self, changes: Vec<LedgerChange>) -> Result<(), LedgerError> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let news = ledger.append(changes)?;
        self.apply_news(news);
        Ok(())
    }

    /// Has the past use what the policy has compiled.
    fn use_versions(&mut self, policy: &Policy, is_renewed: bool) {
        let mut fresh = HashMap::new();
        for site in policy.sites() {
            self.past.use_version(file_of(site), site.rules.current());
            fresh.insert(site.rules.current().id, Arc::clone(site.rules.current()));
        }
        self.past.renew(&fresh, is_renewed);
    }

    /// Writes what the policy serves, as far as the ledger does not say it.
    fn record(&mut self, policy: &Policy) -> Result<(), LedgerError> {
        if self.ledger.is_none() {
            self.open(&policy.config);
        }
        let table = table(policy);
        let Some(ledger) = &self.ledger else {
            return Err(LedgerError::missing(&self.path));
        };
        let process: Box<str> = ledger.process().into();
        if self.past.table(&process) == Some(&table) {
            return Ok(());
        }
        // What it says now is what there is to add to.
        if let Some(ledger) = &mut self.ledger {
            let news = ledger.refresh(&[])?;
            self.apply_news(news);
        }
        let known = self.past.table(&process);
        let empty = FilesByHost::new();
        let old = known.unwrap_or(&empty);
        let hosts: FilesByHost = table
            .iter()
            .filter(|(name, file)| old.get(*name) != Some(file))
            .map(|(name, file)| (name.clone(), file.clone()))
            .collect();
        let gone = old.keys().filter(|name| !table.contains_key(*name)).cloned().collect();
        let mut changes: Vec<LedgerChange> = self.unwritten_files(policy, &hosts);
        changes.push(LedgerChange::Serving { hosts, gone });
        self.append(changes)?;
        self.use_versions(policy, false);
        Ok(())
    }

    /// The files that no process serves at the moment: their bytes may have been left out.
    fn unwritten_files(&self, policy: &Policy, hosts: &FilesByHost) -> Vec<LedgerChange> {
        let named: HashSet<&str> = hosts.values().flatten().map(|digest| &**digest).collect();
        let mut seen = HashSet::new();
        let files = policy.sites().iter().filter_map(|site| site.robots.as_ref());
        files
            .filter(|file| {
                let is_needed = named.contains(&*file.digest) && !self.past.is_served(&file.digest);
                is_needed && seen.insert(&file.digest)
            })
            .map(|file| LedgerChange::file(&file.bytes))
            .collect()
    }

    /// Takes what others wrote. Where they no longer know what is served here, it is said again: the ledger was lost, or
    /// this process was taken for dead. `true` where something is new.
    fn catch_up(&mut self, policy: &Policy) -> Result<bool, LedgerError> {
        let Some(ledger) = &mut self.ledger else { return Ok(false) };
        let others = self.past.others(ledger.process());
        let news = ledger.refresh(&others)?;
        let is_new = self.apply_news(news);
        self.record(policy)?;
        Ok(is_new)
    }

    /// Builds the policy's table of hosts out of the past.
    fn give(&mut self, policy: &mut Policy) {
        let (now, period) = (self.clock.now(), self.period());
        self.past.prune(period, now);
        policy.clock = self.clock;
        // What the ledger does not say cannot be held against anybody.
        let unrecorded = |current: &Arc<RobotsVersion>| {
            SiteRules::new(Arc::clone(current)).with_unknown(Doubt::Unrecorded, None)
        };
        let Some(ledger) = &self.ledger else {
            policy.hosts = Hosts::new(policy.sites(), Vec::new(), |_, current| unrecorded(current));
            return;
        };
        let mut pasts: HashMap<&str, SiteRules> = self.past.in_force(ledger.process()).collect();
        for site in &mut policy.sites {
            let since = site.config.patterns().find_map(|name| pasts.get(&*name)?.since);
            if let Some(since) = since.filter(|since| *since != site.since) {
                *site = Arc::new(Site { since, ..(**site).clone() });
            }
        }
        let names: Vec<String> = pasts.keys().map(|name| (*name).to_owned()).collect();
        policy.hosts = Hosts::new(&policy.sites, names, |name, current| {
            pasts.remove(name).unwrap_or_else(|| unrecorded(current))
        });
    }
}

fn file_of(site: &Site) -> FileDigest {
    site.robots.as_ref().map(|file| file.digest.clone())
}

/// What a policy serves.
pub(super) fn table(policy: &Policy) -> FilesByHost {
    let of_site = |site: &Arc<Site>| {
        let file = file_of(site);
        site.config.patterns().map(|name| (name, file.clone())).collect::<Vec<_>>()
    };
    // What passes the gateway by is nothing that it served.
    policy.sites().iter().filter(|site| !site.is_unknown).flat_map(of_site).collect()
}

#[cfg(test)]
mod tests;
