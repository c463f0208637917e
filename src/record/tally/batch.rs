//! Counts that are not written yet. Bounded, and exact up to its bounds.
//!
//! Where room runs out, precision goes before counts do: first targets are counted as the rest of their
//! day, then made-up names as the rest of theirs, then minutes as hours. Only when even that finds no room
//! is a count lost, and then it is counted as lost.

use super::decision::{Decision, DecisionRef};
use super::gaps::Gaps;
use super::instant::{DAY, HOUR, MINUTE, start_of};
use super::subject::{Subject, SubjectRef};
use crate::decide::VersionId;
use crate::enforce::Action;
use crate::record::event::{Event, EventKind};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::sync::Arc;

/// Longer targets, in octets, are counted with the rest: nobody reads them in a report, and a client could
/// fill the memory with a few.
const LONGEST_TARGET: usize = 2_048;

/// Events kept in full for one subject and decision, of one batch.
const SAMPLES_PER_DECISION: u8 = 4;

pub(in crate::record) type Map<K, V> = HashMap<K, V, RandomState>;

/// How much a batch may hold.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Bounds {
    /// Roll-ups by minute; beyond it they are kept by hour, and beyond twice as many not at all.
    pub(in crate::record) rollups: usize,
    /// Targets by day.
    pub(in crate::record) paths: usize,
    /// Made-up names.
    pub(in crate::record) strangers: usize,
    /// Events in full.
    pub(in crate::record) samples: usize,
    /// Readers by version.
    pub(in crate::record) reads: usize,
    /// Octets of robots.txt files.
    pub(in crate::record) robots: usize,
}

/// What did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events, readers, versions and targets that are missing; the requests are counted all the same.
    pub details_dropped: u64,
    /// Requests that are not counted.
    pub counts_lost: u64,
}

impl Losses {
    pub(in crate::record) const fn plus(self, other: Self) -> Self {
        Self {
            details_dropped: self.details_dropped.saturating_add(other.details_dropped),
            counts_lost: self.counts_lost.saturating_add(other.counts_lost),
        }
    }
}

/// A period of roll-ups: its length and its start, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::record) struct Period {
    pub(in crate::record) span: i64,
    pub(in crate::record) start: i64,
}

/// How often a target was asked for on a day, by what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct PathCount {
    pub(in crate::record) day: i64,
    pub(in crate::record) kind: EventKind,
    pub(in crate::record) action: Action,
    pub(in crate::record) count: u64,
}

/// Which read of a version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::record) struct ReadKey {
    pub(in crate::record) version: VersionId,
    /// When the version came into force, in microseconds.
    pub(in crate::record) in_force: i64,
    pub(in crate::record) host: Box<str>,
    pub(in crate::record) network: Option<Box<str>>,
}

/// First and last instant, in microseconds, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Seen {
    pub(in crate::record) first: i64,
    pub(in crate::record) last: i64,
    pub(in crate::record) count: u64,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.count = self.count.saturating_add(other.count);
    }
}

/// An event in full.
#[derive(Clone, Debug)]
pub(in crate::record) struct KeptEvent {
    pub(in crate::record) decision: Decision,
    pub(in crate::record) at: i64,
    pub(in crate::record) event: Box<Event>,
}

/// A version that came into force at a site; without bytes for a site without a file.
#[derive(Clone, Debug)]
pub(in crate::record) struct InForce {
    pub(in crate::record) site: Box<str>,
    pub(in crate::record) bytes: Option<Arc<[u8]>>,
    pub(in crate::record) since: i64,
}

#[derive(Clone, Debug, Default)]
pub(in crate::record) struct Uses {
    pub(in crate::record) periods: Vec<(Period, u64)>,
    sampled: u8,
}

/// All that is known of one subject.
#[derive(Clone, Debug, Default)]
pub(in crate::record) struct Account {
    /// Whether the name is the catalogue's or the operator's, and not made up by a client.
    pub(in crate::record) is_known: bool,
    /// By day: first and last seen.
    pub(in crate::record) presence: BTreeMap<i64, Seen>,
    pub(in crate::record) decisions: Map<Decision, Uses>,
    /// By target, raw octets.
    pub(in crate::record) paths: Map<Box<[u8]>, Vec<PathCount>>,
    /// Targets that found no room.
    pub(in crate::record) other_paths: Vec<PathCount>,
    pub(in crate::record) gaps: BTreeMap<i64, Gaps>,
    pub(in crate::record) events: Vec<KeptEvent>,
    pub(in crate::record) reads: Map<ReadKey, Seen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    rollups: usize,
    paths: usize,
    strangers: usize,
    samples: usize,
    reads: usize,
    robots: usize,
}

