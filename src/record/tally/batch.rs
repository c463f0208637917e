//! Counts that are not written yet. Bounded, and exact up to its bounds.
//!
//! Where room runs out, precision goes before counts do: first targets are counted as the rest of their
//! day, then made-up names as the rest of theirs, then minutes as hours. Only when even that finds no room
//! is a count lost, and then it is counted as lost.

use super::account::{
    KeptEvent, Map, PathCounts, ReadKey, RollUpPeriod, SAMPLES_PER_DECISION, SeenInstants, SeenRead,
    SubjectCounts, Uses, push,
};
use super::decision::DecisionRef;
use super::instant::{DAY, MINUTE, start_of};
use super::subject::{CountSubject, SubjectRef};
use crate::record::event::EventKind;
use crate::record::missing::{Missing, MissingWhat, NOT_WRITTEN};
use crate::record::network::NetworkId;
use hashbrown::hash_map::EntryRef;
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
    /// Where someone else may have answered requests for robots.txt.
    pub(in crate::record) missing: Vec<Missing>,
    /// When rows of what is served were written last, in microseconds; 0 where none were.
    pub(in crate::record) rows_noted: u64,
    room: BatchRoom,
}

/// One request to be counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct CountedRequest<'a> {
    pub(in crate::record) subject: SubjectRef<'a>,
    pub(in crate::record) is_known: bool,
    pub(in crate::record) decision: DecisionRef<'a>,
    pub(in crate::record) target: &'a [u8],
    pub(in crate::record) at: i64,
    /// Where it came from.
    pub(in crate::record) network: NetworkId,
}

impl CountBatch {
    pub(in crate::record) fn new(bounds: BatchLimits) -> Self {
        let (accounts, versions, room) = (Map::default(), Vec::new(), BatchRoom::new(bounds));
        Self { accounts, versions, missing: Vec::new(), rows_noted: 0, room }
    }

    pub(in crate::record) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
            && self.versions.is_empty()
            && self.missing.is_empty()
            && self.losses() == Losses::default()
    }

    /// What found no room.
    pub(in crate::record) const fn losses(&self) -> Losses {
        self.room.losses
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

    /// Counts one request; `true` when its event is wanted in full.
    pub(in crate::record) fn count(&mut self, entry: &CountedRequest<'_>) -> bool {
        let room = &mut self.room;
        let account = account(&mut self.accounts, room, entry.subject, entry.is_known);
        account.note_presence(SeenInstants::once(entry.at));
        if !entry.is_known && !account.network.is_known() {
            account.network = entry.network;
        }
        let (day, counts) =
            (start_of(entry.at, DAY), PathCounts::one(entry.decision.kind, entry.decision.action));
        account.add_path(entry.target, (day, &counts), entry.network, room);
        let uses = match account.decisions.entry_ref(&entry.decision) {
            EntryRef::Occupied(known) => known.into_mut(),
            EntryRef::Vacant(place) => place.insert_with_key((&entry.decision).into(), Uses::default()),
        };
        let period = RollUpPeriod { span: MINUTE, start: start_of(entry.at, MINUTE) };
        uses.add(period, 1, room);
        let is_wanted = entry.decision.kind != EventKind::Allowed && uses.sampled < SAMPLES_PER_DECISION;
        uses.sampled += u8::from(is_wanted);
        is_wanted
    }

    /// Adds bytes that a subject was sent for a request that came at an instant.
    pub(in crate::record) fn sent(&mut self, subject: SubjectRef<'_>, is_known: bool, at: i64, bytes: u64) {
        let room = &mut self.room;
        let period = RollUpPeriod { span: MINUTE, start: start_of(at, MINUTE) };
        account(&mut self.accounts, room, subject, is_known).add_sent(period, bytes, room);
    }

    /// Keeps an event in full, or counts it as dropped.
    pub(in crate::record) fn keep(&mut self, subject: SubjectRef<'_>, is_known: bool, event: KeptEvent) {
        let (sizes, bounds) = (&mut self.room.sizes, self.room.bounds);
        // Few events are kept, so they have twice the bytes of targets.
        if sizes.samples >= bounds.samples || sizes.details + event.line.len() > bounds.details * 2 {
            self.room.drop_details(1);
            return;
        }
        sizes.samples += 1;
        sizes.details += event.line.len();
        push(&mut account(&mut self.accounts, &mut self.room, subject, is_known).events, event);
    }

    /// Notes reads of one version by one reader.
    pub(in crate::record) fn read(
        &mut self,
        subject: SubjectRef<'_>,
        is_known: bool,
        key: ReadKey,
        read: SeenRead,
    ) {
        let room = &mut self.room;
        let account = account(&mut self.accounts, room, subject, is_known);
        account.note_presence(read.seen);
        if !account.add_read(key, read, room) {
            self.lose_reads(subject.site, read.seen);
        }
    }

    /// Counts reads as lost, and notes where and when: only there a crawler may have read what nothing tells of.
    fn lose_reads(&mut self, site: &str, seen: SeenInstants) {
        self.room.lose_reads(seen.count);
        let when = (seen.first, seen.last);
        let lost = Missing {
            site: site.into(),
            ..Missing::new(MissingWhat::Reads, NOT_WRITTEN, when, Some(seen.count))
        };
        match self.missing.iter_mut().find(|known| known.is_like(&lost)) {
            Some(known) => known.add(&lost),
            None => self.missing.push(lost),
        }
    }

    /// Notes that a version came into force.
    pub(in crate::record) fn in_force(&mut self, version: InForce) {
        let bytes = version.bytes.as_ref().map_or(0, |bytes| bytes.len()) + 256;
        if self.room.sizes.robots + bytes > self.room.bounds.robots {
            self.room.drop_details(1);
            return;
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
    /// Roll-ups by minute; beyond it they are kept by hour, and beyond twice as many not at all.
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
}

/// What did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events, versions and targets that are missing; the requests are counted all the same.
    pub details_dropped: u64,
    /// Reads of robots.txt that are missing.
    pub reads_lost: u64,
    /// Requests that are not counted.
    pub counts_lost: u64,
}

impl Losses {
    pub(in crate::record) const fn plus(self, other: Self) -> Self {
        Self {
            details_dropped: self.details_dropped.saturating_add(other.details_dropped),
            reads_lost: self.reads_lost.saturating_add(other.reads_lost),
            counts_lost: self.counts_lost.saturating_add(other.counts_lost),
        }
    }
}

/// The room of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchRoom {
    pub(super) bounds: BatchLimits,
    pub(super) sizes: BatchLimits,
    pub(super) losses: Losses,
}

impl BatchRoom {
    pub(super) fn new(bounds: BatchLimits) -> Self {
        Self { bounds, sizes: BatchLimits::default(), losses: Losses::default() }
    }

    /// Whether there is a place for one more target within so many times the bounds.
    pub(super) const fn has_place_for(&self, target: &[u8], share: usize) -> bool {
        self.sizes.paths < self.bounds.paths.saturating_mul(share)
            && self.sizes.details + target.len() <= self.bounds.details.saturating_mul(share)
    }

    /// Details that are missing, by the number of requests they were of.
    pub(super) const fn drop_details(&mut self, count: u64) {
        self.losses.details_dropped = self.losses.details_dropped.saturating_add(count);
    }

    pub(super) const fn lose_reads(&mut self, count: u64) {
        self.losses.reads_lost = self.losses.reads_lost.saturating_add(count);
    }

    pub(super) const fn lose_counts(&mut self, count: u64) {
        self.losses.counts_lost = self.losses.counts_lost.saturating_add(count);
    }
}

#[cfg(test)]
mod tests;
