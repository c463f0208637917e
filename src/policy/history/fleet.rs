//! What other members of a fleet served, in the past of hosts.
//!
//! A member has rows of its own in the document of this process: what it serves or is about to serve is open there, and is
//! replaced when this process learns that it is over. Members know of each other by stamps, which the database gives in one
//! order. Each stamp is noted with a time that certainly came before all that came after it, and so reads that another
//! member saw find their place among the rows here. That place is never later than the truth, and what was learnt late is
//! replaced late: not to know enough only excuses.

use super::{HistoryState, NoticeHistory, file_of};
use crate::decide::{Doubt, NoticeTime};
use crate::policy::hosts::Hosts;
use crate::policy::site::SiteRobots;
use crate::policy::standing::{FleetNews, OfferedFiles, SaidRows};
use crate::policy::{Policy, RobotsFile, Site};
use crate::record::{
    FleetWaiver, HostRows, NotedStamp, NotedWaiver, PastRows, RowVersion, ServedVersions, digest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// As many changes in a day are none that anybody makes.
const STAMPS: usize = 4_096;

impl NoticeHistory {
    /// The last stamp that is noted; 0 where there is none.
    pub(in crate::policy) fn stamp(&self) -> u64 {
        self.state.lock().own.stamp()
    }

    /// A stamp that had been given before anything that a policy as of then was in force for.
    pub(in crate::policy) fn stamp_of(&self, as_of: NoticeTime) -> u64 {
        let state = self.state.lock();
        let noted = state.own.stamps.iter().rev().find(|noted| noted.known <= as_of);
        noted.map_or(0, |noted| noted.stamp)
    }

    /// A time that certainly came before what came after `stamp`; the beginning where none is known.
    pub(in crate::policy) fn time_before(&self, stamp: u64) -> NoticeTime {
        let state = self.state.lock();
        let noted = state.own.stamps.iter().rev().find(|noted| noted.stamp <= stamp);
        noted.map_or_else(NoticeTime::default, |noted| noted.before)
    }

    /// When anything here was replaced last: what this member says covers it.
    pub(in crate::policy) fn last_ended(&self) -> NoticeTime {
        self.state.lock().last_ended()
    }

    /// What all processes of the folder serve.
    pub(in crate::policy) fn served_here(&self) -> OfferedFiles {
        let state = self.state.lock();
        let all = || state.processes();
        let names: BTreeSet<&str> = all().flat_map(|hosts| hosts.0.keys()).map(|name| &**name).collect();
        let files = |name: &str| {
            let open = all().filter_map(|hosts| hosts.of(name)).flat_map(HostRows::open);
            (name.into(), open.filter_map(RowVersion::file).cloned().collect::<BTreeSet<_>>())
        };
        names.into_iter().map(files).filter(|(_, files)| !files.is_empty()).collect()
    }

    /// What ended here, and what is not known.
    pub(in crate::policy) fn ended_here(&self) -> SaidRows {
        let state = self.state.lock();
        let (mut said, now) = (SaidRows::new(), state.clock.now());
        for (host, rows) in state.processes().flat_map(|hosts| &hosts.0) {
            for row in rows.rows().iter().filter(|row| row.until().is_some() || row.version.doubt().is_some())
            {
                let ago = row.until().map(|until| now.since(until).as_secs());
                let known = said.entry(host.clone()).or_default().entry(row.version.word().into());
                known
                    .and_modify(|known| *known = known.zip(ago).map(|(one, other)| one.min(other)))
                    .or_insert(ago);
            }
        }
        said
    }

    /// The files among these whose bytes are not known.
    pub(in crate::policy) fn missing(&self, said: &SaidRows) -> Vec<Box<str>> {
        let state = self.state.lock();
        let named: BTreeSet<&Box<str>> = said.values().flat_map(BTreeMap::keys).collect();
        let is_known = |file: &str| state.folder.as_ref().is_some_and(|folder| folder.bytes(file).is_some());
        let is_file = |word: &str| !word.is_empty() && word.parse::<Doubt>().is_err();
        named.into_iter().filter(|file| is_file(file) && !is_known(file)).cloned().collect()
    }

    /// Notes what other members of the fleet serve; `false` where that cannot be written.
    pub(in crate::policy) fn learn(&self, policy: &Policy, news: FleetNews) -> bool {
        self.state.lock().learn(policy, news).is_some()
    }

    /// What the operator said here of notice that lasts.
    pub(in crate::policy) fn own_waivers(&self) -> Vec<FleetWaiver> {
        let state = self.state.lock();
        let (now, notice) = (state.clock.now(), state.notice);
        let own = state.own.waived.iter();
        let own = own.filter(|noted| noted.is_for_others && now < noted.at.after(notice));
        own.map(|noted| noted.said.clone()).collect()
    }
}

impl HistoryState {
    fn last_ended(&self) -> NoticeTime {
        let rows = self.processes().flat_map(PastRows::rows);
        let now = self.clock.now();
        rows.filter_map(|row| row.until().filter(|until| *until <= now)).max().unwrap_or_default()
    }

    fn learn(&mut self, policy: &Policy, news: FleetNews) -> Option<()> {
        let folder = self.folder.as_ref()?;
        for bytes in &news.files {
            folder.keep(&digest(bytes), bytes).ok()?;
        }
        let (mut next, now) = (self.own.clone(), self.clock.now());
        for (member, said) in news.members {
            let rows = next.members.entry(member).or_default();
            self.take_up(rows, said, news.known_for.is_some(), now);
        }
        if let Some(known_for) = news.known_for {
            let is_known = |pattern: &str| next.members.values().any(|member| member.of(pattern).is_some());
            for (_, rows) in next.hosts.0.iter_mut().filter(|(pattern, _)| is_known(pattern)) {
                rows.know_since(now.before(known_for));
            }
        }
        for said in news.waived {
            next.waive(NotedWaiver { said, is_for_others: false, at: now });
        }
        if next == self.own && !news.is_own {
            return Some(());
        }
        let covers = if self.last_ended() > news.covers { news.covers } else { now };
        // A database that was set back gives stamps again: those before say nothing any more.
        next.stamps.retain(|noted| noted.stamp < news.stamp);
        let known = self.clock.now();
        next.stamps.push(NotedStamp { stamp: news.stamp, known, before: covers });
        next.stamps.drain(..next.stamps.len().saturating_sub(STAMPS));
        self.prune(&mut next, &super::served(policy));
        self.write(next).ok()
    }

    /// Takes up what a member says. What it served so far ended when this is known here: later than the truth. What came and
    /// went meanwhile ended as it says. What it does not know of the time before it matters to who joins it, and as long as it
    /// says so.
    fn take_up(&mut self, rows: &mut PastRows, said: SaidRows, joins: bool, now: NoticeTime) {
        let has_before = rows.0.values_mut().fold(joins, |has, rows| rows.forget_before() || has);
        let (mut served, time) = (ServedVersions::default(), SystemTime::now());
        let mut past = PastRows::default();
        for (host, said) in said {
            let ended = past.0.entry(host.clone()).or_default();
            for (word, ago) in said {
                let version = self.said(word);
                if version.doubt() == Some(Doubt::Before) && !has_before {
                    continue;
                }
                match ago.map(Duration::from_secs) {
                    None => drop(served.at.entry(host.clone()).or_default().insert(version)),
                    Some(ago) => {
                        ended.served(version, time.checked_sub(ago).unwrap_or(time), Some(now.before(ago)));
                    }
                }
            }
        }
        rows.serve(&served, |_| HostRows::default(), time);
        rows.close(&served, now);
        rows.add(&past);
    }

    /// What a member calls by a word.
    fn said(&mut self, word: Box<str>) -> RowVersion {
        if let Ok(doubt) = word.parse() {
            return RowVersion::unknown(doubt);
        }
        let file = Some(word).filter(|word| !word.is_empty());
        match self.version(&file) {
            Ok(version) => RowVersion::known(version.rules, file),
            Err(doubt) => RowVersion::unknown(doubt),
        }
    }

    /// Has a policy that begins serve what was served here last, where that is known: another file waits until the fleet
    /// knows of it.
    pub(super) fn keep_last(&self, policy: &mut Policy) {
        for site in &mut policy.sites {
            let last = |host: Box<str>| self.rows(&host).last_file().cloned();
            let mut files: Vec<_> = site.config.patterns().map(last).collect();
            files.dedup();
            let [Some(file)] = &files[..] else { continue };
            let bytes =
                file.as_deref().map(|file| self.folder.as_ref().and_then(|folder| folder.bytes(file)));
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
        let now = self.clock.now();
        for member in self.own.members.values_mut() {
            member.close(&ServedVersions::default(), now);
        }
        self.own.stamps.clear();
    }
}
