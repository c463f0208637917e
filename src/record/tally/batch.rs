//! Counts that are not written yet. Bounded, and exact up to its bounds.
//!
//! Where room runs out, precision goes before counts do: targets are counted as the rest of their day, made-up names as
//! the rest of theirs, and minutes become hours, and hours days. Only when even that finds no room is a count lost, and
//! then it is counted as lost.

use super::account::{
    ByTime, FullEvent, Map, PathCounts, SAMPLES_PER_DECISION, SeenInstants, SubjectCounts, Uses, add,
};
use super::decision::CountedDecision;
use super::instant::{HOUR, begins, micros, start_of};
use super::subject::{CountSubject, SubjectRef, is_known};
use crate::record::event::{EventKind, Occurrence};
use crate::record::missing::{Missing, MissingWhat, NOT_WRITTEN};
use crate::record::tables::{ReadKey, ReadSum};
use crate::request::address::Network;
use hashbrown::hash_map::EntryRef;
use std::net::IpAddr;
use std::sync::Arc;

/// A version that came into force at a site; without bytes for a site without a file.
#[derive(Clone, Debug)]
pub(in crate::record) struct InForce {
    pub(in crate::record) site: Box<str>,
    pub(in crate::record) bytes: Option<Arc<[u8]>>,
    pub(in crate::record) since: i64,
}

/// Counts that are not written yet.
#[derive(Debug)]
pub(in crate::record) struct CountBatch {
    pub(in crate::record) accounts: Map<CountSubject, SubjectCounts>,
    pub(in crate::record) versions: Vec<InForce>,
    /// When rows of what is served were written last, in microseconds; 0 where none were.
    pub(in crate::record) rows_noted: u64,
    /// How long the periods are by now, in seconds.
    pub(in crate::record) length: i64,
    pub(in crate::record) room: BatchRoom,
}

/// The network of a client, by which senders are told apart: reads of robots.txt are kept by it, too.
pub(in crate::record) fn network(address: IpAddr) -> Network {
    Network::around(address, 24, 48)
}

impl CountBatch {
    pub(in crate::record) fn new(bounds: BatchLimits) -> Self {
        let room = BatchRoom { bounds, sizes: BatchLimits::default(), missing: Vec::new() };
        let length = bounds.lengths.first().copied().unwrap_or(1);
        Self { accounts: Map::default(), versions: Vec::new(), rows_noted: 0, length, room }
    }