/// Counts that are not written yet.
#[derive(Debug)]
pub(in crate::record) struct Batch {
    pub(in crate::record) accounts: Map<Subject, Account>,
    pub(in crate::record) versions: Vec<InForce>,
    pub(in crate::record) losses: Losses,
    bounds: Bounds,
    sizes: Sizes,
}

/// One request to be counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Entry<'a> {
    pub(in crate::record) subject: SubjectRef<'a>,
    pub(in crate::record) is_known: bool,
    pub(in crate::record) decision: DecisionRef<'a>,
    pub(in crate::record) action: Action,
    pub(in crate::record) target: &'a [u8],
    pub(in crate::record) at: i64,
    pub(in crate::record) gap: Option<std::time::Duration>,
}

impl Batch {
    pub(in crate::record) fn new(bounds: Bounds) -> Self {
        let (accounts, versions) = (Map::default(), Vec::new());
        Self { accounts, versions, losses: Losses::default(), bounds, sizes: Sizes::default() }
    }

    pub(in crate::record) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.versions.is_empty() && self.losses == Losses::default()
    }

    /// Leaves an empty batch behind.
    pub(in crate::record) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.bounds))
    }

    /// Counts one request; `true` when its event is wanted in full.
    pub(in crate::record) fn count(&mut self, entry: &Entry<'_>) -> bool {
        let (sizes, bounds, losses) = (&mut self.sizes, self.bounds, &mut self.losses);
        let account = account(&mut self.accounts, sizes, bounds, entry.subject, entry.is_known);
        account.see(Seen { first: entry.at, last: entry.at, count: 1 });
        account.count_path(entry, sizes, bounds, losses);
        if let Some(gap) = entry.gap {
            account.gaps.entry(start_of(entry.at, DAY)).or_default().add(gap);
        }
        if !account.decisions.contains_key(&entry.decision) {
            account.decisions.insert(entry.decision.to_owned(), Uses::default());
        }
        let Some(uses) = account.decisions.get_mut(&entry.decision) else { return false };
        let period = Period { span: MINUTE, start: start_of(entry.at, MINUTE) };
        uses.add(period, 1, sizes, bounds, losses);
        let is_wanted = entry.decision.kind != EventKind::Allowed && uses.sampled < SAMPLES_PER_DECISION;
        uses.sampled += u8::from(is_wanted);
        is_wanted
    }

    /// Keeps an event in full, or counts it as dropped.
    pub(in crate::record) fn keep(&mut self, subject: SubjectRef<'_>, is_known: bool, event: KeptEvent) {
        if self.sizes.samples >= self.bounds.samples {
            self.losses.details_dropped += 1;
            return;
        }
        self.sizes.samples += 1;
        account(&mut self.accounts, &mut self.sizes, self.bounds, subject, is_known).events.push(event);
    }

    /// Notes reads of one version by one reader.
    pub(in crate::record) fn read(&mut self, subject: SubjectRef<'_>, is_known: bool, key: ReadKey, seen: Seen) {
        let account = account(&mut self.accounts, &mut self.sizes, self.bounds, subject, is_known);
        account.see(seen);
        if let Some(known) = account.reads.get_mut(&key) {
            known.add(seen);
        } else if self.sizes.reads < self.bounds.reads {
            self.sizes.reads += 1;
            account.reads.insert(key, seen);
        } else {
            self.losses.details_dropped += seen.count;
        }
    }

    /// Notes that a version came into force.
    pub(in crate::record) fn in_force(&mut self, version: InForce) {
        let octets = version.bytes.as_ref().map_or(0, |bytes| bytes.len()) + 256;
        if self.sizes.robots + octets > self.bounds.robots {
            self.losses.details_dropped += 1;
            return;
        }
        self.sizes.robots += octets;
        self.versions.push(version);
    }

    /// Adds all of `other`, as far as there is room.
    pub(in crate::record) fn merge(&mut self, other: Self) {
        self.losses = self.losses.plus(other.losses);
        other.versions.into_iter().for_each(|version| self.in_force(version));
        for (subject, theirs) in other.accounts {
            self.merge_account(subject.borrowed(), theirs);
        }
    }

    fn merge_account(&mut self, subject: SubjectRef<'_>, theirs: Account) {
        let is_known = theirs.is_known;
        let (sizes, bounds, losses) = (&mut self.sizes, self.bounds, &mut self.losses);
        let ours = account(&mut self.accounts, sizes, bounds, subject, is_known);
        theirs.presence.into_values().for_each(|seen| ours.see(seen));
        for (day, gaps) in theirs.gaps {
            ours.gaps.entry(day).or_default().merge(&gaps);
        }
        for (decision, uses) in theirs.decisions {
            let known = ours.decisions.entry(decision).or_default();
            known.sampled = known.sampled.max(uses.sampled);
            for (period, count) in uses.periods {
                known.add(period, count, sizes, bounds, losses);
            }
        }
        for (target, counts) in theirs.paths {
            for count in counts {
                ours.add_path(&target, count, sizes, bounds, losses);
            }
        }
        theirs.other_paths.into_iter().for_each(|count| add(&mut ours.other_paths, count));
        theirs.events.into_iter().for_each(|event| self.keep(subject, is_known, event));
        for (key, seen) in theirs.reads {
            self.read(subject, is_known, key, seen);
        }
    }
}

