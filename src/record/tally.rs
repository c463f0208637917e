//! What the request path touches when it counts: sharded, in memory, never waiting for a disk.
//!
//! A request takes one lock for the time of three look-ups. The writer takes everything that was counted
//! in one sweep over the shards, so every request is in exactly one batch. What is counted, and what
//! happens when there is no room, stands with [`CountBatch`].

mod account;
mod batch;
mod decision;
mod instant;
mod subject;

pub use account::{PathCounts, SeenInstants};
pub use decision::{CountedDecision, DecisionRef};
pub use instant::{instant, micros};
pub use subject::{CountSubject, OTHER_CRAWLERS, is_known};

pub(super) use account::{KeptEvent, Map, SubjectCounts};
pub(super) use batch::{BatchLimits, CountBatch, CountedRequest, InForce, network};
pub(super) use instant::{DAY, HOUR, MINUTE, begins, start_of};
pub(super) use subject::SubjectRef;

use super::missing::Missing;
use super::unseen::UnseenNotes;
use hashbrown::DefaultHashBuilder;
use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 16;

/// What may wait in a shard for a disk that does not answer: some tens of megabytes in all. Versions are noted in one shard.
const ROOM: BatchLimits = BatchLimits {
    rollups: 131_072 / SHARDS,
    paths: 131_072 / SHARDS,
    details: 16 * 1024 * 1024 / SHARDS,
    strangers: 16_384 / SHARDS,
    samples: 16_384 / SHARDS,
    reads: 65_536 / SHARDS,
    robots: 32 * 1024 * 1024,
    lengths: &[MINUTE, HOUR, DAY],
    day: DAY,
};

/// Counts of the running process that are not written yet.
#[derive(Debug)]
pub(super) struct Tally {
    first: Mutex<CountBatch>,
    others: Box<[Mutex<CountBatch>]>,
    state: DefaultHashBuilder,
    /// Where someone else may answer requests for robots.txt.
    pub(super) unseen: UnseenNotes,
    /// When rows of what is served were written last, in microseconds.
    pub(super) rows_noted: AtomicU64,
}

impl Default for Tally {
    fn default() -> Self {
        let shard = || Mutex::new(CountBatch::new(ROOM));
        Self {
            first: shard(),
            others: (1..SHARDS).map(|_| shard()).collect(),
            state: DefaultHashBuilder::default(),
            unseen: UnseenNotes::default(),
            rows_noted: AtomicU64::new(0),
        }
    }
}

impl Tally {
    /// Where versions that came into force are noted: one shard, which keeps their order.
    pub(super) fn versions(&self) -> MutexGuard<'_, CountBatch> {
        self.first.lock()
    }

    /// Takes all that was counted: one part of each shard that has any. No subject is in two of them, but for the rest of
    /// the strangers.
    pub(super) fn take(&self) -> Vec<CountBatch> {
        let mut parts: Vec<CountBatch> = self.shards().map(|shard| shard.lock().take()).collect();
        if let Some(first) = parts.first_mut() {
            first.room.missing.extend(self.unseen.take());
        }
        parts.retain(|part| !part.is_empty());
        if let Some(first) = parts.first_mut() {
            first.rows_noted = self.rows_noted.load(Ordering::Relaxed);
        }
        parts
    }

    /// Whether nothing is counted that is not taken.
    pub(super) fn is_empty(&self) -> bool {
        self.shards().all(|shard| shard.lock().is_empty())
    }

    /// How many requests are counted and not taken.
    pub(super) fn requests(&self) -> u64 {
        self.shards().map(|shard| shard.lock().requests()).sum()
    }

    /// What did not fit since the last [`Self::take`].
    pub(super) fn missing(&self) -> Vec<Missing> {
        self.shards().flat_map(|shard| shard.lock().missing().to_vec()).collect()
    }

    fn shards(&self) -> impl Iterator<Item = &Mutex<CountBatch>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Where a subject is counted. The top bits of the hash choose the shard; the maps inside hash with keys of their own.
    pub(super) fn shard(&self, subject: SubjectRef<'_>) -> MutexGuard<'_, CountBatch> {
        let hash = self.state.hash_one(subject);
        let at = usize::try_from(hash >> 32).unwrap_or_default() % SHARDS;
        let shard = self.others.get(at).unwrap_or(&self.first);
        shard.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Verdict, VerdictOutcome, VerdictReason};
    use crate::enforce::Action;
    use crate::identify::{ClientKind, Proof};
    use crate::record::event::EventKind;

    fn subject(crawler: &str) -> SubjectRef<'_> {
        SubjectRef {
            site: "example.org",
            client: ClientKind::Crawler,
            crawler: Some(crawler),
            purpose: None,
            proof: Proof::Unchecked,
        }
    }

    fn count(tally: &Tally, crawler: &str, target: &str, at: i64) {
        let verdict = Verdict {
            outcome: VerdictOutcome::Allow,
            reason: VerdictReason::NoRule,
            ruling: None,
            version: None,
        };
        tally.shard(subject(crawler)).count(&CountedRequest {
            subject: subject(crawler),
            is_known: true,
            decision: DecisionRef::new(
                EventKind::of(&verdict, Proof::Unchecked),
                Action::Forward,
                &verdict,
                None,
            ),
            target: target.as_bytes(),
            at,
            address: None,
        });
    }

    fn requests(parts: &[CountBatch]) -> u64 {
        parts.iter().map(CountBatch::requests).sum()
    }

    #[test]
    fn threads_that_count_while_others_take_lose_nothing() {
        let tally = Tally::default();
        let mut sum = 0;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let tally = &tally;
                    scope.spawn(move || {
                        for number in 0..20_000 {
                            count(
                                tally,
                                &format!("bot{}", number % 50),
                                &format!("/{}", number % 200),
                                thread,
                            );
                        }
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                sum += requests(&tally.take());
            }
        });
        sum += requests(&tally.take());
        assert_eq!(sum, 80_000);
        assert!(tally.take().is_empty());
    }
}
