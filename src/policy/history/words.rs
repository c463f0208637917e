//! Hosts that the gateway never served before: what their origin gave out as robots.txt, by the origin's own answer.

use super::NoticeHistory;
use crate::decide::{NoticeTime, RulesId};
use crate::policy::robots_file::fitness;
use crate::policy::{Policy, Site};
use crate::record::{BeforeEntry, LedgerChange, digest};
use crate::robots::{ParseLimits, Robots};
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

/// The robots.txt that the origin itself serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginWord {
    /// Its bytes; none where it has no such file, or could not be asked.
    pub bytes: Option<Vec<u8>>,
    /// Its `Last-Modified`.
    pub modified: Option<SystemTime>,
}

/// Hosts that were never here before: those of one pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewHosts {
    /// Their site, by its index.
    pub site: usize,
    /// `example.org`, `*.example.org`, or `*` for every other host.
    pub pattern: Box<str>,
}

impl NoticeHistory {
    /// The hosts that the ledger never had, while it is whole: their origins may know their past.
    pub fn hosts_without_past(&self, policy: &Policy) -> Vec<NewHosts> {
        let state = self.state.lock();
        let Some(ledger) = &state.ledger else { return Vec::new() };
        let unknown: HashSet<&str> = state.past.hosts_without_past(ledger.process()).collect();
        let slots = policy.hosts.slots.iter().filter(|slot| unknown.contains(&*slot.pattern));
        slots.filter_map(|slot| Some(NewHosts { site: slot.site?, pattern: slot.pattern.clone() })).collect()
    }

    /// Takes origins' words for what hosts of theirs were given before; `true` where that changes something.
    pub(in crate::policy) fn take_origin_words(
        &self,
        policy: &Policy,
        words: &[(NewHosts, OriginWord)],
    ) -> bool {
        let hosts_without_past: HashSet<NewHosts> = self.hosts_without_past(policy).into_iter().collect();
        let mut state = self.state.lock();
        let mut changes = Vec::new();
        for (hosts, word) in words.iter().filter(|(hosts, _)| hosts_without_past.contains(hosts)) {
            let Some(site) = policy.sites().get(hosts.site) else { continue };
            let Some(until) = state.past.unknown_until(&hosts.pattern) else { continue };
            let notice = policy.config.period.notice;
            if let Some((file, before)) = word.judge_former(site, state.limits, notice, until) {
                changes.push(file);
                changes.push(LedgerChange::Before { hosts: [(hosts.pattern.clone(), before)].into() });
            }
        }
        !changes.is_empty() && state.append(changes).is_ok()
    }
}

impl OriginWord {
    /// What is to be noted of hosts of `site`, of which nothing is known `until` then: the origin's file, and what it
    /// stands for. Nothing where the origin's word says nothing.
    ///
    /// Other rules are what was there before. The same rules are no change for anybody, if they have been there for
    /// as long as a copy may be kept.
    fn judge_former(
        &self,
        site: &Site,
        limits: ParseLimits,
        notice: Duration,
        until: NoticeTime,
    ) -> Option<(LedgerChange, BeforeEntry)> {
        let bytes = self.bytes.as_deref().filter(|bytes| !bytes.is_empty())?;
        let robots = Robots::parse(bytes, &limits).robots;
        fitness(bytes).ok()?;
        let is_same = RulesId::of(&robots) == site.rules.current().rules;
        let age =
            self.modified.map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
        let (file, until) = match age {
            _ if !is_same => (Some(digest(bytes)), until),
            Some(age) if age >= notice => (Some(digest(bytes)), until),
            Some(age) => (None, until.before(age)),
            None => return None,
        };
        let replaced = u64::try_from(until.0.as_micros()).unwrap_or(u64::MAX);
        Some((LedgerChange::file(bytes), BeforeEntry { file, replaced }))
    }
}
