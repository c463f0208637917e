//! Requests over time, in bounded memory whatever times a log has: what the page draws, and how fast crawlers came.
//!
//! A log does not say beforehand how long it is, so counting begins by the minute. When there are too many counts
//! the stretches become longer; each length divides the next, so that nothing is counted in two of them.

use std::collections::HashMap;
use std::time::Duration;

/// Lengths of a stretch in seconds: from a minute to a day, a week and 52 weeks.
const GRAINS: [i64; 8] = [60, 300, 900, 3_600, 21_600, 86_400, 7 * 86_400, 364 * 86_400];

/// How many counts of violations are kept.
pub(super) const VIOLATIONS: usize = 65_536;

/// How many of all requests. More of them keep the minutes, which the pace is told by, of a longer log.
pub(super) const REQUESTS: usize = 131_072;

/// Counts by account and start of a stretch.
#[derive(Debug)]
pub(super) struct Timeline {
    /// How many counts are kept.
    most: usize,
    /// Which of the lengths.
    grain: usize,
    /// No account: those that found no room when the stretches could grow no longer.
    counts: HashMap<(Option<u32>, i64), u64>,
}

impl Timeline {
    pub(super) fn new(most: usize) -> Self {
        Self { most, grain: 0, counts: HashMap::new() }
    }

    /// A request of an account, so many microseconds after 1970.
    pub(super) fn add(&mut self, account: u32, at: i64) {
        let seconds = at.div_euclid(1_000_000);
        let key = |grain: i64, account| (account, seconds.div_euclid(grain) * grain);
        if self.counts.len() >= self.most && !self.counts.contains_key(&key(self.length(), Some(account))) {
            self.coarsen();
        }
        let own = key(self.length(), Some(account));
        let has_room = self.counts.len() < self.most || self.counts.contains_key(&own);
        let place = if has_room { own } else { key(self.length(), None) };
        *self.counts.entry(place).or_default() += 1;
    }

    /// How long the stretches are by now.
    pub(super) fn grain(&self) -> Duration {
        Duration::from_secs(self.length().unsigned_abs())
    }

    /// Account, start in seconds since 1970, and count.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Option<u32>, i64, u64)> {
        self.counts.iter().map(|((account, start), count)| (*account, *start, *count))
    }

    fn length(&self) -> i64 {
        GRAINS.get(self.grain).copied().unwrap_or(GRAINS[0])
    }

    /// Makes the stretches longer until half of the room is free, or they are as long as can be.
    fn coarsen(&mut self) {
        while self.counts.len() > self.most / 2 && self.grain + 1 < GRAINS.len() {
            self.grain += 1;
            let length = self.length();
            for ((account, start), count) in std::mem::take(&mut self.counts) {
                *self.counts.entry((account, start.div_euclid(length) * length)).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(timeline: &Timeline) -> u64 {
        timeline.counts().map(|(_, _, count)| count).sum()
    }

    #[test]
    fn each_length_divides_the_next() {
        assert!(GRAINS.windows(2).all(|pair| pair[1] % pair[0] == 0));
    }

    #[test]
    fn a_short_log_is_counted_by_the_minute() {
        let mut timeline = Timeline::new(VIOLATIONS);
        for second in [0, 59, 60, 119, 180] {
            timeline.add(7, second * 1_000_000);
        }
        let mut counts: Vec<_> = timeline.counts().collect();
        counts.sort_unstable();
        assert_eq!(counts, [(Some(7), 0, 2), (Some(7), 60, 2), (Some(7), 180, 1)]);
        assert_eq!(timeline.grain(), Duration::from_secs(60));
    }

    #[test]
    fn a_long_log_loses_no_count_and_takes_no_more_room() {
        let mut timeline = Timeline::new(VIOLATIONS);
        // Two crawlers each minute of half a year.
        for minute in 0..180 * 1_440 {
            timeline.add(0, minute * 60_000_000);
            timeline.add(1, minute * 60_000_000);
            assert!(timeline.counts.len() <= VIOLATIONS);
        }
        assert_eq!(sum(&timeline), 2 * 180 * 1_440);
        assert_eq!(timeline.grain(), Duration::from_secs(900), "the shortest that there was room for");
        assert!(timeline.counts().all(|(account, start, _)| account.is_some() && start % 900 == 0));
    }

    #[test]
    fn times_and_names_without_end_are_bounded() {
        let mut timeline = Timeline::new(VIOLATIONS);
        for at in 0..200_000_u32 {
            timeline.add(at, i64::from(at % 3_000) * 364 * 86_400 * 1_000_000);
            assert!(timeline.counts.len() <= VIOLATIONS + 3_000);
        }
        assert_eq!(sum(&timeline), 200_000);
        timeline.add(1, i64::MIN);
        timeline.add(1, i64::MAX);
    }
}
