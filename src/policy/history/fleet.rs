//! What other members of a fleet served, in the past of hosts.
//!
//! A member has rows of its own in the document of this process: what it serves or is about to serve is open there, and is
//! replaced when this process learns that it is over. Members know of each other by stamps, which the database gives in one
//! order. Each stamp is noted with a time that certainly came before all that came after it, and so reads that another
//! member saw find their place among the rows here. That place is never later than the truth, and what was learnt late is
//! replaced late: not to know enough only excuses.

use super::{NoticeHistory, file_of, served};
use crate::decide::{Doubt, NoticeTime};
use crate::policy::hosts::Hosts;
use crate::policy::standing::{FleetNews, OwnWord};
use crate::policy::{Policy, RobotsFile, Site};
use crate::record::{NotedStamp, NotedWaiver, PastRows, RowsError, ServedVersions, digest, kept_robots};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// As many changes in a day are none that anybody makes.
const STAMPS: usize = 4_096;

impl NoticeHistory {
    /// A stamp that had been given before anything that a policy as of then, in microseconds, was in force for.
    pub fn stamp_of(&self, as_of: u64) -> u64 {
        let as_of = NoticeTime(Duration::from_micros(as_of));
        let noted = self.own.stamps.iter().rev().find(|noted| noted.known <= as_of);
        noted.map_or(0, |noted| noted.stamp)
    }

    /// A time that certainly came before what came after `stamp`; the beginning where none is known.
    pub(in crate::policy) fn time_before(&self, stamp: u64) -> NoticeTime {
        let noted = self.own.stamps.iter().rev().find(|noted| noted.stamp <= stamp);
        noted.map_or_else(NoticeTime::default, |noted| noted.before)
    }

    /// Writes what a policy would serve, so that the others hear of it. Until another one is announced, or this one is in
    /// force, it counts as served. `true` where other processes are to see it first: then it is announced once more.
    pub(in crate::policy) fn announce(&mut self, policy: &Policy) -> Result<bool, RowsError> {
        let is_unseen = self.record(policy)? && self.may_have_company();
        self.announced = served(policy);
        Ok(is_unseen)
    }

    /// How often something had come to be served by what is announced and not all in force; nothing where all is.
    pub fn announced(&self) -> Option<u64> {
        (!self.announced.at.is_empty()).then_some(self.opened)
    }

    /// What is announced comes to nothing.
    pub(in crate::policy) fn withdraw(&mut self) {
        (self.announced, self.has_former) = (ServedVersions::default(), true);
    }

    /// What this gateway says to the other members.
    pub(in crate::policy) fn word(&self, policy: &Policy) -> OwnWord {
        let (now, notice) = (self.own.clock.now(), self.notice);
        let own = self.own.waived.iter();
        let own = own.filter(|noted| noted.is_for_others && now < noted.at.after(notice));
        let waived = own.map(|noted| noted.said.clone()).collect();
        let (rows, notice) = (self.said(policy), notice.as_secs_f64());
        OwnWord { opened: self.opened, covers: self.last_ended(), rows, notice, waived, ..OwnWord::default() }
    }

    /// The bytes of files that are served here, or about to be.
    pub fn bytes(&self, rows: &PastRows) -> BTreeMap<Box<str>, Vec<u8>> {
        let open = rows.rows().filter(|row| row.until.is_none());
        let files = open.filter_map(|row| row.version.file()?.clone());
        files.filter_map(|file| kept_robots(&self.path, &file).map(|bytes| (file, bytes))).collect()
    }

    /// The files among these whose bytes are not known.
    pub fn missing(&self, said: &PastRows) -> Vec<Box<str>> {
        let files = said.files().into_iter().flatten().cloned();
        files.filter(|file| kept_robots(&self.path, file).is_none()).collect()
    }

