//! What other members of a fleet served, in the past of hosts.
//!
//! To a host's history a member is one process for each file that it serves or is about to serve: until the last of them
//! ceases to, a version is held by everybody. Members know of each other by stamps, which the database gives in one
//! order; entries of the ledger know up to which stamp they came, and so reads that another member saw find their place
//! among this ledger's entries. That place is never later than the truth, and what was learnt late is replaced late: not
//! to know enough only excuses.

use super::past::{Past, patterns};
use super::{HistoryState, NoticeHistory, file_of};
use crate::decide::{Moment, NoticeTime};
use crate::policy::hosts::Hosts;
use crate::policy::site::SiteRobots;
use crate::policy::{Policy, RobotsFile, Site};
use crate::record::{FileDigest, FleetNews, FleetWaiver, LedgerChange, OfferedFiles};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is known of the other members.
#[derive(Debug, Default)]
pub(in crate::policy) struct FleetPast {
    members: BTreeMap<Box<str>, MemberPast>,
    /// A stamp, the entry that it came with, and the last entry that came before it for certain: rising.
    stamps: Vec<NotedStamp>,
    /// The last entry that says what processes of this folder serve.
    pub(super) last_own: u64,
    /// The operator's words against notice, whether they were said elsewhere, and when they became known.
    waived: Vec<(FleetWaiver, bool, NoticeTime)>,
}

#[derive(Clone, Copy, Debug)]
struct NotedStamp {
    stamp: u64,
    entry: u64,
    before: u64,
}

#[derive(Debug, Default)]
struct MemberPast {
    files: OfferedFiles,
    /// What the history of hosts calls the member as far as it serves a file.
    numbers: HashMap<FileDigest, u32>,
}

/// The files that a table has for the hosts of a pattern; `None` where it does not serve them.
fn offered<'a>(files: &'a OfferedFiles, pattern: &str) -> Option<&'a BTreeSet<FileDigest>> {
    patterns(pattern).find_map(|pattern| files.get(&*pattern))
}

impl FleetPast {
    /// The files that members serve.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileDigest> {
        self.members.values().flat_map(|member| member.files.values()).flatten()
    }

    /// Whether a member names a pattern.
    pub(super) fn names(&self, pattern: &str) -> bool {
        self.members.values().any(|member| member.files.contains_key(pattern))
    }

    /// The last stamp that is noted; 0 where there is none.
    pub(in crate::policy) fn stamp(&self) -> u64 {
        self.stamps.last().map_or(0, |noted| noted.stamp)
    }

    /// A stamp that had been given before anything that came after an entry.
    pub(in crate::policy) fn stamp_of(&self, sequence: u64) -> u64 {
        let noted = self.stamps.iter().rev().find(|noted| noted.entry <= sequence);
        noted.map_or(0, |noted| noted.stamp)
    }

    /// The last entry that certainly came before what came after `stamp`; 0 where there is none.
    pub(in crate::policy) fn entry_before(&self, stamp: u64) -> u64 {
        let noted = self.stamps.iter().rev().find(|noted| noted.stamp <= stamp);
        noted.map_or(0, |noted| noted.before)
    }

    /// Notes the operator's word; `false` where it is known.
    pub(super) fn note_waiver(&mut self, waiver: FleetWaiver, is_from_fleet: bool, at: NoticeTime) -> bool {
        let is_new = self.waived.iter().all(|(known, ..)| known.id != waiver.id);
        if is_new {
            self.waived.push((waiver, is_from_fleet, at));
        }
        is_new
    }

    fn note(&mut self, stamp: u64, covers: u64, entry: u64) {
        // A database that was set back gives stamps again: those before say nothing any more.
        self.stamps.retain(|noted| noted.stamp < stamp);
        let before = if self.last_own > covers { covers } else { entry };
        self.stamps.push(NotedStamp { stamp, entry, before });
        // As many changes in a day are none that anybody makes.
        if self.stamps.len() > 4_096 {
            self.stamps.drain(..1_024);
        }
    }
}

impl Past {
    pub(super) fn learn(
        &mut self,
        stamp: u64,
        covers: u64,
        members: &BTreeMap<Box<str>, OfferedFiles>,
        moment: Moment,
    ) {
        for (member, files) in members {
            self.learn_of(member, files, moment);
        }
        for past in self.hosts.values_mut() {
            past.history.note(moment);
        }
        self.fleet.note(stamp, covers, moment.sequence);
    }

    fn learn_of(&mut self, member: &str, files: &OfferedFiles, moment: Moment) {
        self.add_hosts(files.keys(), moment);
        let mut known = self.fleet.members.remove(member).unwrap_or_default();
        for file in files.values().flatten() {
            if !known.numbers.contains_key(file) {
                self.numbers += 1;
                known.numbers.insert(file.clone(), self.numbers);
            }
        }
        let mut pasts = std::mem::take(&mut self.hosts);
        for (file, number) in &known.numbers {
            let version = self.version(file);
            for (pattern, past) in &mut pasts {
                let serves = offered(files, pattern).is_some_and(|offered| offered.contains(file));
                match (serves, past.history.is_served_by(*number)) {
                    (true, false) => past.history.serve(*number, &version, moment),
                    (false, true) => past.history.stop(*number, moment),
                    _ => {}
                }
            }
        }
        self.hosts = pasts;
        if !files.is_empty() {
            known.numbers.retain(|file, _| files.values().any(|offered| offered.contains(file)));
            known.files.clone_from(files);
            self.fleet.members.insert(member.into(), known);
        }
    }
}

