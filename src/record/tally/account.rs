//! All that was counted of one subject and is not written yet.

use super::batch::{BatchRoom, network};
use super::decision::CountedDecision;
use super::instant::start_of;
use super::subject::CountSubject;
use crate::enforce::Action;
use crate::record::event::EventKind;
use crate::record::missing::MissingWhat;
use crate::record::tables::{OTHER_PATHS, ReadKey, ReadSum};
use crate::request::address::Network;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Longer targets, in bytes, are counted with the rest: nobody reads them in a report, and a client could
/// fill the memory with a few.
const LONGEST_TARGET: usize = 2_048;

/// Events kept in full for one subject and decision, of one batch.
pub(super) const SAMPLES_PER_DECISION: u8 = 4;

/// Its hasher is seeded for each map, as the standard library's, and several times as fast; sizes are bounded.
pub(in crate::record) type Map<K, V> = HashMap<K, V>;

/// How often a target was asked for, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCounts {
    /// Plainly allowed, however fast they came.
    pub allowed: u64,
    /// Violations.
    pub violations: u64,
    /// Disallowed only by some version the client could hold.
    pub stale: u64,
    /// Variants of a disallowed path.
    pub variants: u64,
    /// Allowed, under a borrowed name.
    pub spoofed: u64,
    /// Refused; each of them is one of the above, too.
    pub refused: u64,
}

impl PathCounts {
    /// One request that came to this.
    pub fn one(kind: EventKind, action: Action) -> Self {
        let is_refused = action.keeps_out() && kind != EventKind::Pace;
        let mut counts = Self { refused: u64::from(is_refused), ..Self::default() };
        *match kind {
            EventKind::Violation => &mut counts.violations,
            EventKind::Stale => &mut counts.stale,
            EventKind::Variant => &mut counts.variants,
            EventKind::Spoof => &mut counts.spoofed,
            EventKind::Allowed | EventKind::Pace => &mut counts.allowed,
        } = 1;
        counts
    }

    /// All requests for the target.
    pub const fn requests(&self) -> u64 {
        self.allowed + self.violations + self.stale + self.variants + self.spoofed
    }

    /// What a report orders targets by: violations, then requests.
    pub const fn weight(&self) -> (u64, u64) {
        (self.violations, self.requests())
    }

    /// Adds another day's, or another store's.
    pub const fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.violations += other.violations;
        self.stale += other.stale;
        self.variants += other.variants;
        self.spoofed += other.spoofed;
        self.refused += other.refused;
    }
}

/// Values by the day or the period that they are of, in its order. Mostly there is one.
pub(in crate::record) type ByTime<V> = Vec<(i64, V)>;

/// Who asked for a target first, and by day how often it was asked for.
#[derive(Clone, Debug)]
pub(in crate::record) struct TargetUses {
    pub(in crate::record) network: Option<Network>,
    pub(in crate::record) days: ByTime<PathCounts>,
}

/// First and last instant, in microseconds, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenInstants {
    /// The first.
    pub first: i64,
    /// The last.
    pub last: i64,
    /// How often.
    pub count: u64,
}

impl SeenInstants {
    /// Once, at this instant.
    pub const fn once(at: i64) -> Self {
        Self { first: at, last: at, count: 1 }
    }

    /// Adds this to what was seen before, if anything was.
    pub fn add_to(self, before: &mut Option<Self>) {
        match before {
            Some(before) => before.add(self),
            None => *before = Some(self),
        }
    }

    /// Adds what was seen besides.
    pub fn add(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.count = self.count.saturating_add(other.count);
    }
}

/// An event that is wanted in full.
#[derive(Clone, Debug)]
pub struct FullEvent {
    pub(in crate::record) subject: CountSubject,
    pub(in crate::record) is_known: bool,
    pub(in crate::record) decision: CountedDecision,
    pub(in crate::record) at: i64,
    /// Its line of the journal, JSON, once the request is over.
    pub(in crate::record) line: Box<str>,
    /// Where it came from, as far as that may be kept.
    pub(in crate::record) network: Option<Network>,
}

