//! Where the marks of the drawing stand. Whole numbers throughout, in units of the drawing's own box.
//!
//! It computes places; the markup is the templates', so that every text in a drawing is escaped like any
//! other.

use super::text::{isolated, start, stretch};
use crate::report::{ViolationTimeline, grouped};
use std::time::SystemTime;

/// Colours that tell crawlers apart; the last is for all others.
pub(super) const COLOURS: usize = 6;

/// Width of a bar and its gap.
const PITCH: u64 = 10;

/// Height of the drawing.
const HEIGHT: u64 = 1_000;

/// A bar that stands for anything at all is at least this high, or it could not be seen.
const LOWEST: u64 = 6;

/// Violations over time, stacked by crawler.
pub(super) struct CourseChart {
    pub(super) width: u64,
    pub(super) pitch: u64,
    pub(super) step: String,
    pub(super) sum: String,
    /// What the top of the drawing stands for, and its middle.
    pub(super) top: String,
    pub(super) half: String,
    pub(super) ticks: Vec<String>,
    pub(super) columns: Vec<ChartColumn>,
    pub(super) curves: Vec<Legend>,
    /// The same numbers, for a table.
    pub(super) rows: Vec<(SystemTime, Vec<u64>)>,
}

pub(super) struct ChartColumn {
    pub(super) title: String,
    pub(super) x: u64,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    pub(super) colour: usize,
    pub(super) y: u64,
    pub(super) height: u64,
}

pub(super) struct Legend {
    pub(super) colour: usize,
    pub(super) name: String,
    pub(super) sum: String,
}

impl CourseChart {
    /// The drawing; `None` where there is nothing to draw.
    pub(super) fn of(course: &ViolationTimeline) -> Option<Self> {
        let sums: Vec<u64> = (0..course.starts.len()).map(|at| at_of(course, at).sum()).collect();
        let highest = sums.iter().copied().max().filter(|highest| *highest > 0)?;
        let top = round_above(highest);
        let columns = course.starts.iter().zip(&sums).enumerate().map(|(at, (begins, sum))| ChartColumn {
            title: title(course, at, &start(*begins, course.step), *sum),
            x: u64::try_from(at).unwrap_or_default() * PITCH,
            bars: bars(course, at, top),
        });
        let ends = [course.starts.first(), course.starts.get(course.starts.len() / 2), course.starts.last()];
        let mut ticks: Vec<String> =
            ends.into_iter().flatten().map(|begins| start(*begins, course.step)).collect();
        // A single bar has one date, not three.
        ticks.dedup();
        Some(Self {
            width: u64::try_from(course.starts.len()).unwrap_or_default() * PITCH,
            pitch: PITCH,
            step: stretch(course.step),
            sum: grouped(sums.iter().sum()),
            top: grouped(top),
            half: if top.is_multiple_of(2) { grouped(top / 2) } else { String::new() },
            ticks,
            columns: columns.collect(),
            curves: legend(course),
            rows: rows(course, &sums),
        })
    }
}

fn at_of(course: &ViolationTimeline, at: usize) -> impl Iterator<Item = u64> {
    course.curves.iter().map(move |curve| curve.counts.get(at).copied().unwrap_or_default())
}

fn name(crawler: Option<&str>) -> String {
    crawler.map_or_else(|| "all others".to_owned(), super::text::visible)
}

/// Colours of the curves: the one for all others, and for what no colour is left for, is the last.
fn colour(index: usize, crawler: Option<&str>) -> usize {
    if crawler.is_none() { COLOURS - 1 } else { index.min(COLOURS - 1) }
}

fn legend(course: &ViolationTimeline) -> Vec<Legend> {
    let curves = course.curves.iter().enumerate().map(|(index, curve)| Legend {
        colour: colour(index, curve.crawler.as_deref()),
        name: name(curve.crawler.as_deref()),
        sum: grouped(curve.counts.iter().sum()),
    });
    curves.collect()
}

