//! From the entries of the ledger to what each host's visitors could hold.
//!
//! History belongs to hosts, not to sites. A host's past is found by looking it up in what each process served at
//! each time, so that it stays with the host when that moves between sites, wildcards and the default. Hosts that no
//! entry ever told apart share one past: that of the most specific pattern that is theirs.

use super::SEEN;
use super::fleet::FleetPast;
use crate::decide::{
    Doubt, HostHistory, KnownVersion, Moment, NoticePeriod, NoticeTime, RobotsVersion, SiteRules, VersionId,
    Waiver,
};
use crate::record::{FileDigest, FleetWaiver, LedgerChange, LedgerEntry, OfferedFiles, file_bytes};
use crate::robots::{ParseLimits, Robots};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// The pattern of every host that no other names.
pub(in crate::policy) const EVERY_OTHER: &str = "*";

/// Which file stands at which hosts.
pub(super) type FilesByHost = BTreeMap<Box<str>, FileDigest>;

/// The patterns that could be those of a host, or of the hosts of a pattern: the most specific first.
pub(in crate::policy) fn patterns(of: &str) -> impl Iterator<Item = String> + '_ {
    let own = (of != EVERY_OTHER).then(|| of.to_owned());
    let name = of.strip_prefix("*.").unwrap_or(of);
    let above = std::iter::successors(name.split_once('.'), |(_, rest)| rest.split_once('.'));
    let above = above.map(|(_, domain)| format!("*.{domain}"));
    own.into_iter().chain(above).chain([EVERY_OTHER.to_owned()])
}

/// What a table has for a pattern. Where it has nothing, nothing is served, and everything is allowed.
fn look_up(table: &FilesByHost, pattern: &str) -> FileDigest {
    patterns(pattern).find_map(|pattern| table.get(&*pattern)).cloned().flatten()
}

/// The past of the hosts of one pattern.
#[derive(Clone, Debug)]
pub(super) struct HostPast {
    pub(super) history: HostHistory,
    waivers: Arc<[Waiver]>,
}

/// A process that serves.
#[derive(Debug)]
struct Serving {
    number: u32,
    table: FilesByHost,
}

/// The past of all hosts.
#[derive(Debug, Default)]
pub(in crate::policy) struct Past {
    pub(super) hosts: HashMap<Box<str>, HostPast>,
    processes: HashMap<Box<str>, Serving>,
    /// What the process served that was the last one to stop.
    last: FilesByHost,
    pub(super) numbers: u32,
    files: HashMap<Box<str>, String>,
    compiled: HashMap<FileDigest, Arc<RobotsVersion>>,
    limits: ParseLimits,
    /// Until when hosts may have had a past that is lost.
    lost_until: Option<NoticeTime>,
    pub(in crate::policy) fleet: FleetPast,
}

