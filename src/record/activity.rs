//! What one subject did in a time: the store is read into it, a log is counted into it, and a report is made of it.

use super::store::{OTHER_PATHS, ReadTotal};
use super::tally::{CountSubject, CountedDecision, PathCounts, SeenInstants};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// What everybody did, by who it was.
pub type Activities = HashMap<Arc<CountSubject>, Activity>;

/// What one subject did. Instants are in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// When it was seen, over all that is kept; how often is not counted.
    pub seen: Option<SeenInstants>,
    /// What was decided, how often, and when first and last. Of a store these are the starts of its roll-ups.
    pub decisions: HashMap<Arc<CountedDecision>, SeenInstants>,
    /// How many requests came when.
    pub stretches: Vec<Stretch>,
    /// What was asked for; `(other)` for all that is not kept by name. Bytes that are not UTF-8 are `\xNN`.
    pub paths: HashMap<String, PathCounts>,
    /// Of the bodies that it was sent; `None` where nothing was counted: beside another proxy, or of a log without them.
    pub bytes: Option<u64>,
    /// What it read.
    pub reads: Vec<ReadTotal>,
    /// When it last fetched a robots.txt that is not known to be the one that is judged by.
    pub other_fetch: Option<i64>,
    /// Nothing can be said of it but what the rules would have meant: they were not published, as far as is known.
    pub is_hypothetical: bool,
}

/// Requests within a stretch of time, which is in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins.
    pub start: i64,
    /// How long it is.
    pub length: i64,
    /// How many requests came in it.
    pub requests: u64,
    /// How many of them were violations.
    pub violations: u64,
}

impl Stretch {
    /// The moment after it.
    pub const fn end(&self) -> i64 {
        self.start.saturating_add(self.length)
    }

    /// Adds requests of a part of it.
    pub const fn add(&mut self, part: &Self) {
        self.requests += part.requests;
        self.violations += part.violations;
    }
}

impl Activity {
    /// Adds what another store has of it, or what it did under another spelling of its name.
    pub fn add(&mut self, other: Self) {
        if let Some(seen) = other.seen {
            seen.add_to(&mut self.seen);
        }
        for (decision, seen) in other.decisions {
            self.decide(decision, seen);
        }
        self.stretches.extend(other.stretches);
        for (target, counts) in other.paths {
            self.paths.entry(target).or_default().add(&counts);
        }
        self.bytes = self.bytes.into_iter().chain(other.bytes).reduce(u64::saturating_add);
        self.reads.extend(other.reads);
        self.other_fetch = self.other_fetch.max(other.other_fetch);
        self.is_hypothetical |= other.is_hypothetical;
    }

    /// Adds requests of which this was decided.
    pub(super) fn decide(&mut self, decision: Arc<CountedDecision>, seen: SeenInstants) {
        self.decisions.entry(decision).and_modify(|known| known.add(seen)).or_insert(seen);
    }

    /// How many requests were decided so.
    pub fn requests(&self, is_so: impl Fn(&CountedDecision) -> bool) -> u64 {
        self.decisions.iter().filter(|(decision, _)| is_so(decision)).map(|(_, seen)| seen.count).sum()
    }
}

/// The `top` targets, those with the most violations first and then those with the most requests, and all the rest as
/// `(other)`.
pub fn top_paths(
    paths: impl IntoIterator<Item = (String, PathCounts)>,
    top: usize,
) -> Vec<(String, PathCounts)> {
    let (other, mut paths): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|(target, _)| target == OTHER_PATHS);
    let mut rest = PathCounts::default();
    for (_, counts) in other {
        rest.add(&counts);
    }
    paths.sort_by(|one, two| (Reverse(one.1.weight()), &one.0).cmp(&(Reverse(two.1.weight()), &two.0)));
    paths.drain(top.min(paths.len())..).for_each(|(_, counts)| rest.add(&counts));
    paths.extend((rest.requests() > 0).then(|| (OTHER_PATHS.to_owned(), rest)));
    paths
}