/// The account of a subject, or of the rest of the strangers when there is no room for its name.
fn account<'a>(
    accounts: &'a mut Map<Subject, Account>,
    sizes: &mut Sizes,
    bounds: Bounds,
    subject: SubjectRef<'_>,
    is_known: bool,
) -> &'a mut Account {
    let mut subject = subject;
    if !accounts.contains_key(&subject) {
        if !is_known && sizes.strangers >= bounds.strangers {
            subject = subject.nameless();
        } else if !is_known {
            sizes.strangers += 1;
        }
    }
    // Looking twice is what the borrow checker asks for; the second look is the price of a miss only.
    if !accounts.contains_key(&subject) {
        accounts.insert(subject.to_owned(), Account { is_known, ..Account::default() });
    }
    let account = accounts.entry(subject.to_owned()).or_default();
    account.is_known |= is_known;
    account
}

impl Account {
    /// Notes when the subject was there; `count` is not used.
    fn see(&mut self, seen: Seen) {
        let day = start_of(seen.first, DAY);
        self.presence.entry(day).and_modify(|known| known.add(seen)).or_insert(seen);
    }

    fn count_path(&mut self, entry: &Entry<'_>, sizes: &mut Sizes, bounds: Bounds, losses: &mut Losses) {
        let day = start_of(entry.at, DAY);
        let count = PathCount { day, kind: entry.decision.kind, action: entry.action, count: 1 };
        self.add_path(entry.target, count, sizes, bounds, losses);
    }

    fn add_path(
        &mut self,
        target: &[u8],
        count: PathCount,
        sizes: &mut Sizes,
        bounds: Bounds,
        losses: &mut Losses,
    ) {
        if target.len() > LONGEST_TARGET {
            add(&mut self.other_paths, count);
            return;
        }
        if let Some(counts) = self.paths.get_mut(target) {
            add(counts, count);
        } else if sizes.paths < bounds.paths {
            sizes.paths += 1;
            self.paths.insert(target.into(), vec![count]);
        } else {
            losses.details_dropped = losses.details_dropped.saturating_add(count.count);
            add(&mut self.other_paths, count);
        }
    }
}

fn add(counts: &mut Vec<PathCount>, count: PathCount) {
    let same = |known: &&mut PathCount| {
        known.day == count.day && known.kind == count.kind && known.action == count.action
    };
    match counts.iter_mut().find(same) {
        Some(known) => known.count = known.count.saturating_add(count.count),
        None => counts.push(count),
    }
}

impl Uses {
    fn add(&mut self, period: Period, count: u64, sizes: &mut Sizes, bounds: Bounds, losses: &mut Losses) {
        let hour = Period { span: HOUR, start: period.start - period.start.rem_euclid(HOUR) };
        let candidates = if sizes.rollups < bounds.rollups { [period, period] } else { [period, hour] };
        for period in candidates {
            if let Some((_, known)) = self.periods.iter_mut().rev().find(|(known, _)| *known == period) {
                *known = known.saturating_add(count);
                return;
            }
        }
        if sizes.rollups >= bounds.rollups.saturating_mul(2) {
            losses.counts_lost = losses.counts_lost.saturating_add(count);
            return;
        }
        sizes.rollups += 1;
        let [_, period] = candidates;
        self.periods.push((period, count));
    }
}

#[cfg(test)]
mod tests;
