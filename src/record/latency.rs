//! How long something takes: a histogram with fixed buckets, which costs a request one addition.

use super::sharded::Sharded;
use std::array;
use std::time::Duration;

/// The upper bounds of buckets, in nanoseconds, each with its value in seconds as Prometheus writes it.
static BOUNDS: [(u64, &str); 25] = [
    (250, "2.5e-07"),
    (500, "5e-07"),
    (1_000, "1e-06"),
    (2_500, "2.5e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (25_000, "2.5e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (250_000, "0.00025"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_500_000, "0.0025"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (25_000_000, "0.025"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (250_000_000, "0.25"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1"),
    (2_500_000_000, "2.5"),
    (5_000_000_000, "5"),
    (10_000_000_000, "10"),
    (60_000_000_000, "60"),
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
    /// Upper bound of each bucket in seconds, as written, and how many took at most that long.
    pub buckets: [(&'static str, u64); BEYOND],
    /// How many there were.
    pub count: u64,
    /// What all of them took, in seconds.
    pub sum: f64,
}

impl<const FIRST: usize> Latency<FIRST> {
    fn bounds() -> &'static [(u64, &'static str)] {
        BOUNDS.get(FIRST..FIRST + BEYOND).unwrap_or_default()
    }

    /// Counts one duration.
    pub fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.add(Self::bounds().partition_point(|(bound, _)| *bound < nanos), 1);
        self.0.add(SUM, nanos);
    }

    /// The histogram now.
    pub fn snapshot(&self) -> LatencySnapshot {
        let mut count = 0;
        let buckets = array::from_fn(|index| {
            count += self.0.get(index);
            (Self::bounds().get(index).map_or("", |(_, seconds)| *seconds), count)
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
        assert_eq!(shown.buckets[0], ("2.5e-07", 2));
        assert_eq!(shown.buckets[1], ("5e-07", 3));
        assert_eq!(shown.buckets[13], ("0.005", 3));
        assert_eq!(shown.buckets[14], ("0.01", 4));
        assert_eq!(shown.count, 5);
        let origins = OriginLatency::default().snapshot().buckets;
        assert_eq!((origins[0].0, origins[14].0), ("0.0005", "60"));
        assert!((shown.sum - 0.020_000_502).abs() < 1e-12, "{}", shown.sum);
    }

    #[test]
    fn bounds_rise_and_are_written_as_what_they_are() {
        for pair in BOUNDS.windows(2) {
            assert!(pair[0].0 < pair[1].0);
        }
        for (nanos, written) in BOUNDS {
            let seconds: f64 = written.parse().unwrap();
            assert_eq!(Duration::from_secs_f64(seconds), Duration::from_nanos(nanos), "{written}");
        }
    }
}
