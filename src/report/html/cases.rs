//! Elements of a report one by one, one for each site and proof: the rules they met, where they went, what they read.

use super::text::{isolated, visible};
use crate::record::{CountSubject, OTHER_PATHS, PathCounts};
use crate::report::{PathCount, ReportEntry, amount};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many rules, folders and reads are shown of one element.
pub(super) const MOST: usize = 10;

pub(super) struct FolderView {
    pub(super) folder: String,
    /// How many different targets in it were asked for; `None` where some are not known by name.
    pub(super) targets: Option<u64>,
    pub(super) counts: PathCounts,
}

/// What no other element is called.
pub(super) fn label(entry: &ReportEntry) -> String {
    let CountSubject { site, client, proof, .. } = &entry.subject;
    isolated(&format!("{}, {site}, {client}, {proof}", entry.subject.name()))
}

/// What is said of the rules that are not shown.
pub(super) fn more_rules(entry: &ReportEntry) -> Option<String> {
    let more = entry.rules.len().checked_sub(MOST).filter(|more| *more > 0)?;
    let requests = entry.rules.iter().skip(MOST).map(|rule| rule.count).sum();
    let requests = amount(requests, "request", "requests");
    Some(format!("{more} more, with {requests}, {} in the JSON.", if more == 1 { "is" } else { "are" }))
}

/// Targets by the first folder of their paths, as often as they were asked for; what is not known by name is last.
pub(super) fn folders(paths: &[PathCount]) -> Vec<FolderView> {
    let mut sums: BTreeMap<&str, (u64, PathCounts)> = BTreeMap::new();
    for path in paths {
        let (targets, counts) = sums.entry(folder(&path.target)).or_default();
        *targets += 1;
        counts.add(&path.counts);
    }
    let rest = sums.remove(OTHER_PATHS);
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(folder, (_, counts))| (Reverse(counts.weight()), *folder));
    let mut others = rest.map(|(_, counts)| (None, counts));
    for (_, (targets, counts)) in sums.drain(MOST.min(sums.len())..) {
        let (known, sum) = others.get_or_insert_with(|| (Some(0), PathCounts::default()));
        *known = known.map(|known| known + targets);
        sum.add(&counts);
    }
    let known = sums.into_iter().map(|(folder, (targets, counts))| FolderView {
        folder: visible(folder),
        targets: Some(targets),
        counts,
    });
    let others =
        others.map(|(targets, counts)| FolderView { folder: "all others".to_owned(), targets, counts });
    known.chain(others).collect()
}

/// `/news/` of `/news/2026/a?b`, and `/` of what is in no folder.
pub(super) fn folder(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let Some(inside) = path.strip_prefix('/') else { return target };
    inside.find('/').and_then(|at| path.get(..at + 2)).unwrap_or("/")
}
