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

pub use account::{FullEvent, PathCounts, SeenInstants};
pub use decision::CountedDecision;
pub use instant::{instant, micros};
pub use subject::{CountSubject, OTHER_CRAWLERS, is_known};

pub(super) use account::{SubjectCounts, Uses};
pub(super) use batch::{BatchLimits, CountBatch, InForce, network};
pub(super) use instant::{DAY, HOUR, MINUTE, begins, start_of};
pub(super) use subject::SubjectRef;

use super::missing::{Missing, MissingWhat};
use super::unseen::UnseenNotes;
use hashbrown::DefaultHashBuilder;
use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher as _;

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
    shards: [Mutex<CountBatch>; SHARDS],
    state: DefaultHashBuilder,
    /// Where someone else may answer requests for robots.txt.
    pub(super) unseen: UnseenNotes,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::new(CountBatch::new(ROOM))),
            state: DefaultHashBuilder::default(),
            unseen: UnseenNotes::default(),
        }
    }
}

impl Tally {
    /// Where what is no subject's is noted: one shard, which keeps its order.
    pub(super) fn common(&self) -> MutexGuard<'_, CountBatch> {
        let [first, ..] = &self.shards;
        first.lock()
    }

    /// Notes that reads of a site's robots.txt may go unseen, and what shows it.
    pub(super) fn reads_go_unseen(&self, site: &str, reason: &'static str, at: i64) {
        if self.unseen.note(site, reason, at) {
            let missing = Missing::new(MissingWhat::Reads, reason, (at, at), None);
            self.common().room.missing.push(Missing { site: site.into(), ..missing });
        }
    }

    /// Takes all that was counted: one part of each shard that has any. No subject is in two of them, but for the rest of
    /// the strangers.
    pub(super) fn take(&self) -> Vec<CountBatch> {
        let mut parts: Vec<CountBatch> = self.shards.iter().map(|shard| shard.lock().take()).collect();
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Whether nothing is counted that is not taken.
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().is_empty())
    }

    /// How many requests are counted and not taken.
    pub(super) fn requests(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().requests()).sum()
    }

    /// What did not fit since the last [`Self::take`].
    pub(super) fn missing(&self) -> Vec<Missing> {
        self.shards.iter().flat_map(|shard| shard.lock().room.missing.clone()).collect()
    }

    /// Where a subject is counted. The top bits of the hash choose the shard; the maps inside hash with keys of their own.
    pub(super) fn shard(&self, subject: SubjectRef<'_>) -> MutexGuard<'_, CountBatch> {
        let hash = self.state.hash_one(subject);
        let at = usize::try_from(hash >> 32).unwrap_or_default() % SHARDS;
        let [first, ..] = &self.shards;
        self.shards.get(at).unwrap_or(first).lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::SampleRequest;

    fn requests(parts: &[CountBatch]) -> u64 {
        parts.iter().map(CountBatch::requests).sum()
    }

    #[test]
    fn threads_that_count_while_others_take_lose_nothing() {
        let tally = Tally::default();
        let mut sum = 0;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let tally = &tally;
                    scope.spawn(move || {
                        for number in 0..20_000 {
                            let (crawler, target) =
                                (format!("bot{}", number % 50), format!("/{}", number % 200));
                            SampleRequest::of(&crawler, &target).count(tally);
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
