//! What the request path touches when it counts: sharded, in memory, never waiting for a disk.
//!
//! A request takes one lock for the time of three look-ups. The writer takes everything that was counted
//! in one sweep over the shards, so every request is in exactly one batch. What is counted, and what
//! happens when there is no room, stands with [`Batch`].

mod account;
mod batch;
mod decision;
mod gaps;
mod instant;
mod room;
mod subject;

pub use account::PathCounts;
pub use decision::Decision;
pub use gaps::Gaps;
pub use room::Losses;
pub use subject::{OTHER_CRAWLERS, Subject};

pub(super) use account::{Account, KeptEvent, PathDays, ReadKey, Seen};
pub(super) use batch::{Batch, Entry, InForce};
pub(super) use decision::DecisionRef;
pub(super) use instant::{DAY, HOUR, MINUTE, begins, instant, micros, start_of};
pub(super) use room::Bounds;
pub(super) use subject::{SubjectRef, is_known};

use account::Map;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const SHARDS: usize = 16;

/// What may wait in memory for a disk that does not answer, in all: some tens of megabytes.
pub(super) const WAITING: Bounds = Bounds {
    rollups: 131_072,
    paths: 131_072,
    strangers: 16_384,
    samples: 16_384,
    reads: 65_536,
    robots: 32 * 1024 * 1024,
};

/// The same for one shard.
const SHARE: Bounds = Bounds {
    rollups: WAITING.rollups / SHARDS,
    paths: WAITING.paths / SHARDS,
    strangers: WAITING.strangers / SHARDS,
    samples: WAITING.samples / SHARDS,
    reads: WAITING.reads / SHARDS,
    robots: WAITING.robots,
};

/// Subjects of one shard whose last request is remembered for the gap to the next.
const REMEMBERED: usize = 4_096;

#[derive(Debug)]
struct Shard {
    batch: Batch,
    /// Last request by hash of the subject, in microseconds. Two subjects of one hash would blur a
    /// statistic, and no count.
    last: Map<u64, i64>,
}

/// Counts of the running process that are not written yet.
#[derive(Debug)]
pub(super) struct Tally {
    first: Mutex<Shard>,
    others: Box<[Mutex<Shard>]>,
    state: DefaultHashBuilder,
    reads_are_partial: AtomicBool,
}

impl Default for Tally {
    fn default() -> Self {
        let shard = || Mutex::new(Shard { batch: Batch::new(SHARE), last: Map::default() });
        Self {
            first: shard(),
            others: (1..SHARDS).map(|_| shard()).collect(),
            state: DefaultHashBuilder::default(),
            reads_are_partial: AtomicBool::new(false),
        }
    }
}

impl Tally {
    /// Counts one judged request; `true` when its event is wanted in full.
    pub(super) fn count(&self, entry: Entry<'_>) -> bool {
        let hash = self.state.hash_one(entry.subject);
        let mut shard = self.shard(hash);
        let gap = shard.gap(hash, entry.at);
        shard.batch.count(&Entry { gap, ..entry })
    }

    /// Keeps an event in full.
    pub(super) fn keep(&self, subject: SubjectRef<'_>, is_known: bool, event: KeptEvent) {
        self.shard(self.state.hash_one(subject)).batch.keep(subject, is_known, event);
    }

    /// Notes a read.
    pub(super) fn read(&self, subject: SubjectRef<'_>, is_known: bool, key: ReadKey, at: i64) {
        let seen = Seen { first: at, last: at, count: 1 };
        self.shard(self.state.hash_one(subject)).batch.read(subject, is_known, key, seen);
    }

    /// Notes that a version came into force. All go through one shard, which keeps their order.
    pub(super) fn in_force(&self, version: InForce) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).batch.in_force(version);
    }

    /// Takes all that was counted.
    pub(super) fn take(&self) -> Batch {
        let part = |shard: &Mutex<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).batch.take();
        let mut whole = Batch::of(self.shards().map(part).collect(), WAITING);
        whole.reads_are_partial = self.reads_are_partial.load(Ordering::Relaxed);
        whole
    }

    /// Says whether someone else, such as a cache in front, may answer requests for robots.txt.
    pub(super) fn set_partial_reads(&self, are_partial: bool) {
        self.reads_are_partial.store(are_partial, Ordering::Relaxed);
    }

    /// What did not fit since the last [`Self::take`].
    pub(super) fn losses(&self) -> Losses {
        let of = |shard: &Mutex<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).batch.losses();
        self.shards().map(of).fold(Losses::default(), Losses::plus)
    }

    fn shards(&self) -> impl Iterator<Item = &Mutex<Shard>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The top bits of the hash choose the shard; the maps inside hash with keys of their own.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let at = usize::try_from(hash >> 32).unwrap_or_default() % SHARDS;
        let shard = self.others.get(at).unwrap_or(&self.first);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    /// The time since the subject's last request. Requests that overtake each other on their way here are
    /// no time apart.
    fn gap(&mut self, hash: u64, at: i64) -> Option<Duration> {
        if self.last.len() >= REMEMBERED && !self.last.contains_key(&hash) {
            self.forget_oldest();
        }
        let last = self.last.insert(hash, at)?;
        if last > at {
            self.last.insert(hash, last);
        }
        Some(Duration::from_micros(u64::try_from(at - last).unwrap_or_default()))
    }

    fn forget_oldest(&mut self) {
        let mut times: Vec<i64> = self.last.values().copied().collect();
        let quarter = times.len() / 4;
        let (_, bound, _) = times.select_nth_unstable(quarter);
        let bound = *bound;
        self.last.retain(|_, last| *last > bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Outcome, Reason, Verdict};
    use crate::enforce::Action;
    use crate::identify::{Client, Proof};

    fn subject(crawler: &str) -> SubjectRef<'_> {
        SubjectRef {
            site: "example.org",
            client: Client::Crawler,
            crawler: Some(crawler),
            purpose: None,
            proof: Proof::Unchecked,
        }
    }

    fn count(tally: &Tally, crawler: &str, target: &str, at: i64) {
        let verdict =
            Verdict { outcome: Outcome::Allow, reason: Reason::NoRule, ruling: None, version: None };
        tally.count(Entry {
            subject: subject(crawler),
            is_known: true,
            decision: DecisionRef::plain(&verdict, Proof::Unchecked, Action::Forward),
            target: target.as_bytes(),
            at,
            gap: None,
        });
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
                sum += tally.take().requests();
            }
        });
        sum += tally.take().requests();
        assert_eq!(sum, 80_000);
        assert!(tally.take().is_empty());
    }

    #[test]
    fn gaps_are_those_between_requests_of_one_subject() {
        let tally = Tally::default();
        for second in 0..10 {
            count(&tally, "slow", "/", second * 10_000_000);
            count(&tally, "fast", "/", second * 1_000_000);
        }
        tally.take();
        count(&tally, "slow", "/", 100_000_000);
        let batch = tally.take();
        let gaps = &batch.accounts.get(&subject("slow")).unwrap().gaps[0].1;
        assert_eq!(gaps.count(), 1, "the last request is remembered when all is taken");
        assert!((9.6..10.4).contains(&gaps.median().unwrap().as_secs_f64()));
    }

    #[test]
    fn what_is_remembered_for_gaps_is_bounded() {
        let mut shard = Shard { batch: Batch::new(SHARE), last: Map::default() };
        for number in 0..20_000_u32 {
            shard.gap(u64::from(number), i64::from(number));
            assert!(shard.last.len() <= REMEMBERED);
        }
        assert!(shard.gap(19_999, 20_000).is_some() && shard.gap(5, 20_001).is_none());
    }
}