    pub(in crate::record) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.versions.is_empty() && self.room.missing.is_empty()
    }

    /// How many requests are counted here.
    pub(in crate::record) fn requests(&self) -> u64 {
        let uses = self.accounts.values().flat_map(|account| account.decisions.values());
        uses.flat_map(|uses| &uses.periods).map(|(_, count)| count).sum()
    }

    /// Leaves an empty batch behind.
    pub(in crate::record) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.room.bounds))
    }

    /// Counts one request as an event of `kind`; `true` when its event is wanted in full.
    pub(in crate::record) fn count(&mut self, occurrence: &Occurrence<'_>, kind: EventKind) -> bool {
        let Occurrence { facts, identity, .. } = *occurrence;
        let (at, is_known) = (micros(occurrence.now), is_known(identity));
        let start = self.period_of(at);
        let (subject, room) = (SubjectRef::of(occurrence.site, identity, occurrence.proof), &mut self.room);
        let account = account(&mut self.accounts, room, subject, is_known);
        account.note_presence(SeenInstants::once(at), room);
        if !is_known && account.network.is_none() {
            account.network = facts.address.map(network);
        }
        let counts = PathCounts::one(kind, occurrence.action);
        account.add_path(&facts.target, (at, counts), facts.address, room);
        let key = CountedDecision::key(occurrence, kind, account.decisions.hasher());
        let uses = account.decisions.entry(key).or_insert_with(|| Uses {
            decision: CountedDecision::of(occurrence, kind),
            seen: None,
            periods: Vec::new(),
            sampled: 0,
        });
        SeenInstants::once(at).add_to(&mut uses.seen);
        if !room.add_to_period(&mut uses.periods, start, 1) {
            room.lose(MissingWhat::Requests, at, 1);
        }
        let is_wanted = kind != EventKind::Allowed && uses.sampled < SAMPLES_PER_DECISION;
        uses.sampled += u8::from(is_wanted);
        account.add_sent((start, occurrence.bytes), at, room);
        is_wanted
    }

    /// Adds bytes that a subject was sent for a request that came at an instant.
    pub(in crate::record) fn sent(&mut self, subject: SubjectRef<'_>, is_known: bool, at: i64, bytes: u64) {
        let start = self.period_of(at);
        let account = account(&mut self.accounts, &mut self.room, subject, is_known);
        account.add_sent((start, bytes), at, &mut self.room);
    }

    /// Notes that a subject fetched a robots.txt that is not known to be the one that is judged by.
    pub(in crate::record) fn other_fetch(&mut self, subject: SubjectRef<'_>, is_known: bool, at: i64) {
        let account = account(&mut self.accounts, &mut self.room, subject, is_known);
        account.note_presence(SeenInstants::once(at), &self.room);
        account.other_fetch = account.other_fetch.max(Some(at));
    }

    /// The start of the period of an instant. Where there are too many, they become longer first, until half of the room is
    /// free, or they are as long as can be.
    fn period_of(&mut self, at: i64) -> i64 {
        if self.room.sizes.rollups > self.room.bounds.rollups {
            let lengths = self.room.bounds.lengths.iter().copied();
            for length in lengths.filter(|length| *length > self.length).collect::<Vec<_>>() {
                self.lengthen(length);
                if self.room.sizes.rollups <= self.room.bounds.rollups / 2 {
                    break;
                }
            }
        }
        start_of(at, self.length)
    }

    fn lengthen(&mut self, length: i64) {
        (self.length, self.room.sizes.rollups) = (length, 0);
        for account in self.accounts.values_mut() {
            let decided = account.decisions.values_mut().map(|uses| &mut uses.periods);
            for periods in decided.chain([&mut account.sent]) {
                for (start, _) in periods.iter_mut() {
                    *start -= start.rem_euclid(length);
                }
                periods.dedup_by(|more, known| {
                    let is_same = more.0 == known.0;
                    known.1 = known.1.saturating_add(if is_same { more.1 } else { 0 });
                    is_same
                });
                self.room.sizes.rollups += periods.len();
            }
        }
    }

    /// Keeps an event in full, or counts it as dropped.
    pub(in crate::record) fn keep(&mut self, event: FullEvent) {
        let (sizes, bounds) = (&mut self.room.sizes, self.room.bounds);
        // Few events are kept, so they have twice the bytes of targets.
        if sizes.samples >= bounds.samples || sizes.details + event.line.len() > bounds.details * 2 {
            return self.room.lose(MissingWhat::Details, event.at, 1);
        }
        sizes.samples += 1;
        sizes.details += event.line.len();
        let subject = event.subject.borrowed();
        account(&mut self.accounts, &mut self.room, subject, event.is_known).events.push(event);
    }

    /// Notes reads of one version by one reader.
    pub(in crate::record) fn read(
        &mut self,
        subject: SubjectRef<'_>,
        is_known: bool,
        key: ReadKey,
        read: ReadSum,
    ) {
        let room = &mut self.room;
        let account = account(&mut self.accounts, room, subject, is_known);
        account.note_presence(read.seen, room);
        if !account.add_read(key, read, room) {
            // Only there and then a crawler may have read what nothing tells of.
            let (when, count) = ((read.seen.first, read.seen.last), Some(read.seen.count));
            let lost = Missing::new(MissingWhat::Reads, NOT_WRITTEN, when, count);
            Missing { site: subject.site.into(), ..lost }.add_to(&mut room.missing);
        }
    }

    /// Notes that a version came into force.
    pub(in crate::record) fn in_force(&mut self, version: InForce) {
        let bytes = version.bytes.as_ref().map_or(0, |bytes| bytes.len()) + 256;
        if self.room.sizes.robots + bytes > self.room.bounds.robots {
            return self.room.lose(MissingWhat::Details, version.since, 1);
        }
        self.room.sizes.robots += bytes;
        self.versions.push(version);
    }
}

