//! Requests that two files judge differently, counted by crawler and target.

use crate::decide::{Verdict, VerdictOutcome};
use crate::identify::{Identity, Purpose};
use crate::record::printable;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// How many are told apart. A site with more has a new robots.txt altogether.
const MOST: usize = 400_000;

/// How many bytes their targets have in all, and one of them.
const BYTES: usize = 48 << 20;
const LONGEST_TARGET: usize = 2_048;

/// One kind of request; field names are public API.
#[derive(Clone, Debug, Serialize)]
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

/// What the rules of one file say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileVerdict {
    pub(super) word: FlipWord,
    pub(super) line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum FlipWord {
    Allowed,
    Disallowed,
    /// Disallowed in another spelling only; no violation.
    Variant,
}

impl FileVerdict {
    /// Of a request that is not judged.
    pub(super) const ALLOWED: Self = Self { word: FlipWord::Allowed, line: None };

    pub(super) fn of(verdict: &Verdict<'_>) -> Self {
        let word = match verdict.outcome {
            VerdictOutcome::Allow | VerdictOutcome::Stale(_) => FlipWord::Allowed,
            VerdictOutcome::Variant => FlipWord::Variant,
            VerdictOutcome::Violation(_) => FlipWord::Disallowed,
        };
        let rule = verdict.ruling.as_ref().and_then(|ruling| ruling.rule.as_ref());
        Self { word, line: rule.map(|rule| rule.line) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FlipKey {
    client: &'static str,
    crawler: Option<Arc<str>>,
    purpose: Option<Purpose>,
    target: Box<[u8]>,
    old: FileVerdict,
    new: FileVerdict,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Flips {
    counts: HashMap<FlipKey, u64>,
    bytes: usize,
    /// Requests of kinds that found no room.
    rest: u64,
    unlisted: u64,
}

impl Flips {
    /// Counts `count` requests of `identity`, if the files say two things of them.
    pub(super) fn add(
        &mut self,
        identity: &Identity,
        target: &[u8],
        old: FileVerdict,
        new: FileVerdict,
        count: u64,
    ) {
        if old.word != new.word {
            let Identity { client, crawler, purpose, .. } = identity;
            let (client, crawler, purpose) = (client.as_str(), crawler.clone(), *purpose);
            self.put(FlipKey { client, crawler, purpose, target: target.into(), old, new }, count);
        }
    }

    fn put(&mut self, key: FlipKey, count: u64) {
        if let Some(known) = self.counts.get_mut(&key) {
            *known += count;
        } else if self.has_room(&key.target) {
            self.bytes += key.target.len();
            self.counts.insert(key, count);
        } else {
            self.rest += count;
            self.unlisted += 1;
        }
    }

    fn has_room(&self, target: &[u8]) -> bool {
        self.counts.len() < MOST && self.bytes + target.len() <= BYTES && target.len() <= LONGEST_TARGET
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.rest
    }

    pub(super) const fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// The `top` most frequent.
    pub(super) fn sorted(&self, top: usize) -> Vec<Flip> {
        let flip = |(key, count): (&FlipKey, &u64)| Flip {
            client: key.client,
            crawler: key.crawler.as_deref().map(str::to_owned),
            purpose: key.purpose.map(Purpose::as_str),
            target: printable(&key.target),
            from: key.old.word.into(),
            to: key.new.word.into(),
            old_line: key.old.line,
            new_line: key.new.line,
            count: *count,
        };
        let mut flips: Vec<Flip> = self.counts.iter().map(flip).collect();
        let order = |flip: &Flip| (Reverse(flip.count), flip.crawler.clone(), flip.target.clone(), flip.to);
        flips.sort_by_cached_key(order);
        flips.truncate(top);
        flips
    }
}
