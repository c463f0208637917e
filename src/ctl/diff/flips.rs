//! Requests that two files judge differently, counted by crawler and target.

use crate::decide::{Verdict, VerdictOutcome};
use crate::identify::{Identity, Purpose};
use crate::record::printable;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// How many are told apart. A site with more has a new robots.txt altogether.
const MOST: usize = 400_000;

/// How many bytes their targets have in all, and one of them.
const BYTES: usize = 48 << 20;
const LONGEST_TARGET: usize = 2_048;

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

/// Of a request that is not judged.
pub(super) const ALLOWED: FileVerdict = ("allowed", None);

/// What a verdict says. A variant is disallowed only in another spelling, and does not count as a violation.
pub(super) fn said(verdict: &Verdict<'_>) -> FileVerdict {
    let word = match verdict.outcome {
        VerdictOutcome::Allow | VerdictOutcome::Stale(_) => ALLOWED.0,
        VerdictOutcome::Variant => "variant",
        VerdictOutcome::Violation(_) => "disallowed",
    };
    let rule = verdict.ruling.as_ref().and_then(|ruling| ruling.rule.as_ref());
    (word, rule.map(|rule| rule.line))
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Flips {
    /// By what they are, with no count.
    counts: HashMap<Flip, u64>,
    bytes: usize,
    /// Requests of kinds that found no room, and how many these were.
    rest: u64,
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
        } else if self.counts.len() < MOST && self.bytes < BYTES && key.target.len() <= LONGEST_TARGET {
            self.bytes += key.target.len();
            self.counts.insert(key, count);
        } else {
            self.rest += count;
            self.unlisted += 1;
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.rest
    }

    /// The `top` most frequent.
    pub(super) fn sorted(&self, top: usize) -> Vec<Flip> {
        let mut flips: Vec<(&Flip, u64)> = self.counts.iter().map(|(flip, count)| (flip, *count)).collect();
        flips.sort_by_key(|(flip, count)| (Reverse(*count), &flip.crawler, &flip.target, flip.to));
        flips.iter().take(top).map(|(flip, count)| Flip { count: *count, ..(*flip).clone() }).collect()
    }
}
