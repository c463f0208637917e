//! The times between requests, as a histogram: what `Crawl-delay` is compared with.
//!
//! Below 16 ms each millisecond has a bucket of its own; above, each doubling is cut into 16, so a median
//! is off by half a bucket at most: 3.2 %. That is 464 buckets for anything up to half a year, however many
//! requests there were, and two histograms add up exactly. `Crawl-delay` is not part of RFC 9309.

use std::collections::BTreeMap;
use std::time::Duration;

const STEPS: u64 = 16;
const STEPS_LOG2: u32 = STEPS.ilog2();

/// The longest gap that is told apart from longer ones, in milliseconds: 2³⁴, half a year.
const LONGEST: u64 = 1 << 34;

/// How often which gap was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps(BTreeMap<u16, u64>);

impl Gaps {
    /// Counts one gap.
    pub fn add(&mut self, gap: Duration) {
        self.add_bucket(bucket(gap), 1);
    }

    /// Adds all that another histogram has counted.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(bucket, count)| self.add_bucket(*bucket, *count));
    }

    /// How many gaps were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The gap that half of them do not exceed; exact to 3.2 %, or half a millisecond. `None` without any.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        let middle = self.0.iter().find(|(_, count)| {
            seen += **count;
            seen >= half && half > 0
        });
        middle.map(|(bucket, _)| middle_of(*bucket))
    }

    pub(in crate::record) fn add_bucket(&mut self, bucket: u16, count: u64) {
        *self.0.entry(bucket).or_default() += count;
    }

    pub(in crate::record) fn buckets(&self) -> impl Iterator<Item = (u16, u64)> {
        self.0.iter().map(|(bucket, count)| (*bucket, *count))
    }
}

fn bucket(gap: Duration) -> u16 {
    let millis = gap.as_secs().saturating_mul(1_000).saturating_add(gap.subsec_millis().into()).min(LONGEST);
    let octave = millis.max(1).ilog2().saturating_sub(STEPS_LOG2);
    let index = if millis < STEPS { millis } else { u64::from(octave) * STEPS + (millis >> octave) };
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// The middle of a bucket.
fn middle_of(bucket: u16) -> Duration {
    let bucket = u64::from(bucket);
    if bucket < STEPS {
        return Duration::from_micros(bucket * 1_000 + 500);
    }
    let octave = bucket / STEPS - 1;
    let low = (bucket - octave * STEPS) << octave;
    Duration::from_micros(low * 1_000 + (500 << octave))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_is_near_the_middle_of_its_bucket() {
        let mut last = 0;
        for millis in
            (0..5_000).chain((5_000..100_000).step_by(37)).chain((100_000..LONGEST).step_by(99_999_937))
        {
            let index = bucket(Duration::from_millis(millis));
            assert!(index >= last, "{millis} ms");
            last = index;
            let exact = Duration::from_millis(millis).as_secs_f64();
            let middle = middle_of(index).as_secs_f64();
            assert!((middle - exact).abs() <= (exact * 0.032).max(0.000_51), "{millis} ms: {middle} s");
        }
        assert!(last < 512, "{last}");
        assert_eq!(bucket(Duration::from_secs(u64::MAX)), bucket(Duration::from_millis(LONGEST)));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.median(), None);
        for seconds in [1, 1, 10, 10, 10, 60, 3_600] {
            gaps.add(Duration::from_secs(seconds));
        }
        let median = gaps.median().unwrap().as_secs_f64();
        assert!((9.68..=10.32).contains(&median), "{median}");
    }

    #[test]
    fn histograms_add_up() {
        let (mut one, mut two, mut both) = (Gaps::default(), Gaps::default(), Gaps::default());
        for millis in 0..1_000_u64 {
            let gap = Duration::from_millis(millis * millis);
            if millis % 3 == 0 {
                one.add(gap);
            } else {
                two.add(gap);
            }
            both.add(gap);
        }
        one.merge(&two);
        assert_eq!(one, both);
        assert_eq!(one.count(), 1_000);
    }
}
