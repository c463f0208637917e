//! How many requests of a log would have been too fast by either file.

use super::SitePair;
use crate::decide::{NoticeTime, PaceLimit};
use crate::enforce::{Action, PaceChoice, enforce_pace};
use crate::identify::{Identity, Proof};
use crate::policy::{Site, pace_in_force};
use crate::record::{PaceBook, ReaderId};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// So many crawlers are told of by name.
const NAMES: usize = 1_000;

/// One crawler's pace; field names are public API. Delays are in seconds.
#[derive(Debug, Serialize)]
pub(super) struct PaceChange {
    pub(super) crawler: Option<Box<str>>,
    pub(super) old_delay: Option<f64>,
    pub(super) new_delay: Option<f64>,
    /// Requests that would have been too fast.
    pub(super) old: u64,
    pub(super) new: u64,
}

/// A request of a client that either file asks to keep a pace.
#[derive(Debug)]
pub(super) struct PacedLine {
    at: NoticeTime,
    identity: Arc<Identity>,
    host: Box<str>,
    address: Option<IpAddr>,
    target: Box<[u8]>,
    limits: [Option<PaceLimit>; 2],
}

impl PacedLine {
    /// The request, where there is such a pace, it `is_allowed` by that file, and it would be slowed where pace is enforced:
    /// clients that are only audited never are.
    pub(super) fn of(
        pair: &SitePair<'_>,
        facts: &RequestFacts<'_>,
        target: &RequestTarget<'_>,
        senders: [&Arc<Identity>; 2],
        is_allowed: [bool; 2],
        at: NoticeTime,
    ) -> Option<Self> {
        let of = |site: &Site, who: &Identity, is_allowed: bool| {
            let action = enforce_pace(site.modes.of(who), PaceChoice::Enforce, who, target);
            let pace = pace_in_force(pair.policy, &site.rules, who).map(|pace| pace.limit);
            pace.filter(|_| is_allowed && action == Action::Refuse)
        };
        let ([old, new], [by_old, by_new]) = (senders, is_allowed);
        let limits = [of(pair.old, old, by_old), of(pair.new, new, by_new)];
        limits.iter().any(Option::is_some).then(|| Self {
            at,
            identity: Arc::clone(new),
            host: (&*facts.host).into(),
            address: facts.address,
            target: (&*facts.target).into(),
            limits,
        })
    }
}

/// By the old file and by the new one: the limit, and how many requests were too fast.
type FoundPace = ([Option<PaceLimit>; 2], [u64; 2]);

/// Both files' windows, and what they came to.
#[derive(Debug, Default)]
pub(super) struct PaceTotals {
    windows: [PaceBook; 2],
    found: BTreeMap<Option<Arc<str>>, FoundPace>,
}

impl PaceTotals {
    /// Adds the next line of the log.
    pub(super) fn add(&mut self, line: &PacedLine) {
        let who = ReaderId::new(&line.host, &line.identity, Proof::Unchecked, line.address);
        let is_known = self.found.contains_key(&line.identity.crawler) || self.found.len() < NAMES;
        let entry = is_known.then(|| self.found.entry(line.identity.crawler.clone()).or_default());
        let too_fast = [0, 1].map(|file: usize| {
            let (limit, windows) = (line.limits.get(file).copied().flatten(), self.windows.get(file));
            let pair = limit.as_ref().zip(windows);
            pair.is_some_and(|(limit, windows)| {
                windows.admit(&who, limit, &line.target, line.at.0, true).is_err()
            })
        });
        if let Some((limits, counts)) = entry {
            *limits = line.limits;
            counts.iter_mut().zip(too_fast).for_each(|(count, is_so)| *count += u64::from(is_so));
        }
    }

    /// Those of whom the two files make something else, the most requests first.
    pub(super) fn changes(self) -> Vec<PaceChange> {
        let delay = |limit: Option<PaceLimit>| limit.map(|limit| limit.delay.as_secs_f64());
        let differing = self.found.into_iter().filter(|(_, (_, [old, new]))| old != new);
        let mut changes: Vec<PaceChange> = differing
            .map(|(crawler, ([by_old, by_new], [old, new]))| PaceChange {
                crawler: crawler.as_deref().map(Into::into),
                old_delay: delay(by_old),
                new_delay: delay(by_new),
                old,
                new,
            })
            .collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.old.max(change.new)));
        changes
    }
}
