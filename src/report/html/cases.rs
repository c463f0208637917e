//! Elements of a report one by one, one for each site and proof: the rules they met, and where they went.

use super::text::isolated;
use crate::record::CountSubject;
use crate::report::{ReportEntry, amount};

/// How many rules and targets are shown of one element.
pub(super) const MOST: usize = 10;

/// Who it is, for those who hear the page: tables are named by it.
pub(super) fn label(entry: &ReportEntry) -> String {
    let CountSubject { site, client, proof, .. } = &entry.subject;
    isolated(&format!("{}, {site}, {client}, {proof}", entry.subject.name()))
}

/// How many rules a table leaves out.
pub(super) fn more_rules(entry: &ReportEntry) -> Option<String> {
    more(entry.rules.iter().map(|rule| rule.count))
}

/// How many targets a table leaves out.
pub(super) fn more_targets(entry: &ReportEntry) -> Option<String> {
    more(entry.paths.iter().map(|path| path.count))
}

fn more(rows: impl Iterator<Item = u64>) -> Option<String> {
    let left: Vec<u64> = rows.skip(MOST).collect();
    let requests = amount(left.iter().sum(), "request", "requests");
    let are = if left.len() == 1 { "is" } else { "are" };
    (!left.is_empty()).then(|| format!("{} more, with {requests}, {are} in the JSON.", left.len()))
}
