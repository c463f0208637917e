//! Lines of a log, judged by two files, in one thread.

use super::SitePair;
use super::flips::{FileVerdict, FlipWord, Flips};
use super::pace::PacedLine;
use crate::ctl::access_log::{Chunk, LogEntry, parse};
use crate::ctl::replay::{HeaderCache, LineCounts, LineKind, Sites, notice_time};
use crate::decide::NoticeTime;
use crate::identify::{Identity, Proof, Recognised};
use crate::policy::{JudgedClient, Site};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::sync::Arc;

/// What one chunk came to, or all of them.
#[derive(Debug, Default)]
pub(super) struct DiffResult {
    pub(super) tally: LineCounts,
    /// Logs that could not be read to their end: which, and why.
    pub(super) broken: Vec<(usize, String)>,
    pub(super) flips: Flips,
    /// In the order of the log.
    pub(super) paced: Vec<PacedLine>,
}

impl DiffResult {
    pub(super) fn add(&mut self, other: Self) {
        self.tally.add(&other.tally);
        self.broken.extend(other.broken);
        self.flips.merge(other.flips);
    }
}

/// One thread's memory.
pub(super) struct DiffMemory<'a> {
    pair: &'a SitePair<'a>,
    sites: &'a Sites,
    /// Who a header is from, by either file.
    headers: HeaderCache<(Recognised, Recognised)>,
}

impl<'a> DiffMemory<'a> {
    pub(super) fn new(pair: &'a SitePair<'a>, sites: &'a Sites) -> Self {
        Self { pair, sites, headers: HeaderCache::default() }
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk) -> DiffResult {
        let broken = chunk.broken.clone().map(|why| (chunk.log, why)).into_iter().collect();
        let mut part = DiffResult { broken, ..DiffResult::default() };
        for _ in 0..chunk.overlong {
            part.tally.count(LineKind::Lines);
            part.tally.count(LineKind::Unread);
        }
        for line in chunk.bytes.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            part.tally.count(LineKind::Lines);
            match parse(line, &mut String::new()) {
                Some(entry) => self.entry(&entry, &mut part),
                None => part.tally.count(LineKind::Unread),
            }
        }
        part
    }

    fn entry(&mut self, entry: &LogEntry<'_>, part: &mut DiffResult) {
        if self.sites.of(entry.host.as_deref()).is_none() {
            return part.tally.count(LineKind::OtherHosts);
        }
        let Some(request) = &entry.request else { return };
        let Some(agent) = entry.agent.header() else {
            return part.tally.count(LineKind::WithoutUserAgent);
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
        let at = notice_time(entry.at);
        let by_old = judge_at_site(self.pair, self.pair.old, &facts, &target, old, at);
        let by_new = judge_at_site(self.pair, self.pair.new, &facts, &target, new, at);
        if by_old.is_some() || by_new.is_some() {
            part.tally.count(LineKind::Judged);
        }
        let is_allowed = [&by_old, &by_new]
            .map(|by| by.as_ref().is_some_and(|by| by.word == FlipWord::Allowed) && !target.is_robots_txt());
        let senders = [&senders.0, &senders.1];
        part.paced.extend(PacedLine::of(self.pair, &facts, &target, senders, is_allowed, at));
        let [by_old, by_new] = [by_old, by_new].map(|by| by.unwrap_or(FileVerdict::ALLOWED));
        part.flips.add(&identity, &facts.target, by_old, by_new, 1);
    }

    fn sender(&mut self, agent: &[u8]) -> (Recognised, Recognised) {
        let by =
            |site: &Site| site.recognise(self.pair.policy, Some(agent).filter(|agent| !agent.is_empty()));
        self.headers.of(agent, || (by(self.pair.old), by(self.pair.new))).clone()
    }
}

/// What one file says; `None` of a request that is not judged.
fn judge_at_site(
    pair: &SitePair<'_>,
    site: &Site,
    facts: &RequestFacts<'_>,
    target: &RequestTarget<'_>,
    who: Recognised,
    now: NoticeTime,
) -> Option<FileVerdict> {
    let (proof, reads) = (|_: &Identity| Proof::Unchecked.into(), |_: &Identity, _| Vec::new());
    let (policy, rules) = (pair.policy, &site.rules);
    let client = JudgedClient { policy, site, rules, facts, target, recognised: who, now };
    let judged = client.judge(proof, reads);
    judged.verdict.is_judged().then(|| FileVerdict::of(&judged.verdict))
}