/// A decision, when it was made, and how often.
#[derive(Clone, Debug)]
pub(in crate::record) struct Uses {
    pub(in crate::record) decision: CountedDecision,
    pub(in crate::record) seen: Option<SeenInstants>,
    /// How often in which period.
    pub(in crate::record) periods: ByTime<u64>,
    /// How many of its events are wanted in full.
    pub(super) sampled: u8,
}

/// All that is known of one subject.
#[derive(Clone, Debug, Default)]
pub(in crate::record) struct SubjectCounts {
    /// Whether the name is the catalogue's or the operator's, and not made up by a client.
    pub(in crate::record) is_known: bool,
    /// Where a name came from first that is not known.
    pub(in crate::record) network: Option<Network>,
    /// By day: first and last seen.
    pub(in crate::record) presence: ByTime<SeenInstants>,
    /// By the keys of decisions.
    pub(in crate::record) decisions: Map<u64, Uses>,
    /// Bytes of the bodies that it was sent.
    pub(in crate::record) sent: ByTime<u64>,
    /// By target, raw bytes. What found no room is under [`OTHER_PATHS`], which nobody can ask for.
    pub(in crate::record) paths: Map<Box<[u8]>, TargetUses>,
    pub(in crate::record) events: Vec<FullEvent>,
    pub(in crate::record) reads: Map<ReadKey, ReadSum>,
    /// When it last fetched a robots.txt that is not known to be the one that is judged by.
    pub(in crate::record) other_fetch: Option<i64>,
}

impl SubjectCounts {
    /// Notes when the subject was there; `count` is not used.
    pub(super) fn note_presence(&mut self, seen: SeenInstants, room: &BatchRoom) {
        add(&mut self.presence, start_of(seen.first, room.bounds.day), seen, SeenInstants::add);
    }

    /// Adds bytes that it was sent in the period that begins at `start`.
    pub(super) fn add_sent(&mut self, (start, bytes): (i64, u64), at: i64, room: &mut BatchRoom) {
        if bytes > 0 && !room.add_to_period(&mut self.sent, start, bytes) {
            room.lose(MissingWhat::Details, at, 1);
        }
    }

    /// Adds reads; `false` when there is no room for them. That of a host and network goes before the read itself does:
    /// whose read is known is not said to have read nothing.
    pub(super) fn add_read(&mut self, key: ReadKey, read: ReadSum, room: &mut BatchRoom) -> bool {
        let bound = room.bounds.reads;
        let (key, bound) = if room.sizes.reads < bound || self.reads.contains_key(&key) {
            (key, bound)
        } else {
            (key.of_any_host(), bound.saturating_mul(2))
        };
        if let Some(known) = self.reads.get_mut(&key) {
            known.add(read);
        } else if room.sizes.reads < bound {
            room.sizes.reads += 1;
            self.reads.insert(key, read);
        } else {
            return false;
        }
        true
    }

    /// Adds a target that was asked for at an instant. Violations have twice the room, so that they are named where allowed
    /// requests fill it.
    pub(super) fn add_path(
        &mut self,
        target: &[u8],
        (at, counts): (i64, PathCounts),
        address: Option<IpAddr>,
        room: &mut BatchRoom,
    ) {
        let day = start_of(at, room.bounds.day);
        if let Some(uses) = self.paths.get_mut(target) {
            return add(&mut uses.days, day, counts, |known, more| known.add(&more));
        }
        let is_short = target.len() <= LONGEST_TARGET;
        let has_place = is_short && room.takes(target, if counts.violations > 0 { 2 } else { 1 });
        if is_short && !has_place {
            room.lose(MissingWhat::Details, at, 1);
        }
        let uses = self.paths.entry(if has_place { target } else { OTHER_PATHS.as_bytes() }.into());
        let new = || TargetUses { network: address.map(network), days: Vec::new() };
        add(&mut uses.or_insert_with(new).days, day, counts, |known, more| known.add(&more));
    }
}

/// Adds to what a list has of a day or period.
pub(super) fn add<V>(list: &mut ByTime<V>, time: i64, more: V, sum: impl FnOnce(&mut V, V)) {
    match list.binary_search_by_key(&time, |(known, _)| *known) {
        Ok(at) => {
            if let Some((_, known)) = list.get_mut(at) {
                sum(known, more);
            }
        }
        Err(at) => list.insert(at, (time, more)),
    }
}
