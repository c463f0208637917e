//! Where crawlers go most: targets by crawler, the hotter the more.

use super::text::{isolated, visible};
use crate::record::{OTHER_PATHS, PathCounts};
use crate::report::{Report, ReportEntry, grouped};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many targets are shown.
const ROWS: usize = 15;

/// How many crawlers have a column of their own.
const COLUMNS: usize = 5;

/// The hottest step.
const HOTTEST: u32 = 5;

pub(super) struct Heat {
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<HeatRow>,
}

pub(super) struct HeatRow {
    pub(super) target: String,
    pub(super) cells: Vec<Cell>,
    pub(super) sum: String,
}

pub(super) struct Cell {
    pub(super) count: String,
    pub(super) heat: u32,
    pub(super) title: String,
}

/// What is counted: violations where there are any, else requests.
#[derive(Clone, Copy)]
enum Measure {
    Violations,
    /// The same, where nobody can have violated anything.
    Disallowed,
    Requests,
}

impl Measure {
    const fn of(self, counts: &PathCounts) -> u64 {
        match self {
            Self::Violations | Self::Disallowed => counts.violations,
            Self::Requests => counts.requests(),
        }
    }

    const fn word(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Violations, 1) => "violation",
            (Self::Violations, _) => "violations",
            (Self::Disallowed, _) => "disallowed",
            (Self::Requests, 1) => "request",
            (Self::Requests, _) => "requests",
        }
    }
}

/// Counts by target and crawler.
type HeatTable<'r> = BTreeMap<&'r str, BTreeMap<&'r str, u64>>;

/// Whose columns there are, and how what stands in them is coloured.
struct Columns<'r> {
    names: Vec<&'r str>,
    has_others: bool,
    /// The highest count of one crawler at one target.
    most: u64,
    measure: Measure,
}

impl Heat {
    /// The hottest targets of crawlers under their own names; `None` where no target is known.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let violations = table(report, Measure::Violations);
        let measure = match (violations.is_empty(), report.is_hypothetical()) {
            (true, _) => Measure::Requests,
            (false, true) => Measure::Disallowed,
            (false, false) => Measure::Violations,
        };
        let table = if violations.is_empty() { table(report, measure) } else { violations };
        let most = table.values().flat_map(BTreeMap::values).copied().max()?;
        let names = hottest(table.values().flatten().map(|(name, count)| (*name, *count)), COLUMNS);
        let has_others = table.values().flat_map(BTreeMap::keys).any(|name| !names.contains(name));
        let targets = hottest(table.iter().map(|(target, counts)| (*target, counts.values().sum())), ROWS);
        let columns = Columns { names, has_others, most, measure };
        let rows = targets.iter().filter_map(|target| Some(columns.row(target, table.get(target)?)));
        let (title, what) = match measure {
            Measure::Violations => ("Where rules were broken", "Violations by path and crawler."),
            Measure::Disallowed => (
                "What would be disallowed",
                "Requests that these rules would have disallowed, by path and crawler.",
            ),
            Measure::Requests => (
                "Where crawlers went",
                "Requests by path and crawler, of the paths that each crawler asked for most. The rules disallow none \
                 of them.",
            ),
        };
        Some(Self { title, what, rows: rows.collect(), columns: columns.titles() })
    }
}

impl Columns<'_> {
    fn titles(&self) -> Vec<String> {
        let others = self.has_others.then(|| "all others".to_owned());
        self.names.iter().map(|name| visible(name)).chain(others).collect()
    }

    fn row(&self, target: &str, counts: &BTreeMap<&str, u64>) -> HeatRow {
        let of = |name: &&str| counts.get(*name).copied().unwrap_or_default();
        let sum: u64 = counts.values().sum();
        let rest = sum - self.names.iter().map(of).sum::<u64>();
        let others = self.has_others.then(|| self.cell("all others", rest));
        let cells = self.names.iter().map(|name| self.cell(&isolated(name), of(name))).chain(others);
        HeatRow { target: visible(target), cells: cells.collect(), sum: grouped(sum) }
    }

    fn cell(&self, name: &str, count: u64) -> Cell {
        let title = format!("{name}: {} {}", grouped(count), self.measure.word(count));
        Cell { count: grouped(count), heat: heat(count, self.most), title }
    }
}

/// By target and name, whatever the site; without zeros, and without the rest that has no name.
fn table(report: &Report, measure: Measure) -> HeatTable<'_> {
    let mut table: HeatTable<'_> = BTreeMap::new();
    for entry in report.named() {
        let paths = entry.paths.iter().filter(|path| path.target != OTHER_PATHS);
        for (target, count) in paths.map(|path| (path.target.as_str(), measure.of(&path.counts))) {
            if count > 0 {
                *table.entry(target).or_default().entry(ReportEntry::name(entry)).or_default() += count;
            }
        }
    }
    table
}

/// The `most` keys with the highest sums, the highest first.
fn hottest<'r>(counts: impl Iterator<Item = (&'r str, u64)>, most: usize) -> Vec<&'r str> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, count) in counts {
        *sums.entry(key).or_default() += count;
    }
    let mut sums: Vec<(&str, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(key, sum)| (Reverse(*sum), *key));
    sums.into_iter().take(most).map(|(key, _)| key).collect()
}

/// From 0 for nothing to [`HOTTEST`], by the number of digits: a crawl has paths with one request and with a
/// million.
fn heat(count: u64, most: u64) -> u32 {
    if count == 0 {
        return 0;
    }
    if count >= most {
        return HOTTEST;
    }
    1 + count.ilog2() * (HOTTEST - 1) / most.ilog2().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_rises_with_the_count() {
        let heats: Vec<u32> =
            [0, 1, 10, 100, 1_000, 10_000].into_iter().map(|count| heat(count, 10_000)).collect();
        assert_eq!(heats, [0, 1, 1, 2, 3, 5]);
        assert!((1..=1_000).all(|count| heat(count, 1_000) <= HOTTEST && heat(count, 1_000) >= 1));
        assert_eq!((heat(1, 1), heat(u64::MAX, u64::MAX)), (5, 5));
    }

    #[test]
    fn the_hottest_are_few_and_in_order() {
        let counts = [("a", 1), ("b", 5), ("a", 3), ("c", 5), ("d", 1)];
        assert_eq!(hottest(counts.into_iter(), 3), ["b", "c", "a"]);
    }
}
