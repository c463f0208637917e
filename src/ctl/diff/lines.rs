//! Lines of a log, judged by two files, in one thread.

use super::SitePair;
use super::flips::{FileVerdict, FlipWord, Flips};
use super::pace::PacedLine;
use crate::ctl::access_log::{Chunk, LogEntry, parse};
use crate::ctl::replay::Sites;
use crate::decide::NoticeTime;
use crate::identify::{Identity, Proof, Recognised};
use crate::policy::{JudgedClient, Site};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How many headers are remembered, and the longest of them.
const HEADERS: usize = 16_384;
const LONGEST_HEADER: usize = 1_024;

/// What one chunk came to, or all of them.
#[derive(Debug, Default)]
pub(super) struct DiffResult {
    pub(super) lines: u64,
    pub(super) unread: u64,
    pub(super) judged: u64,
    /// Lines that do not tell the User-Agent.
    pub(super) unlogged: u64,
    /// Of a host that is not the site's.
    pub(super) elsewhere: u64,
    /// Logs that could not be read to their end: which, and why.
    pub(super) broken: Vec<(usize, String)>,
    pub(super) flips: Flips,
    /// In the order of the log.
    pub(super) paced: Vec<PacedLine>,
}

impl DiffResult {
    pub(super) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.unread += other.unread;
        self.judged += other.judged;
        self.unlogged += other.unlogged;
        self.elsewhere += other.elsewhere;
        self.broken.extend(other.broken);
        self.flips.merge(other.flips);
    }
}

/// One thread's memory.
pub(super) struct DiffMemory<'a> {
    pair: &'a SitePair<'a>,
    sites: &'a Sites,
    /// Who a header is from, by either file.
    headers: HashMap<Box<[u8]>, (Recognised, Recognised)>,
}

impl<'a> DiffMemory<'a> {
    pub(super) fn new(pair: &'a SitePair<'a>, sites: &'a Sites) -> Self {
        Self { pair, sites, headers: HashMap::new() }
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk) -> DiffResult {
        let broken = chunk.broken.clone().map(|why| (chunk.log, why)).into_iter().collect();
        let mut part =
            DiffResult { lines: chunk.overlong, unread: chunk.overlong, broken, ..DiffResult::default() };
        for line in chunk.bytes.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            part.lines += 1;
            match parse(line) {
                Some(entry) => self.entry(&entry, &mut part),
                None => part.unread += 1,
            }
        }
        part
    }

    fn entry(&mut self, entry: &LogEntry<'_>, part: &mut DiffResult) {
        if self.sites.of(entry.host.as_deref()).is_none() {
            part.elsewhere += 1;
            return;
        }
        let Some(request) = &entry.request else { return };
        let Some(agent) = entry.agent.header() else {
            part.unlogged += 1;
            return;
        };
        let (old, new) = self.sender(agent);
        if !old.identity.client.is_judged() && !new.identity.client.is_judged() {
            return;
        }
        let Some(facts) = entry.facts(request, "GET") else { return };
        let target = RequestTarget::new(&facts.target, self.pair.old.config.path_parameters);
        let identity =
            Arc::clone(if new.identity.client.is_judged() { &new.identity } else { &old.identity });
        let senders = (Arc::clone(&old.identity), Arc::clone(&new.identity));
        let by_old = judge_at_site(self.pair, self.pair.old, &facts, &target, old, entry.at);
        let by_new = judge_at_site(self.pair, self.pair.new, &facts, &target, new, entry.at);
        part.judged += u64::from(by_old.is_some() || by_new.is_some());
        let is_allowed = [&by_old, &by_new]
            .map(|by| by.as_ref().is_some_and(|by| by.word == FlipWord::Allowed) && !target.is_robots_txt());
        let at = NoticeTime(Duration::from_micros(u64::try_from(entry.at).unwrap_or_default()));
        let senders = [&senders.0, &senders.1];
        part.paced.extend(PacedLine::of(self.pair, &facts, &target, senders, is_allowed, at));
        count(&identity, &facts.target, by_old, by_new, part);
    }

    fn sender(&mut self, agent: &[u8]) -> (Recognised, Recognised) {
        if let Some(known) = self.headers.get(agent) {
            return known.clone();
        }
        let header = Some(agent).filter(|agent| !agent.is_empty());
        let by = |site: &Site| site.recognise(self.pair.policy, header);
        let both = (by(self.pair.old), by(self.pair.new));
        if agent.len() <= LONGEST_HEADER {
            if self.headers.len() >= HEADERS {
                self.headers.clear();
            }
            self.headers.insert(agent.into(), both.clone());
        }
        both
    }
}

/// What one file says; `None` of a request that is not judged.
fn judge_at_site(
    pair: &SitePair<'_>,
    site: &Site,
    facts: &RequestFacts<'_>,
    target: &RequestTarget<'_>,
    who: Recognised,
    at: i64,
) -> Option<FileVerdict> {
    let now = NoticeTime(Duration::from_micros(u64::try_from(at).unwrap_or_default()));
    let (proof, reads) = (|_: &Identity| Proof::Unchecked.into(), |_: &Identity, _| Vec::new());
    let (policy, rules) = (pair.policy, &site.rules);
    let client = JudgedClient { policy, site, rules, facts, target, recognised: who, now };
    let judged = client.judge(proof, reads);
    judged.verdict.is_judged().then(|| FileVerdict::of(&judged.verdict))
}

fn count(
    identity: &Identity,
    target: &[u8],
    old: Option<FileVerdict>,
    new: Option<FileVerdict>,
    part: &mut DiffResult,
) {
    let allowed = FileVerdict { word: FlipWord::Allowed, line: None };
    let (old, new) = (old.unwrap_or(allowed), new.unwrap_or(allowed));
    if old.word != new.word {
        part.flips.add(identity, target, old, new, 1);
    }
}
