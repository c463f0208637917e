//! The course of a window: violations by crawler over time, for charts.

use super::Report;
use super::question::Question;
use crate::identify::{Client, Proof};
use crate::record::{EventKind, StoreError, StoreReader};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Violations of crawlers under their own names, by stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Where the stretches begin, without a gap; what the store keeps by hour or day only stands at the
    /// start of that hour or day.
    pub starts: Vec<SystemTime>,
    /// How long a stretch is.
    pub step: Duration,
    /// One for each of the crawlers with the most violations, the most first.
    pub curves: Vec<Curve>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The crawler; `None` for all others together, which come last.
    pub crawler: Option<Box<str>>,
    /// As many as there are starts.
    pub counts: Vec<u64>,
}

impl Course {
    /// The course of `report`'s window, in at most `stretches` stretches, of its `curves` worst crawlers and
    /// the others together.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn of(
        stores: &[StoreReader],
        question: &Question,
        report: &Report,
        stretches: u32,
        curves: usize,
    ) -> Result<Self, StoreError> {
        let step = step(report, stretches);
        let (first, count) = grid(report, step);
        let mut sums: BTreeMap<Box<str>, Vec<u64>> = BTreeMap::new();
        for store in stores {
            for point in store.series(&report.window(), &question.filter(), step)? {
                let subject = &point.subject;
                let is_crawler = matches!(subject.client, Client::Crawler | Client::SpecialCase);
                if !is_crawler || subject.proof == Proof::Contradicted || point.kind != EventKind::Violation {
                    continue;
                }
                let name = subject.crawler.clone().unwrap_or_else(|| "(no name)".into());
                let at = seconds(point.start).saturating_sub(first) / step.as_secs();
                let counts = sums.entry(name).or_insert_with(|| vec![0; count]);
                if let Some(sum) = usize::try_from(at).ok().and_then(|at| counts.get_mut(at)) {
                    *sum += point.count;
                }
            }
        }
        let starts = (0..count as u64).map(|at| at * step.as_secs() + first);
        let starts = starts.map(|start| SystemTime::UNIX_EPOCH + Duration::from_secs(start)).collect();
        Ok(Self { starts, step, curves: worst(sums, curves, count) })
    }
}

/// The worst `curves`, and the rest as one.
fn worst(sums: BTreeMap<Box<str>, Vec<u64>>, curves: usize, count: usize) -> Vec<Curve> {
    let mut found: Vec<Curve> =
        sums.into_iter().map(|(name, counts)| Curve { crawler: Some(name), counts }).collect();
    found.sort_by_key(|curve| Reverse(curve.counts.iter().sum::<u64>()));
    let rest = found.split_off(curves.min(found.len()));
    if !rest.is_empty() {
        let mut counts = vec![0; count];
        for curve in rest {
            counts.iter_mut().zip(&curve.counts).for_each(|(sum, count)| *sum += count);
        }
        found.push(Curve { crawler: None, counts });
    }
    found
}

/// Lengths that people read a clock by; each divides the next day boundary.
const STEPS: [u64; 12] = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 7 * 86_400];

/// The shortest step that needs at most `stretches` of them. Steps are at least as long as what the store
/// keeps at the window's beginning, or a chart would show a day's count in its first minute.
fn step(report: &Report, stretches: u32) -> Duration {
    let length = seconds(report.to).saturating_sub(seconds(report.from)).max(1);
    let fits = |step: &u64| length.div_ceil(*step) < u64::from(stretches.max(2));
    let kept = match length {
        0..=172_800 => 60,
        172_801..=691_200 => 3_600,
        _ => 86_400,
    };
    let step = STEPS.into_iter().filter(|step| *step >= kept).find(fits);
    Duration::from_secs(
        step.unwrap_or_else(|| length.div_ceil(u64::from(stretches.max(2)) * 86_400) * 86_400 * 2),
    )
}

/// The first start, and how many there are.
fn grid(report: &Report, step: Duration) -> (u64, usize) {
    let step = step.as_secs();
    let first = seconds(report.from) / step * step;
    let count = seconds(report.to).saturating_sub(first).div_ceil(step);
    (first, usize::try_from(count).unwrap_or_default())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
