//! What other members of a fleet served, in the past of hosts.
//!
//! A member has rows of its own in the document of this process: what it serves or is about to serve is open there, and is
//! replaced when this process learns that it is over. Members know of each other by stamps, which the database gives in one
//! order. Each stamp is noted with a time that certainly came before all that came after it, and so reads that another
//! member saw find their place among the rows here. That place is never later than the truth, and what was learnt late is
//! replaced late: not to know enough only excuses.

use super::{HistoryState, NoticeHistory, file_of, served};
use crate::decide::{Doubt, NoticeTime};
use crate::policy::hosts::Hosts;
use crate::policy::site::SiteRobots;
use crate::policy::standing::{FleetNews, FleetStanding, OwnWord, SaidRows};
use crate::policy::{Policy, RobotsFile, Site};
use crate::record::{
    HOLDS, NotedStamp, NotedWaiver, PastRows, RowVersion, RowsError, ServedVersions, digest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

/// As many changes in a day are none that anybody makes.
const STAMPS: usize = 4_096;

impl NoticeHistory {
    /// The last stamp that is noted; 0 where there is none.
    pub fn stamp(&self) -> u64 {
        self.state.lock().own.stamp()
    }

    /// A stamp that had been given before anything that a policy as of then, in microseconds, was in force for.
    pub fn stamp_of(&self, as_of: u64) -> u64 {
        let as_of = NoticeTime(Duration::from_micros(as_of));
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

    /// Writes what a policy would serve, so that the others hear of it. Until another one is announced, or this one is in
    /// force, it counts as served.
    pub(in crate::policy) fn announce(&self, policy: &Policy) -> Result<(), RowsError> {
        loop {
            let mut state = self.state.lock();
            let is_unseen = state.record(policy)? && state.may_have_company();
            state.announced = served(policy);
            drop(state);
            if !is_unseen {
                return Ok(());
            }
            thread::sleep(HOLDS);
        }
    }

    /// What is announced and not all in force.
    pub fn announced(&self) -> ServedVersions {
        self.state.lock().announced.clone()
    }

    /// What is announced comes to nothing.
    pub(in crate::policy) fn withdraw(&self) {
        let mut state = self.state.lock();
        (state.announced, state.has_former) = (ServedVersions::default(), true);
    }

    /// What this gateway says to the other members.
    pub(in crate::policy) fn word(&self, policy: &Policy, standing: &FleetStanding) -> OwnWord {
        let state = self.state.lock();
        let rows = state.said(policy);
        // What comes to be served is written first, and so said, or it is seen to be known to the others no more.
        standing.says(&rows);
        let (now, notice) = (state.own.clock.now(), state.notice);
        let own = state.own.waived.iter();
        let own = own.filter(|noted| noted.is_for_others && now < noted.at.after(notice));
        let waived = own.map(|noted| noted.said.clone()).collect();
        let notice = notice.as_secs_f64();
        OwnWord { covers: state.last_ended(), rows, notice, waived, ..OwnWord::default() }
    }

    /// The bytes of files that are served here, or about to be.
    pub fn bytes(&self, rows: &SaidRows) -> BTreeMap<Box<str>, Vec<u8>> {
        let state = self.state.lock();
        let open = rows.values().flatten().filter(|(_, ago)| ago.is_none());
        let bytes = |file: &str| state.folder.as_ref().and_then(|folder| folder.bytes(file));
        open.filter_map(|(file, _)| Some((file.clone(), bytes(file)?))).collect()
    }

    /// The files among these whose bytes are not known.
    pub fn missing(&self, said: &SaidRows) -> Vec<Box<str>> {
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
}

impl HistoryState {
    /// All rows of the folder, and what the policy in force serves where they cannot be written. A host that no site names is
    /// not asked for here.
    fn said(&self, policy: &Policy) -> SaidRows {
        let (mut said, served, now) = (SaidRows::new(), served(policy), self.own.clock.now());
        let mut say = |host: &str, version: &RowVersion, ago: Option<u64>| {
            let known = said.entry(host.into()).or_default().entry(version.word().into()).or_insert(ago);
            *known = known.zip(ago).map(|(one, other)| one.min(other));
        };
        for (host, rows) in self.own.processes().flat_map(|hosts| &hosts.0) {
            for row in rows.rows() {
                let ago = row.until().map(|until| now.since(until).as_secs());
                if ago.is_some() || row.version.file() != Some(&None) || served.at.contains_key(host) {
                    say(host, &row.version, ago);
                }
            }
        }
        served.at.iter().for_each(|(host, version)| say(host, version, None));
        said
    }

    fn last_ended(&self) -> NoticeTime {
        let rows = self.own.processes().flat_map(PastRows::rows);
        let now = self.own.clock.now();
        rows.filter_map(|row| row.until().filter(|until| *until <= now)).max().unwrap_or_default()
    }

    fn learn(&mut self, policy: &Policy, news: FleetNews) -> Option<()> {
        if self.is_closed {
            return Some(());
        }
        let folder = self.folder.as_ref()?;
        for bytes in &news.files {
            folder.keep(&digest(bytes), bytes).ok()?;
        }
        let (mut next, now) = (self.own.clone(), self.own.clock.now());
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
        let known = self.own.clock.now();
        next.stamps.push(NotedStamp { stamp: news.stamp, known, before: covers });
        next.stamps.drain(..next.stamps.len().saturating_sub(STAMPS));
        self.prune(&mut next, &served(policy));
        self.write(next).ok()
    }

    /// Takes up what a member says. What it served so far ended when this is known here: later than the truth. What came and
    /// went meanwhile ended as it says. What it does not know of the time before it matters to who joins it, and as long as it
    /// says so.
    fn take_up(&mut self, rows: &mut PastRows, said: SaidRows, joins: bool, now: NoticeTime) {
        let has_before = rows.0.values_mut().fold(joins, |has, rows| rows.forget_before() || has);
        let (mut heard, time) = (PastRows::default(), SystemTime::now());
        for (host, said) in said {
            let heard = heard.0.entry(host).or_default();
            for (word, ago) in said {
                let version = self.said_by(word);
                if version.doubt() == Some(Doubt::Before) && !has_before {
                    continue;
                }
                let ago = ago.map(Duration::from_secs);
                let since = time.checked_sub(ago.unwrap_or_default()).unwrap_or(time);
                heard.served(version, since, ago.map(|ago| now.before(ago)));
            }
        }
        rows.close(|host, one| heard.of(host).is_some_and(|rows| rows.open().any(|open| open == one)), now);
        rows.add(&heard);
    }

    /// What a member calls by a word.
    fn said_by(&mut self, word: Box<str>) -> RowVersion {
        if let Ok(doubt) = word.parse() {
            return RowVersion::Unknown(doubt);
        }
        let file = Some(word).filter(|word| !word.is_empty());
        match self.version(&file) {
            Ok(version) => RowVersion::known(version.rules, file),
            Err(doubt) => RowVersion::Unknown(doubt),
        }
    }

    /// Has a policy that begins serve what was served here last, where that is known: another file waits until the fleet
    /// knows of it.
    pub(super) fn keep_last(&self, policy: &mut Policy) {
        for site in &mut policy.sites {
            let all = || self.own.processes().chain(self.own.members.values());
            let last = |host: Box<str>| Self::rows(&host, all()).last_file().cloned();
            let mut files: Vec<_> = site.config.patterns().map(last).collect();
            files.dedup();
            let [Some(file)] = &files[..] else { continue };
            let bytes =
                file.as_deref().map(|file| self.folder.as_ref().and_then(|folder| folder.bytes(file)));
            if *file == file_of(site) || site.is_unknown || bytes == Some(None) {
                continue;
            }
            let path = site.config.robots.file.as_deref().unwrap_or_else(|| Path::new(""));
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
        let now = self.own.clock.now();
        for member in self.own.members.values_mut() {
            member.close(|_, _| false, now);
        }
        self.own.stamps.clear();
    }
}
