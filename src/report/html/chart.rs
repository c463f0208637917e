//! Where the marks of the drawing stand. Whole numbers throughout, in units of the drawing's own box.
//!
//! It computes places; the markup is the templates', so that every text in a drawing is escaped like any
//! other.

use super::text::{isolated, start};
use crate::report::{ViolationTimeline, grouped};
use std::time::SystemTime;

/// Colours that tell crawlers apart; the last is for all others.
pub(super) const COLOURS: usize = 6;

/// Width of a bar and its gap.
pub(super) const PITCH: u64 = 10;

/// Height of the drawing.
const HEIGHT: u64 = 1_000;

/// A bar that stands for anything at all is at least this high, or it could not be seen.
const LOWEST: u64 = 6;

/// A stretch of time: where it stands, and its bars, stacked by crawler.
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

fn sums(course: &ViolationTimeline) -> Vec<u64> {
    (0..course.grid.count).map(|at| at_of(course, at).sum()).collect()
}

pub(super) fn sum(course: &ViolationTimeline) -> String {
    grouped(sums(course).iter().sum())
}

/// How wide the drawing is.
pub(super) const fn width(course: &ViolationTimeline) -> u64 {
    course.grid.count as u64 * PITCH
}

/// What the top of the drawing stands for.
fn top(course: &ViolationTimeline) -> u64 {
    round_above(sums(course).into_iter().max().unwrap_or_default())
}

/// What is written beside the top and the middle.
pub(super) fn scale(course: &ViolationTimeline) -> [String; 2] {
    let top = top(course);
    [grouped(top), if top.is_multiple_of(2) { grouped(top / 2) } else { String::new() }]
}

/// When the drawing begins, has its middle and ends.
pub(super) fn ticks(course: &ViolationTimeline) -> Vec<String> {
    let starts: Vec<String> = course.grid.starts().map(|begins| start(begins, course.grid.step)).collect();
    let ends = [starts.first(), starts.get(starts.len() / 2), starts.last()];
    let mut ticks: Vec<String> = ends.into_iter().flatten().cloned().collect();
    // A single bar has one date, not three.
    ticks.dedup();
    ticks
}

pub(super) fn columns(course: &ViolationTimeline) -> Vec<ChartColumn> {
    let top = top(course);
    let columns = course.grid.starts().zip(0_u64..).enumerate().map(|(at, (begins, place))| ChartColumn {
        title: title(course, at, &start(begins, course.grid.step)),
        x: place * PITCH,
        bars: bars(course, at, top),
    });
    columns.collect()
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

/// The colour, the name and the sum of each curve.
pub(super) fn legend(course: &ViolationTimeline) -> Vec<(usize, String, String)> {
    let curves = course.curves.iter().enumerate().map(|(index, curve)| {
        let name = curve.crawler.as_deref();
        (colour(index, name), self::name(name), grouped(curve.counts.iter().sum()))
    });
    curves.collect()
}

fn title(course: &ViolationTimeline, at: usize, begins: &str) -> String {
    let parts = course.curves.iter().zip(at_of(course, at)).filter(|(_, count)| *count > 0);
    let parts = parts.map(|(curve, count)| {
        let name = curve.crawler.as_deref().map_or_else(|| "all others".to_owned(), isolated);
        format!("{name} {}", grouped(count))
    });
    match &parts.collect::<Vec<String>>()[..] {
        [] => format!("{begins}: 0"),
        [only] => format!("{begins}: {only}"),
        several => format!("{begins}: {} ({})", grouped(at_of(course, at).sum()), several.join(", ")),
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

/// The same numbers, for a table: the times with any.
pub(super) fn rows(course: &ViolationTimeline) -> Vec<(SystemTime, Vec<u64>)> {
    let rows = course.grid.starts().enumerate().map(|(at, begins)| (begins, at_of(course, at).collect()));
    rows.filter(|(_, counts): &(_, Vec<u64>)| counts.iter().any(|count| *count > 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CourseGrid, TimelineCurve};

    fn course(counts: &[(Option<&str>, &[u64])]) -> ViolationTimeline {
        let count = counts.first().map_or(0, |(_, counts)| counts.len());
        let curve = |(name, counts): &(Option<&str>, &[u64])| TimelineCurve {
            crawler: name.map(Into::into),
            counts: counts.to_vec(),
        };
        let grid = CourseGrid { first: 0, step: 3_600, count };
        ViolationTimeline { grid, curves: counts.iter().map(curve).collect() }
    }

    #[test]
    fn bars_stand_on_each_other_and_in_the_drawing() {
        let course = course(&[(Some("a"), &[60, 0, 1]), (None, &[40, 0, 0])]);
        assert_eq!((width(&course), scale(&course)), (30, ["100".to_owned(), "50".to_owned()]));
        let columns = columns(&course);
        let places: Vec<Vec<(usize, u64, u64)>> = columns
            .iter()
            .map(|column| column.bars.iter().map(|bar| (bar.colour, bar.y, bar.height)).collect())
            .collect();
        assert_eq!(places, [vec![(0, 400, 600), (5, 0, 400)], vec![], vec![(0, 990, 10)]]);
        assert_eq!(columns[0].title, "1 Jan, 00:00: 100 (\u{2068}a\u{2069} 60, all others 40)");
        assert_eq!(rows(&course).len(), 2, "times without a violation are left out");
    }

    #[test]
    fn a_count_that_is_small_beside_others_can_be_seen_and_a_huge_one_fits() {
        let columns = columns(&course(&[(Some("a"), &[1, u64::MAX / 2])]));
        assert_eq!(columns[0].bars[0].height, LOWEST);
        assert!(columns[1].bars[0].height <= HEIGHT);
    }

    #[test]
    fn the_scale_ends_on_a_round_number() {
        let ends: Vec<u64> = [1, 2, 3, 5, 6, 11, 41, 999].into_iter().map(round_above).collect();
        assert_eq!(ends, [1, 2, 4, 5, 10, 20, 50, 1_000]);
        assert!(round_above(u64::MAX) == u64::MAX);
    }
}