impl Past {
    pub(super) fn new(limits: ParseLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// What is compiled already.
    pub(super) fn use_version(&mut self, digest: FileDigest, version: &Arc<RobotsVersion>) {
        self.compiled.insert(digest, Arc::clone(version));
    }

    /// Goes on by one entry.
    pub(super) fn apply(&mut self, entry: &LedgerEntry, period: NoticePeriod) {
        let moment = entry.moment();
        match &entry.change {
            LedgerChange::Begun { after_loss } => {
                self.lost_until = after_loss.then(|| moment.at.after(period.notice));
            }
            LedgerChange::File { sha256, bytes } => {
                self.files.insert(sha256.clone(), bytes.clone());
            }
            LedgerChange::Serving { hosts, gone } => {
                self.fleet.last_own = moment.sequence;
                self.serve(&entry.process, hosts, gone, moment);
            }
            LedgerChange::Stopped { who } => {
                self.fleet.last_own = moment.sequence;
                self.stop(who, moment);
            }
            LedgerChange::Fleet { stamp, covers, members } => self.learn(*stamp, *covers, members, moment),
            LedgerChange::Known { since } => {
                for (pattern, since) in since {
                    if let Some(past) = self.hosts.get_mut(pattern) {
                        past.history.know_since(NoticeTime(Duration::from_micros(*since)));
                    }
                }
            }
            LedgerChange::Waived { hosts, crawler, id, is_from_fleet } => {
                let waiver = id.map(|id| FleetWaiver { id, hosts: hosts.clone(), crawler: crawler.clone() });
                if waiver.is_none_or(|waiver| self.fleet.note_waiver(waiver, *is_from_fleet, moment.at)) {
                    self.waive(hosts.as_deref(), crawler.as_deref(), moment);
                }
            }
        }
        for past in self.hosts.values_mut() {
            past.history.advance(moment);
            past.history.prune(period, moment.at);
        }
    }

    fn serve(&mut self, process: &str, hosts: &FilesByHost, gone: &[Box<str>], moment: Moment) {
        let former = self.processes.remove(process);
        let (number, old) = if let Some(Serving { number, table }) = former {
            (number, Some(table))
        } else {
            self.numbers += 1;
            (self.numbers, None)
        };
        let mut table = old.clone().unwrap_or_default();
        table.retain(|host, _| !gone.contains(host));
        table.extend(hosts.iter().map(|(host, file)| (host.clone(), file.clone())));
        self.add_hosts(hosts.keys(), moment);
        let mut pasts = std::mem::take(&mut self.hosts);
        for (pattern, past) in &mut pasts {
            let next = look_up(&table, pattern);
            let is_known = old.as_ref().is_some_and(|old| look_up(old, pattern) == next);
            // A host that is new, and has no file, is looked up as it was before anybody named it.
            if !is_known || !past.history.is_served_by(number) {
                past.history.serve(number, &self.version(&next), moment);
            }
        }
        self.hosts = pasts;
        self.processes.insert(process.into(), Serving { number, table });
    }

    /// Hosts that are told apart for the first time have the past of what they belonged to.
    pub(super) fn add_hosts<'a>(&mut self, names: impl Iterator<Item = &'a Box<str>>, moment: Moment) {
        let is_whole = self.lost_until.is_none_or(|until| until <= moment.at);
        let unknown: Vec<&Box<str>> = names.filter(|name| !self.hosts.contains_key(*name)).collect();
        let added: Vec<(Box<str>, HostPast)> = unknown
            .into_iter()
            .map(|name| {
                let above = patterns(name).find_map(|pattern| self.hosts.get(&*pattern));
                let past = above.cloned().unwrap_or_else(|| {
                    let doubt = if is_whole { Doubt::Before } else { Doubt::Lost };
                    let history = HostHistory::beginning(moment, doubt);
                    let history = if is_whole {
                        history
                    } else {
                        // Other processes go on to serve what only the lost entries told until they have seen of it,
                        // and may end before. So a read of this process until then is no read of all that was served.
                        history.uncertain_until(moment.at.after(SEEN)).without_dates_until(moment)
                    };
                    HostPast { history, waivers: Arc::new([]) }
                });
                (name.clone(), past)
            })
            .collect();
        self.hosts.extend(added);
    }

    fn stop(&mut self, who: &str, moment: Moment) {
        let Some(Serving { number, table }) = self.processes.remove(who) else { return };
        self.last = table;
        for past in self.hosts.values_mut() {
            past.history.stop(number, moment);
        }
    }

    fn waive(&mut self, hosts: Option<&[Box<str>]>, crawler: Option<&str>, moment: Moment) {
        let waiver = Waiver { crawler: crawler.map(Into::into), sequence: moment.sequence };
        for (pattern, past) in &mut self.hosts {
            if hosts.is_none_or(|hosts| hosts.contains(pattern)) {
                past.waivers = past.waivers.iter().cloned().chain([waiver.clone()]).collect();
            }
        }
    }

    /// A file, compiled once. No file allows everything; one whose bytes are lost or damaged is unknown.
    pub(super) fn version(&mut self, digest: &FileDigest) -> KnownVersion {
        if let Some(known) = self.compiled.get(digest) {
            return Ok(Arc::clone(known));
        }
        let compiled = |bytes: Vec<u8>| {
            let robots = Robots::parse(&bytes, &self.limits).robots;
            Arc::new(RobotsVersion::new(Some(VersionId::of(&bytes)), Arc::new(robots)))
        };
        let version = match digest {
            None => RobotsVersion::allowing_everything(),
            Some(sha256) => {
                let bytes = self.files.get(sha256).and_then(|bytes| file_bytes(sha256, bytes));
                bytes.map(compiled).ok_or(Doubt::Lost)?
            }
        };
        self.compiled.insert(digest.clone(), Arc::clone(&version));
        Ok(version)
    }

