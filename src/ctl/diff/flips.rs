//! Requests that two files judge differently, counted by crawler and target.

use crate::decide::{Verdict, VerdictOutcome};
use crate::identify::{Identity, Purpose};
use crate::record::printable;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// How many bytes are kept of what is told apart, and how many of each beside its target. A site with more has a new
/// robots.txt altogether.
const BYTES: usize = 128 << 20;
const OF_ONE: usize = 256;

/// One kind of request; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Flip {
    pub(super) client: &'static str,
    pub(super) crawler: Option<String>,
    pub(super) purpose: Option<&'static str>,
    pub(super) target: String,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    /// The line of the rule that decided, in the old file and in the new.
    pub(super) old_line: Option<u32>,
    pub(super) new_line: Option<u32>,
    pub(super) count: u64,
}

/// What the rules of one file say of a request, and the line that says it.
pub(super) type FileVerdict = (&'static str, Option<u32>);

/// What a verdict says. A variant is disallowed only in another spelling, and does not count as a violation.
pub(super) fn said(verdict: &Verdict<'_>) -> FileVerdict {
    let word = match verdict.outcome {
        VerdictOutcome::Allow | VerdictOutcome::Stale(_) => "allowed",
        VerdictOutcome::Variant => "variant",
        VerdictOutcome::Violation(_) => "disallowed",
    };
    let rule = verdict.ruling.as_ref().and_then(|ruling| ruling.rule.as_ref());
    (word, rule.map(|rule| rule.line))
}

/// What a search engine would lose; field names are public API.
#[derive(Debug, Serialize)]
pub(super) struct LostPages {
    pub(super) crawler: String,
    pub(super) pages: u64,
    pub(super) requests: u64,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Flips {
    /// By what they are, with no count.
    counts: HashMap<Flip, u64>,
    bytes: usize,
    /// Requests of kinds that found no room.
    pub(super) unlisted: u64,
}

impl Flips {
    /// Counts `count` requests of `identity`, if the files say two things of them.
    pub(super) fn add(
        &mut self,
        identity: &Identity,
        target: &[u8],
        (from, old_line): FileVerdict,
        (to, new_line): FileVerdict,
        count: u64,
    ) {
        if from == to {
            return;
        }
        let crawler = identity.crawler.as_deref().map(str::to_owned);
        let (client, purpose) = (identity.client.as_str(), identity.purpose.map(Purpose::as_str));
        let target = printable(target);
        let key = Flip { client, crawler, purpose, target, from, to, old_line, new_line, count: 0 };
        if let Some(known) = self.counts.get_mut(&key) {
            *known += count;
        } else if self.bytes < BYTES {
            self.bytes += key.target.len() + OF_ONE;
            self.counts.insert(key, count);
        } else {
            self.unlisted += count;
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.unlisted
    }

    /// The `top` most frequent.
    pub(super) fn sorted(&self, top: usize) -> Vec<Flip> {
        let mut flips: Vec<(&Flip, u64)> = self.counts.iter().map(|(flip, count)| (flip, *count)).collect();
        flips.sort_by_key(|(flip, count)| (Reverse(*count), &flip.crawler, &flip.target, flip.to));
        flips.iter().take(top).map(|(flip, count)| Flip { count: *count, ..(*flip).clone() }).collect()
    }

    /// What search engines would lose, most first.
    pub(super) fn losses(&self) -> Vec<LostPages> {
        let is_lost = |flip: &Flip| flip.purpose == Some(Purpose::Search.as_str()) && flip.to == "disallowed";
        let mut losses: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (flip, count) in self.counts.iter().filter(|(flip, _)| is_lost(flip)) {
            let (pages, requests) = losses.entry(flip.crawler.as_deref().unwrap_or_default()).or_default();
            (*pages, *requests) = (*pages + 1, *requests + count);
        }
        let lost = |(crawler, (pages, requests)): (&str, (u64, u64))| LostPages {
            crawler: crawler.to_owned(),
            pages,
            requests,
        };
        let mut losses: Vec<LostPages> = losses.into_iter().map(lost).collect();
        losses.sort_by_key(|loss| Reverse((loss.requests, loss.pages)));
        losses
    }
}