fn title(course: &ViolationTimeline, at: usize, begins: &str, sum: u64) -> String {
    let parts = course.curves.iter().zip(at_of(course, at)).filter(|(_, count)| *count > 0);
    let parts = parts.map(|(curve, count)| {
        let name = curve.crawler.as_deref().map_or_else(|| "all others".to_owned(), isolated);
        format!("{name} {}", grouped(count))
    });
    let parts: Vec<String> = parts.collect();
    let detail = if parts.len() > 1 { format!(" ({})", parts.join(", ")) } else { String::new() };
    match parts.first() {
        Some(only) if parts.len() == 1 => format!("{begins}: {only}"),
        _ => format!("{begins}: {}{detail}", grouped(sum)),
    }
}

/// Stacked from the bottom. What is too low to be seen is drawn higher, so a stack may grow by a little.
fn bars(course: &ViolationTimeline, at: usize, top: u64) -> Vec<Bar> {
    let mut y = HEIGHT;
    let mut bars = Vec::new();
    for (index, (curve, count)) in course.curves.iter().zip(at_of(course, at)).enumerate() {
        if count > 0 {
            let height = scaled(count, top, HEIGHT).max(LOWEST).min(y);
            y -= height;
            bars.push(Bar { colour: colour(index, curve.crawler.as_deref()), y, height });
        }
    }
    bars
}

fn scaled(part: u64, whole: u64, length: u64) -> u64 {
    let share = u128::from(part) * u128::from(length) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(length)
}

/// The least of 1, 2, 4, 5, 10, 20, 40, 50, … that is not below.
fn round_above(number: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [1, 2, 4, 5] {
            let candidate = unit.saturating_mul(factor);
            if candidate >= number {
                return candidate;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// Those with any.
fn rows(course: &ViolationTimeline, sums: &[u64]) -> Vec<(SystemTime, Vec<u64>)> {
    let rows = course.starts.iter().zip(sums).enumerate().filter(|(_, (_, sum))| **sum > 0);
    rows.map(|(at, (begins, _))| (*begins, at_of(course, at).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TimelineCurve;
    use std::time::Duration;

    fn course(counts: &[(Option<&str>, &[u64])]) -> ViolationTimeline {
        let step = Duration::from_secs(3_600);
        let length = u32::try_from(counts.first().map_or(0, |(_, counts)| counts.len())).unwrap();
        ViolationTimeline {
            starts: (0..length).map(|at| SystemTime::UNIX_EPOCH + step * at).collect(),
            step,
            curves: counts
                .iter()
                .map(|(name, counts)| TimelineCurve {
                    crawler: name.map(Into::into),
                    counts: counts.to_vec(),
                })
                .collect(),
        }
    }

    #[test]
    fn bars_stand_on_each_other_and_in_the_drawing() {
        let chart = CourseChart::of(&course(&[(Some("a"), &[60, 0, 1]), (None, &[40, 0, 0])])).unwrap();
        assert_eq!((chart.width, chart.top.as_str(), chart.half.as_str()), (30, "100", "50"));
        let places: Vec<Vec<(usize, u64, u64)>> = chart
            .columns
            .iter()
            .map(|column| column.bars.iter().map(|bar| (bar.colour, bar.y, bar.height)).collect())
            .collect();
        assert_eq!(places, [vec![(0, 400, 600), (5, 0, 400)], vec![], vec![(0, 990, 10)]]);
        assert_eq!(chart.columns[0].title, "1 Jan, 00:00: 100 (\u{2068}a\u{2069} 60, all others 40)");
        assert_eq!(chart.rows.len(), 2, "times without a violation are left out");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(CourseChart::of(&course(&[])).is_none());
        assert!(CourseChart::of(&course(&[(Some("a"), &[0, 0])])).is_none());
    }

    #[test]
    fn a_count_that_is_small_beside_others_can_be_seen_and_a_huge_one_fits() {
        let chart = CourseChart::of(&course(&[(Some("a"), &[1, u64::MAX / 2])])).unwrap();
        assert_eq!(chart.columns[0].bars[0].height, LOWEST);
        assert!(chart.columns[1].bars[0].height <= HEIGHT);
    }

    #[test]
    fn the_scale_ends_on_a_round_number() {
        let ends: Vec<u64> = [1, 2, 3, 5, 6, 11, 41, 999].into_iter().map(round_above).collect();
        assert_eq!(ends, [1, 2, 4, 5, 10, 20, 50, 1_000]);
        assert!(round_above(u64::MAX) == u64::MAX);
    }
}