    /// Has every version compiled anew, for a catalogue that has changed, but for those in `fresh`, which are.
    pub(super) fn renew(&mut self, fresh: &HashMap<Option<VersionId>, Arc<RobotsVersion>>, is_changed: bool) {
        let mut renewed = fresh.clone();
        let mut of = |version: &Arc<RobotsVersion>| match renewed.get(&version.id) {
            Some(known) => Arc::clone(known),
            None if is_changed => {
                let next = version.renewed();
                renewed.insert(version.id, Arc::clone(&next));
                next
            }
            None => Arc::clone(version),
        };
        for version in self.compiled.values_mut() {
            *version = of(version);
        }
        for past in self.hosts.values_mut() {
            past.history.renew(&mut of);
        }
    }

    /// Lets go of what nobody can hold any more.
    pub(super) fn prune(&mut self, period: NoticePeriod, now: NoticeTime) {
        for past in self.hosts.values_mut() {
            past.history.prune(period, now);
        }
        let tables: Vec<&FilesByHost> = self.processes.values().map(|serving| &serving.table).collect();
        let is_named = |pattern: &str| {
            tables.iter().any(|table| table.contains_key(pattern)) || self.fleet.names(pattern)
        };
        self.hosts.retain(|pattern, past| is_named(pattern) || past.history.has_past());
        let named: Vec<FileDigest> = tables
            .iter()
            .flat_map(|table| table.values())
            .chain(self.last.values())
            .chain(self.fleet.files())
            .cloned()
            .collect();
        self.compiled.retain(|digest, version| named.contains(digest) || Arc::strong_count(version) > 1);
        self.files.retain(|sha256, _| self.compiled.contains_key(&Some(sha256.clone())));
    }

    /// What `process` serves, as far as entries say.
    pub(super) fn table(&self, process: &str) -> Option<&FilesByHost> {
        self.processes.get(process).map(|serving| &serving.table)
    }

    /// What all processes serve. Where one has no file for a host, it serves there what it has for the hosts above.
    pub(in crate::policy) fn served_here(&self) -> OfferedFiles {
        let mut served = OfferedFiles::new();
        let tables = || self.processes.values().map(|serving| &serving.table);
        for host in tables().flat_map(|table| table.keys()) {
            let of_host = tables().filter(|table| patterns(host).any(|above| table.contains_key(&*above)));
            served.entry(host.clone()).or_default().extend(of_host.map(|table| look_up(table, host)));
        }
        served
    }

    /// What was served last at the hosts of a pattern: by a process that is there, or else by the one that was there last.
    pub(super) fn last_file(&self, pattern: &str) -> Option<&FileDigest> {
        let living =
            self.processes.values().max_by_key(|serving| serving.number).map(|serving| &serving.table);
        let table = living.unwrap_or(&self.last);
        patterns(pattern).find_map(|pattern| table.get(&*pattern))
    }

    /// Whether a process serves this file.
    pub(super) fn is_served(&self, digest: &str) -> bool {
        let mut tables = self.processes.values().map(|serving| &serving.table);
        tables.any(|table| table.values().any(|file| file.as_deref() == Some(digest)))
    }

    /// The files among these whose bytes are not known.
    pub(in crate::policy) fn missing(&self, files: &OfferedFiles) -> Vec<Box<str>> {
        let named: BTreeSet<&Box<str>> = files.values().flatten().flatten().collect();
        named.into_iter().filter(|file| !self.files.contains_key(*file)).cloned().collect()
    }

    /// The bytes of a file, where they are known.
    pub(super) fn bytes(&self, digest: &str) -> Option<Vec<u8>> {
        file_bytes(digest, self.files.get(digest)?)
    }

    /// The bytes of a version that is kept.
    pub(super) fn file(&self, version: VersionId) -> Option<Vec<u8>> {
        let name = version.to_string();
        let (sha256, bytes) = self.files.iter().find(|(sha256, _)| sha256.starts_with(&name))?;
        file_bytes(sha256, bytes)
    }

    /// All other processes that serve something.
    pub(super) fn others(&self, process: &str) -> Vec<Box<str>> {
        self.processes.keys().filter(|who| &***who != process).cloned().collect()
    }

    /// Every pattern that has a past of its own, with what is in force there for visitors of `process`.
    pub(super) fn in_force(&self, process: &str) -> impl Iterator<Item = (&str, SiteRules)> {
        let number = self.processes.get(process).map_or(0, |serving| serving.number);
        self.hosts.iter().filter_map(move |(pattern, past)| {
            Some((&**pattern, past.history.in_force(number, &past.waivers)?))
        })
    }

    /// Until when, at the latest, something unknown was served at the hosts of a pattern.
    pub(super) fn unknown_until(&self, pattern: &str) -> Option<NoticeTime> {
        self.hosts.get(pattern)?.history.unknown_until()
    }
}