/// How much earlier what is unknown has to end, to be written again.
const WORTH_WRITING: Duration = Duration::from_secs(1);

/// How many seconds ago hosts of a pattern had anything replaced, as another member says: of the most specific pattern
/// that names them.
fn replaced_ago(said: &BTreeMap<Box<str>, u64>, pattern: &str) -> Option<u64> {
    patterns(pattern).find_map(|pattern| said.get(&*pattern)).copied()
}

impl NoticeHistory {
    /// Notes what other members of the fleet serve; `false` where that cannot be written.
    pub(in crate::policy) fn learn(&self, policy: &Policy, news: FleetNews) -> bool {
        let mut state = self.state.lock();
        if state.ledger.is_none() {
            return false;
        }
        let now = state.clock.now();
        let mut known_since = BTreeMap::new();
        for site in policy.sites() {
            for pattern in site.config.patterns() {
                let Some(until) = state.past.unknown_until(&pattern) else { continue };
                let of_each = news.replaced_ago.iter().filter_map(|said| replaced_ago(said, &pattern));
                let Some(ago) = of_each.min() else { continue };
                let ended = now.before(Duration::from_secs(ago));
                if until.since(ended) > WORTH_WRITING {
                    known_since.insert(pattern, u64::try_from(ended.0.as_micros()).unwrap_or(u64::MAX));
                }
            }
        }
        let files = news.files.iter().map(|bytes| LedgerChange::file(bytes));
        let mut changes: Vec<LedgerChange> = files.collect();
        let FleetNews { stamp, covers, members, missed, waived, .. } = news;
        if !missed.is_empty() {
            // What came and went meanwhile was replaced when it is known here: later than the truth.
            changes.push(LedgerChange::Fleet { stamp, covers, members: missed });
        }
        changes.push(LedgerChange::Fleet { stamp, covers, members });
        let known = &state.past.fleet.waived;
        let is_new = |waiver: &FleetWaiver| known.iter().all(|(known, ..)| known.id != waiver.id);
        changes.extend(waived.into_iter().filter(is_new).map(|FleetWaiver { id, hosts, crawler }| {
            LedgerChange::Waived { hosts, crawler, id: Some(id), is_from_fleet: true }
        }));
        if !known_since.is_empty() {
            changes.push(LedgerChange::Known { since: known_since });
        }
        state.append(changes).is_ok()
    }

    /// What the operator said here of notice that lasts.
    pub(in crate::policy) fn own_waivers(&self) -> Vec<FleetWaiver> {
        let state = self.state.lock();
        let (now, notice) = (state.clock.now(), state.notice);
        let own = state.past.fleet.waived.iter();
        let own = own.filter(|(_, is_from_fleet, at)| !is_from_fleet && now < at.after(notice));
        own.map(|(waiver, ..)| waiver.clone()).collect()
    }
}

impl HistoryState {
    /// Has a policy that begins serve what was served here last, where that is known: another file waits until the fleet
    /// knows of it.
    pub(super) fn keep_last(&self, policy: &mut Policy) {
        for site in &mut policy.sites {
            let last = |host: Box<str>| self.past.last_file(&host).cloned();
            let mut files: Vec<Option<FileDigest>> = site.config.patterns().map(last).collect();
            files.dedup();
            let [Some(file)] = &files[..] else { continue };
            let bytes = file.as_deref().map(|file| self.past.bytes(file));
            if *file == file_of(site) || site.is_unknown || bytes == Some(None) {
                continue;
            }
            let path = site.config.robots.file().unwrap_or_else(|| Path::new(""));
            let file = bytes.flatten().map(|bytes| RobotsFile::of(path, bytes));
            let kept = site.with_robots(SiteRobots::new(file, policy.identifier.catalogue(), self.limits));
            let error = "the robots.txt changed, and waits until the fleet knows of it";
            *site = Arc::new(Site { error: Some(error.to_owned()), ..kept });
        }
        policy.hosts = Hosts::plain(&policy.sites);
    }

    /// What members of a fleet served that this gateway is none of any more is replaced. Should it become one again, it
    /// asks for everything.
    pub(super) fn leave_fleet(&mut self) {
        let members: BTreeMap<_, _> =
            self.past.fleet.members.keys().map(|member| (member.clone(), OfferedFiles::new())).collect();
        if !members.is_empty() {
            let (stamp, covers) = (0, self.last_entry().unwrap_or_default());
            // Where it cannot be written, it is so at the next start.
            let _ = self.append(vec![LedgerChange::Fleet { stamp, covers, members }]);
        }
    }
}
