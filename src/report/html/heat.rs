//! Which rules crawlers broke, or where they went: rows by crawler, the hotter the more.

use super::cases::folder;
use super::text::{isolated, visible};
use crate::record::{EventKind, OTHER_PATHS};
use crate::report::{Report, grouped};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many rules or folders are shown.
const ROWS: usize = 12;

/// How many crawlers have a column of their own.
const COLUMNS: usize = 5;

/// The hottest step.
const HOTTEST: u32 = 5;

/// What stands for all that has no row or column of its own.
const OTHERS: &str = "all others";

pub(super) struct Heat {
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    /// What a row is.
    pub(super) head: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<HeatRow>,
}

pub(super) struct HeatRow {
    /// `None` where it is all others.
    pub(super) text: Option<String>,
    /// The group of a rule.
    pub(super) group: String,
    pub(super) cells: Vec<Cell>,
    pub(super) sum: String,
}

pub(super) struct Cell {
    pub(super) count: String,
    pub(super) heat: u32,
    pub(super) title: String,
}

/// A rule and its group; or a folder, and nothing.
type HeatKey<'r> = (&'r str, String);

/// Counts by row and crawler.
type HeatTable<'r> = BTreeMap<HeatKey<'r>, BTreeMap<&'r str, u64>>;

/// Whose columns there are, and how what stands in them is coloured.
struct Columns<'r> {
    names: Vec<&'r str>,
    has_others: bool,
    /// The highest count of one crawler in one row.
    most: u64,
    /// One of what is counted, and several.
    words: [&'static str; 2],
}

impl Heat {
    /// The hottest rows of crawlers under their own names; `None` where there are none.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let rules = rules(report);
        let (title, what, head, words) = match (rules.is_empty(), report.is_hypothetical()) {
            (true, _) => (
                "Where crawlers went",
                "Requests by folder and crawler. The rules disallow none of them.",
                "Folder",
                ["request", "requests"],
            ),
            (false, true) => (
                "What would be disallowed",
                "Requests that these rules would have disallowed, by rule and crawler.",
                "Rule",
                ["disallowed", "disallowed"],
            ),
            (false, false) => (
                "Which rules were broken",
                "Violations by rule and crawler, all sites together.",
                "Rule",
                ["violation", "violations"],
            ),
        };
        let mut table = if rules.is_empty() { folders(report) } else { rules };
        let most = table.values().flat_map(BTreeMap::values).copied().max()?;
        let names = hottest(table.values().flatten().map(|(name, count)| (*name, *count)), COLUMNS);
        let has_others = table.values().flat_map(BTreeMap::keys).any(|name| !names.contains(name));
        let order = hottest(table.iter().map(|(key, counts)| (key.clone(), counts.values().sum())), ROWS);
        let columns = Columns { names, has_others, most, words };
        let rows = order.into_iter().filter_map(|key| Some(columns.row(Some(&key), &table.remove(&key)?)));
        let mut rows: Vec<HeatRow> = rows.collect();
        let mut rest: BTreeMap<&str, u64> = BTreeMap::new();
        table.values().flatten().for_each(|(name, count)| *rest.entry(name).or_default() += count);
        if !rest.is_empty() {
            rows.push(columns.row(None, &rest));
        }
        Some(Self { title, what, head, rows, columns: columns.titles() })
    }
}

impl Columns<'_> {
    fn titles(&self) -> Vec<String> {
        let others = self.has_others.then(|| OTHERS.to_owned());
        self.names.iter().map(|name| visible(name)).chain(others).collect()
    }

    fn row(&self, key: Option<&HeatKey<'_>>, counts: &BTreeMap<&str, u64>) -> HeatRow {
        let of = |name: &&str| counts.get(*name).copied().unwrap_or_default();
        let sum: u64 = counts.values().sum();
        let rest = sum - self.names.iter().map(of).sum::<u64>();
        let others = self.has_others.then(|| self.cell(OTHERS, rest));
        let cells = self.names.iter().map(|name| self.cell(&isolated(name), of(name))).chain(others);
        HeatRow {
            text: key.map(|(text, _)| visible(text)),
            group: key.map_or_else(String::new, |(_, group)| visible(group)),
            cells: cells.collect(),
            sum: grouped(sum),
        }
    }

    fn cell(&self, name: &str, count: u64) -> Cell {
        let [one, many] = self.words;
        let title = format!("{name}: {} {}", grouped(count), if count == 1 { one } else { many });
        Cell { count: grouped(count), heat: heat(count, self.most), title }
    }
}

/// Violations by rule and name, whatever the site.
fn rules(report: &Report) -> HeatTable<'_> {
    let mut table: HeatTable<'_> = BTreeMap::new();
    for entry in report.named() {
        for rule in entry.rules.iter().filter(|rule| rule.kind() == EventKind::Violation) {
            let key = (rule.text().0.unwrap_or_default(), rule.decision.group.join(", "));
            *table.entry(key).or_default().entry(entry.subject.name()).or_default() += rule.count;
        }
    }
    table
}

/// Requests by folder and name, without the rest that has no name.
fn folders(report: &Report) -> HeatTable<'_> {
    let mut table: HeatTable<'_> = BTreeMap::new();
    for entry in report.named() {
        for path in entry.paths.iter().filter(|path| path.target != OTHER_PATHS) {
            let counts = table.entry((folder(&path.target), String::new())).or_default();
            *counts.entry(entry.subject.name()).or_default() += path.counts.requests();
        }
    }
    table
}

/// The `most` keys with the highest sums, the highest first.
fn hottest<K: Ord + Clone>(counts: impl Iterator<Item = (K, u64)>, most: usize) -> Vec<K> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for (key, count) in counts {
        *sums.entry(key).or_default() += count;
    }
    let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(key, sum)| (Reverse(*sum), key.clone()));
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
