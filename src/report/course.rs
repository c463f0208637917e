//! The course of a window: violations by crawler over time, for charts.

use super::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Violations of crawlers under their own names, by stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViolationTimeline {
    /// Where the stretches begin, without a gap. What the store keeps by hour or day only lies in one stretch
    /// as a whole.
    pub starts: Vec<SystemTime>,
    /// How long a stretch is.
    pub step: Duration,
    /// One for each of the crawlers with the most violations, the most first.
    pub curves: Vec<TimelineCurve>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineCurve {
    /// The crawler; `None` for all others together, which come last.
    pub crawler: Option<Box<str>>,
    /// As many as there are starts.
    pub counts: Vec<u64>,
}

impl ViolationTimeline {
    /// The course of `report`'s window, in at most `stretches` stretches, of its `curves` worst crawlers and
    /// the others together.
    pub fn of(report: &Report, stretches: u32, curves: usize) -> Self {
        let broken = || report.named().filter(|entry| entry.violations > 0);
        let grain = broken().flat_map(|entry| &entry.stretches).map(|stretch| stretch.length).max();
        let step = step(report, Duration::from_secs(grain.unwrap_or_default().unsigned_abs()), stretches);
        let (first, count) = grid(report, step);
        let mut sums: BTreeMap<Box<str>, Vec<u64>> = BTreeMap::new();
        for entry in broken() {
            let counts = sums.entry(entry.subject.name().into()).or_insert_with(|| vec![0; count]);
            for stretch in &entry.stretches {
                let at = u64::try_from(stretch.start).unwrap_or_default().saturating_sub(first);
                let place = usize::try_from(at / step.as_secs()).unwrap_or(usize::MAX);
                if let Some(sum) = counts.get_mut(place) {
                    *sum += stretch.violations;
                }
            }
        }
        let starts = (0..count as u64).map(|at| at * step.as_secs() + first);
        let starts = starts.map(|start| SystemTime::UNIX_EPOCH + Duration::from_secs(start)).collect();
        Self { starts, step, curves: worst(sums, curves, count) }
    }
}

/// The worst `curves`, and the rest as one.
fn worst(sums: BTreeMap<Box<str>, Vec<u64>>, curves: usize, count: usize) -> Vec<TimelineCurve> {
    let mut found: Vec<TimelineCurve> =
        sums.into_iter().map(|(name, counts)| TimelineCurve { crawler: Some(name), counts }).collect();
    found.sort_by_key(|curve| Reverse(curve.counts.iter().sum::<u64>()));
    let rest = found.split_off(curves.min(found.len()));
    if !rest.is_empty() {
        let mut counts = vec![0; count];
        for curve in rest {
            counts.iter_mut().zip(&curve.counts).for_each(|(sum, count)| *sum += count);
        }
        found.push(TimelineCurve { crawler: None, counts });
    }
    found
}

/// Lengths that people read a clock by; each divides the next day boundary.
const STEPS: [u64; 12] = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY, 7 * DAY];

const DAY: u64 = 86_400;

/// The shortest step that needs at most `stretches` of them, and is no shorter than `grain`, the longest of the
/// store's roll-ups in the window, or a chart would show a day's count in its first half hour.
fn step(report: &Report, grain: Duration, stretches: u32) -> Duration {
    let length = end(report).saturating_sub(seconds(report.from)).max(1);
    let fits = |step: &u64| length.div_ceil(*step) < u64::from(stretches.max(2));
    let step = STEPS.into_iter().filter(|step| *step >= grain.as_secs()).find(fits);
    let unit = grain.as_secs().max(DAY);
    Duration::from_secs(
        step.unwrap_or_else(|| length.div_ceil(u64::from(stretches.max(2)) * unit) * unit * 2),
    )
}

/// The first start, and how many there are.
fn grid(report: &Report, step: Duration) -> (u64, usize) {
    let step = step.as_secs();
    let first = seconds(report.from) / step * step;
    let count = end(report).saturating_sub(first).div_ceil(step);
    (first, usize::try_from(count).unwrap_or_default())
}

/// The end of the window. That of a log is a moment after its last line, and what is left of a second is a second.
fn end(report: &Report) -> u64 {
    let since = report.to.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() + u64::from(since.subsec_nanos() > 0)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
