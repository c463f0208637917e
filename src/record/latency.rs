//! How long something takes: a histogram with fixed buckets, which costs a request one addition.

use super::sharded::Sharded;
use std::array;
use std::time::Duration;

/// The upper bounds of buckets, in seconds.
static BOUNDS: [f64; 25] = [
    2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01,
    0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// What judging takes. The bounds begin below a judgement that is answered from the cache of identities, and end where a
/// person would begin to notice.
pub type JudgingLatency = Latency<0>;

/// How long origins are waited for, from a page in memory to the usual time limit.
pub type OriginLatency = Latency<10>;

/// What took longer than the last of so many bounds.
const BEYOND: usize = 15;

/// Where the sum of all durations stands, in nanoseconds.
const SUM: usize = BEYOND + 1;

/// Durations, counted by bucket. The bounds are those from number `FIRST` on.
#[derive(Debug, Default)]
pub struct Latency<const FIRST: usize>(Sharded<{ SUM + 1 }>);

/// A histogram at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySnapshot {
    /// Upper bound of each bucket in seconds, and how many took at most that long.
    pub buckets: [(f64, u64); BEYOND],
    /// How many there were.
    pub count: u64,
    /// What all of them took, in seconds.
    pub sum: f64,
}

impl<const FIRST: usize> Latency<FIRST> {
    fn bounds() -> &'static [f64] {
        BOUNDS.get(FIRST..FIRST + BEYOND).unwrap_or_default()
    }

    /// Counts one duration.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.0.add(Self::bounds().iter().take_while(|bound| **bound < seconds).count(), 1);
        self.0.add(SUM, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The histogram now.
    pub fn snapshot(&self) -> LatencySnapshot {
        let mut count = 0;
        let buckets = array::from_fn(|index| {
            count += self.0.get(index);
            (Self::bounds().get(index).copied().unwrap_or_default(), count)
        });
        count += self.0.get(BEYOND);
        let sum = Duration::from_nanos(self.0.get(SUM)).as_secs_f64();
        LatencySnapshot { buckets, count, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let latency = JudgingLatency::default();
        for nanos in [0, 250, 251, 10_000_000, 10_000_001] {
            latency.observe(Duration::from_nanos(nanos));
        }
        let shown = latency.snapshot();
        let told: Vec<String> =
            shown.buckets.iter().map(|(bound, count)| format!("{bound}: {count}")).collect();
        assert_eq!(told[..2], ["0.00000025: 2", "0.0000005: 3"]);
        assert_eq!(told[13..], ["0.005: 3", "0.01: 4"]);
        assert_eq!(shown.count, 5);
        let origins = OriginLatency::default().snapshot().buckets;
        assert_eq!([origins[0].0, origins[14].0].map(|bound| bound.to_string()), ["0.0005", "60"]);
        assert!((shown.sum - 0.020_000_502).abs() < 1e-12, "{}", shown.sum);
        assert!(BOUNDS.is_sorted());
    }
}