/// The account of a subject, or of the rest of the strangers when there is no room for its name.
fn account<'a>(
    accounts: &'a mut Map<CountSubject, SubjectCounts>,
    room: &mut BatchRoom,
    subject: SubjectRef<'_>,
    is_known: bool,
) -> &'a mut SubjectCounts {
    let is_full = room.sizes.strangers >= room.bounds.strangers;
    let has_no_room = !is_known && is_full && !accounts.contains_key(&subject);
    let subject = if has_no_room { subject.nameless() } else { subject };
    let account = match accounts.entry_ref(&subject) {
        EntryRef::Occupied(known) => known.into_mut(),
        EntryRef::Vacant(place) => {
            room.sizes.strangers += usize::from(!is_known && !has_no_room);
            place.insert_with_key((&subject).into(), SubjectCounts::default())
        }
    };
    // The rest of the strangers is no name that a client made up.
    account.is_known |= is_known || has_no_room;
    account
}

/// How much a batch may hold, or holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::record) struct BatchLimits {
    /// Roll-ups; beyond it they are of longer periods.
    pub(in crate::record) rollups: usize,
    /// Targets by day.
    pub(in crate::record) paths: usize,
    /// Bytes of targets and of events in full.
    pub(in crate::record) details: usize,
    /// Made-up names.
    pub(in crate::record) strangers: usize,
    /// Events in full.
    pub(in crate::record) samples: usize,
    /// Readers by version; beyond it they are kept without host and network, and beyond twice as many not at all.
    pub(in crate::record) reads: usize,
    /// Bytes of robots.txt files.
    pub(in crate::record) robots: usize,
    /// How long the periods may be, in seconds, each a multiple of the one before.
    pub(in crate::record) lengths: &'static [i64],
    /// How long a day is, by which targets and presence are told.
    pub(in crate::record) day: i64,
}

/// The room of one batch.
#[derive(Clone, Debug)]
pub(in crate::record) struct BatchRoom {
    pub(super) bounds: BatchLimits,
    pub(super) sizes: BatchLimits,
    /// What found no room, and where someone else may have answered requests for robots.txt.
    pub(in crate::record) missing: Vec<Missing>,
}

impl BatchRoom {
    /// Takes the place of one more target, if there is one within so many times the bounds.
    pub(super) const fn takes(&mut self, target: &[u8], share: usize) -> bool {
        let details = self.sizes.details + target.len();
        let has_place = self.sizes.paths < self.bounds.paths.saturating_mul(share)
            && details <= self.bounds.details.saturating_mul(share);
        if has_place {
            (self.sizes.paths, self.sizes.details) = (self.sizes.paths + 1, details);
        }
        has_place
    }

    /// Adds to a list of periods; `false` when there is no room for one more.
    pub(super) fn add_to_period(&mut self, list: &mut ByTime<u64>, start: i64, count: u64) -> bool {
        let before = list.len();
        let is_known = list.last().is_some_and(|(last, _)| *last == start)
            || list.binary_search_by_key(&start, |(known, _)| *known).is_ok();
        let has_room = is_known || self.sizes.rollups <= self.bounds.rollups;
        if has_room {
            add(list, start, count, |known, more| *known = known.saturating_add(more));
        }
        self.sizes.rollups += list.len() - before;
        has_room
    }

    /// Notes what found no room, to the hour; of details how many requests they were of.
    pub(super) fn lose(&mut self, what: MissingWhat, at: i64, count: u64) {
        let hour = start_of(at, HOUR);
        let when = (begins(hour), begins(hour + HOUR));
        Missing::new(what, NOT_WRITTEN, when, Some(count)).add_to(&mut self.missing);
    }
}

#[cfg(test)]
mod tests;
