//! The course of a window: violations by crawler over time, for charts.

use super::{Report, ReportEntry};
use crate::record::Stretch;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Stretches of time of one length that cover a window without a gap. What the store keeps by hour or day only lies in one
/// stretch as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CourseGrid {
    /// Where the first begins, in Unix time.
    pub first: u64,
    /// How long each is, in seconds.
    pub step: u64,
    /// How many there are.
    pub count: usize,
}

impl CourseGrid {
    /// The window of `report` in at most `stretches` stretches.
    pub fn of(report: &Report, stretches: u64) -> Self {
        let all = report.crawlers.iter().flat_map(|entry| &entry.stretches);
        let grain = all.map(|stretch| stretch.length.unsigned_abs()).max().unwrap_or_default();
        let from = report.from.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        // The end of a log is a moment after its last line, and what is left of a second is a second.
        let to = report.to.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let to = to.as_secs() + u64::from(to.subsec_nanos() > 0);
        let step = step(to.saturating_sub(from).max(1), grain, stretches.max(2));
        let first = from / step * step;
        let count = usize::try_from(to.saturating_sub(first).div_ceil(step)).unwrap_or_default();
        Self { first, step, count }
    }

    /// Where the stretches begin.
    pub fn starts(&self) -> impl Iterator<Item = SystemTime> {
        let (first, step) = (self.first, self.step);
        (0..self.count as u64).map(move |at| SystemTime::UNIX_EPOCH + Duration::from_secs(first + at * step))
    }

    /// What was counted in each of them.
    pub fn sums(&self, entry: &ReportEntry, of: fn(&Stretch) -> u64) -> Vec<u64> {
        let mut sums = vec![0; self.count];
        for stretch in &entry.stretches {
            let at = stretch.start.unsigned_abs().saturating_sub(self.first) / self.step.max(1);
            if let Some(sum) = usize::try_from(at).ok().and_then(|at| sums.get_mut(at)) {
                *sum += of(stretch);
            }
        }
        sums
    }
}

/// Violations of crawlers under their own names, by stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViolationTimeline {
    /// The stretches.
    pub grid: CourseGrid,
    /// One for each of the crawlers with the most violations, the most first.
    pub curves: Vec<TimelineCurve>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineCurve {
    /// The crawler; `None` for all others together, which come last.
    pub crawler: Option<Box<str>>,
    /// One for each stretch.
    pub counts: Vec<u64>,
}

/// Adds the counts of the same stretches.
pub fn add_counts(sums: &mut [u64], counts: &[u64]) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

impl ViolationTimeline {
    /// The course of `report`, of its `curves` worst crawlers and the others together.
    pub fn of(report: &Report, grid: CourseGrid, curves: usize) -> Self {
        let mut sums: BTreeMap<Box<str>, Vec<u64>> = BTreeMap::new();
        for entry in report.named().filter(|entry| entry.violations > 0) {
            let counts = sums.entry(entry.subject.name().into()).or_insert_with(|| vec![0; grid.count]);
            add_counts(counts, &grid.sums(entry, |stretch| stretch.violations));
        }
        let mut found: Vec<TimelineCurve> =
            sums.into_iter().map(|(name, counts)| TimelineCurve { crawler: Some(name), counts }).collect();
        found.sort_by_key(|curve| Reverse(curve.counts.iter().sum::<u64>()));
        let rest = found.split_off(curves.min(found.len()));
        if !rest.is_empty() {
            let mut counts = vec![0; grid.count];
            for curve in &rest {
                add_counts(&mut counts, &curve.counts);
            }
            found.push(TimelineCurve { crawler: None, counts });
        }
        Self { grid, curves: found }
    }
}

/// Lengths that people read a clock by; each divides the next day boundary.
const STEPS: [u64; 12] = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY, 7 * DAY];

const DAY: u64 = 86_400;

/// The shortest step of a window of so many seconds that needs at most so many of them, and is no shorter than `grain`, the
/// longest of the store's roll-ups in the window, or a chart would show a day's count in its first half hour.
fn step(length: u64, grain: u64, stretches: u64) -> u64 {
    let fits = |step: &u64| length.div_ceil(*step) < stretches;
    let step = STEPS.into_iter().filter(|step| *step >= grain).find(fits);
    let unit = grain.max(DAY);
    step.unwrap_or_else(|| length.div_ceil(stretches * unit) * unit * 2)
}
