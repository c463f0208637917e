//! How fast a crawler came, from how many requests it made when.
//!
//! Times between requests at two gateways do not add up: each sees only its share, and the times between those are
//! longer. Counts do add up, so the pace is derived from them. The requests of a minute are taken to be spread evenly
//! over it. A short burst therefore looks slower than it was, and nobody looks faster than the counts allow.

use crate::record::Stretch;
use serde::Serialize;
use std::cmp::Reverse;

/// How many requests came in a minute, of the minutes in which any came. Where the store keeps no minutes any more, the
/// mean of an hour or a day stands for its minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MinuteCounts {
    /// In half of the minutes no more than this.
    pub median: f64,
    /// In nine of ten.
    pub p90: f64,
    /// In the busiest.
    pub most: f64,
}

impl MinuteCounts {
    /// The same in words.
    pub(crate) fn words(&self) -> String {
        let Self { median, p90, most } = self;
        format!("median {median:.0}, p90 {p90:.0}, max {most:.0}")
    }
}

const MINUTE: f64 = 60.0;

/// The time between two of the requests of a stretch.
#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^52")]
fn gap(stretch: &Stretch) -> f64 {
    stretch.length as f64 / stretch.requests.max(1) as f64
}

impl MinuteCounts {
    /// How many requests came in a minute.
    pub(super) fn of(whole: &[Stretch]) -> Option<Self> {
        let mut rates: Vec<f64> = finest(whole).iter().map(|stretch| MINUTE / gap(stretch)).collect();
        rates.sort_by(f64::total_cmp);
        let of = |tenths: usize| rates.get((rates.len() * tenths).div_ceil(10).saturating_sub(1)).copied();
        Some(Self { median: of(5)?, p90: of(9)?, most: of(10)? })
    }
}

/// The time that half of the gaps between requests do not exceed, in seconds. `None` without any gap.
pub(super) fn median(whole: &[Stretch]) -> Option<f64> {
    let mut gaps = gaps(&finest(whole));
    gaps.sort_by(|one, two| one.0.total_cmp(&two.0));
    let half = gaps.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
    let mut seen = 0;
    let middle = gaps.iter().find(|(_, count)| {
        seen += count;
        seen >= half
    });
    middle.map(|(gap, _)| *gap)
}

/// The shortest stretches alone: an hour would hide the pace of the minutes beside it. All, where the shortest
/// hold a single request.
fn finest(whole: &[Stretch]) -> Vec<Stretch> {
    let shortest = whole.iter().map(|stretch| stretch.length).min();
    let is_shortest = |stretch: &&Stretch| Some(stretch.length) == shortest;
    let finest: Vec<Stretch> = whole.iter().filter(is_shortest).copied().collect();
    if finest.iter().map(|stretch| stretch.requests).sum::<u64>() < 2 { whole.to_vec() } else { finest }
}

/// Stretches in their order that do not overlap: where one store keeps an hour and another its minutes, only the hour is
/// known of both. Each length divides the next, so that a longer one holds the shorter ones that begin within it.
pub(super) fn whole(mut all: Vec<Stretch>) -> Vec<Stretch> {
    all.sort_by_key(|stretch| (stretch.start, Reverse(stretch.length)));
    all.dedup_by(|next, last| {
        let is_within = next.start < last.end();
        if is_within {
            last.add(next);
        }
        is_within
    });
    all
}

/// The times between requests, and how often each: those within a stretch, and the one to the next.
fn gaps(stretches: &[Stretch]) -> Vec<(f64, u64)> {
    let within = stretches.iter().map(|stretch| (gap(stretch), stretch.requests.saturating_sub(1)));
    let between = stretches.windows(2).filter_map(|pair| {
        let [one, next] = pair else { return None };
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^52")]
        let quiet = next.start.saturating_sub(one.end()) as f64;
        Some((quiet + f64::midpoint(gap(one), gap(next)), 1))
    });
    within.filter(|(_, count)| *count > 0).chain(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(stretches: &[(i64, i64, u64)]) -> Vec<Stretch> {
        let stretch = |(start, length, requests): &(i64, i64, u64)| Stretch {
            start: *start,
            length: *length,
            requests: *requests,
            violations: 0,
        };
        whole(stretches.iter().map(stretch).collect())
    }

    #[track_caller]
    fn is_near(pace: &[Stretch], wanted: f64) {
        let found = median(pace).unwrap();
        assert!((found / wanted - 1.0).abs() < 0.01, "{found} s, not {wanted} s");
    }

    #[test]
    fn who_comes_evenly_has_that_pace() {
        assert_eq!(median(&pace(&[])), None);
        assert_eq!(median(&pace(&[(60, 60, 1)])), None);
        is_near(&pace(&[(60, 60, 6), (120, 60, 6)]), 10.0);
        let each_ten_minutes: Vec<_> = (0..9).map(|at| (at * 600, 60, 1)).collect();
        is_near(&pace(&each_ten_minutes), 600.0);
    }

    #[test]
    fn minutes_tell_how_its_pace_was_spread() {
        let mut all: Vec<_> = (0..9).map(|at| (at * 60, 60, 10)).collect();
        all.push((600, 60, 500));
        let counts = MinuteCounts::of(&pace(&all)).unwrap();
        assert_eq!((counts.median, counts.p90, counts.most), (10.0, 10.0, 500.0));
        assert_eq!(MinuteCounts::of(&pace(&[])), None);
    }

    #[test]
    fn the_shares_of_several_stores_are_one_pace() {
        let share: Vec<_> = (0..10).map(|at| (at * 60, 60, 2)).collect();
        is_near(&pace(&[&share[..], &share, &share].concat()), 10.0);
    }

    #[test]
    fn minutes_tell_more_than_the_hours_before_them() {
        is_near(&pace(&[(0, 3_600, 60), (3_600, 60, 60), (3_660, 60, 60)]), 1.0);
        is_near(&pace(&[(0, 3_600, 360), (3_660, 60, 1)]), 10.0);
        // One store has folded what the other has not yet: of the hour only the sum is known.
        is_near(&pace(&[(0, 3_600, 180), (0, 60, 30), (60, 60, 30), (120, 60, 120)]), 10.0);
    }
}
