//! Lines of a log, judged by two files.

use super::SitePair;
use super::flips::{ALLOWED, FileVerdict, Flips, said};
use crate::ctl::logs::{LogEntry, WalkedLine};
use crate::ctl::replay::{HeaderCache, LineCounts, LineKind, Sites, notice_time};
use crate::decide::NoticeTime;
use crate::identify::{Identity, Proof, Recognised};
use crate::policy::{JudgedClient, Site};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::sync::Arc;

/// What is counted and remembered along the way.
pub(super) struct DiffMemory<'a> {
    pair: &'a SitePair<'a>,
    sites: &'a Sites,
    /// Who a header is from, by either file.
    headers: HeaderCache<(Recognised, Recognised)>,
    pub(super) lines: LineCounts,
    pub(super) flips: Flips,
}

impl<'a> DiffMemory<'a> {
    pub(super) fn new(pair: &'a SitePair<'a>, sites: &'a Sites) -> Self {
        let (headers, lines, flips) = (HeaderCache::default(), LineCounts::default(), Flips::default());
        Self { pair, sites, headers, lines, flips }
    }

    pub(super) fn line(&mut self, line: &WalkedLine<&[u8]>) {
        self.lines.count(LineKind::Lines);
        match line {
            WalkedLine::Entry(entry) => self.entry(entry),
            WalkedLine::Unread { .. } => self.lines.count(LineKind::Unread),
        }
    }

    fn entry(&mut self, entry: &LogEntry<&[u8]>) {
        let host = entry.host.and_then(|host| std::str::from_utf8(host).ok());
        if self.sites.of(host).is_none() {
            return self.lines.count(LineKind::OtherHosts);
        }
        let Some(agent) = entry.agent else { return self.lines.count(LineKind::WithoutUserAgent) };
        let (old, new) = self.sender(agent);
        if !old.identity.client.is_judged() && !new.identity.client.is_judged() {
            return;
        }
        let Some(facts) = entry.facts() else { return };
        let target = RequestTarget::new(&facts.target, self.pair.old.config.path_parameters);
        let identity =
            Arc::clone(if new.identity.client.is_judged() { &new.identity } else { &old.identity });
        let at = notice_time(entry.at);
        let by_old = judge_at_site(self.pair, self.pair.old, &facts, &target, old, at);
        let by_new = judge_at_site(self.pair, self.pair.new, &facts, &target, new, at);
        if by_old.is_some() || by_new.is_some() {
            self.lines.count(LineKind::Judged);
        }
        let [by_old, by_new] = [by_old, by_new].map(|by| by.unwrap_or(ALLOWED));
        self.flips.add(&identity, &facts.target, by_old, by_new, 1);
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
    judged.verdict.is_judged().then(|| said(&judged.verdict))
}