    /// All rows of the folder, and what the policy in force serves where they cannot be written. A host that no site names is
    /// not asked for here.
    fn said(&self, policy: &Policy) -> PastRows {
        let served = ServedVersions { elsewhere: None, ..served(policy) };
        let (mut said, now) = (PastRows::default(), self.own.clock.now());
        self.own.processes().for_each(|rows| said.add(rows));
        said.serve(&served, SystemTime::now());
        for (_, host) in said.0.iter_mut().filter(|(pattern, _)| !served.at.contains_key(*pattern)) {
            host.rows.retain(|row| row.until.is_some() || row.version.file() != Some(&None));
        }
        said.reckon(|until| until.map(|until| now.since(NoticeTime(until))));
        said
    }

    fn last_ended(&self) -> NoticeTime {
        let rows = self.own.processes().flat_map(PastRows::rows);
        let now = self.own.clock.now();
        rows.filter_map(|row| row.until().filter(|until| *until <= now)).max().unwrap_or_default()
    }

    /// Notes what other members of the fleet serve.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::policy) fn learn(&mut self, policy: &Policy, news: FleetNews) -> Result<(), RowsError> {
        if self.is_closed {
            return Ok(());
        }
        for bytes in &news.files {
            self.keep(&digest(bytes), bytes)?;
        }
        let (mut next, now) = (self.own.clone(), self.own.clock.now());
        for (member, said) in news.members {
            let rows = next.members.entry(member).or_default();
            Self::take_up(rows, said, news.known_for.is_some(), now);
        }
        if let Some(known_for) = news.known_for {
            let is_known = |pattern: &str| next.members.values().any(|member| member.of(pattern).is_some());
            for (_, rows) in next.hosts.0.iter_mut().filter(|(pattern, _)| is_known(pattern)) {
                rows.forget_before();
                rows.doubt(Doubt::Before, Some(now.before(known_for)));
            }
        }
        for said in news.waived {
            next.waive(NotedWaiver { said, is_for_others: false, at: now });
        }
        if next == self.own && !news.is_own {
            return Ok(());
        }
        let covers = if self.last_ended() > news.covers { news.covers } else { now };
        // A database that was set back gives stamps again: those before say nothing any more.
        next.stamps.retain(|noted| noted.stamp < news.stamp);
        let known = self.own.clock.now();
        next.stamps.push(NotedStamp { stamp: news.stamp, known, before: covers });
        next.stamps.drain(..next.stamps.len().saturating_sub(STAMPS));
        self.prune(&mut next, &served(policy));
        self.write(next)
    }

    /// Takes up what a member says. What it served so far ended when this is known here: later than the truth. What came and
    /// went meanwhile ended as it says. What it does not know of the time before it matters to who joins it, and as long as it
    /// says so.
    fn take_up(rows: &mut PastRows, mut said: PastRows, joins: bool, now: NoticeTime) {
        let has_before = rows.0.values_mut().fold(joins, |has, rows| rows.forget_before() || has);
        for rows in said.0.values_mut().filter(|_| !has_before) {
            rows.forget_before();
        }
        said.reckon(|ago| ago.map(|ago| now.before(ago).0));
        rows.close(|host, one| said.of(host).is_some_and(|rows| rows.open().any(|open| open == one)), now);
        rows.add(&said);
    }

    /// Has a policy that begins serve what was served here last, where that is known: another file waits until the fleet
    /// knows of it.
    pub(super) fn keep_last(&self, policy: &mut Policy) {
        let mut sites = policy.sites.clone();
        for site in &mut sites {
            let all = || self.own.processes().chain(self.own.members.values());
            let last = |host: Box<str>| Self::rows(&host, all()).last_file().cloned();
            let mut files: Vec<_> = site.config.patterns().map(last).collect();
            files.dedup();
            let [Some(file)] = &files[..] else { continue };
            let bytes = file.as_deref().map(|file| kept_robots(&self.path, file));
            if *file == file_of(site) || site.is_unknown || bytes == Some(None) {
                continue;
            }
            let path = site.config.robots.file.as_deref().unwrap_or_else(|| Path::new(""));
            let file = bytes.flatten().map(|bytes| Arc::new(RobotsFile::of(path, bytes)));
            let kept = site.serving(file, policy);
            let error = "the robots.txt changed, and waits until the fleet knows of it";
            *site = Arc::new(Site { error: Some(error.to_owned()), ..kept });
        }
        (policy.hosts, policy.sites) = (Hosts::plain(&sites), sites);
    }
}
