//! The report for a person at a terminal: the answer in one sentence, then who, how often and by which rule.

use super::cells::{TableColumn, filters, fit, lines, truncate};
use super::evidence::element;
use super::shares::PurposeShare;
use super::table;
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::style::{self, ERROR, GOOD, WARNING, paint};
use crate::record::{EventKind, timestamp};
use crate::report::{self, Conduct, Report, ReportEntry, amount, byte_words, grouped};
use anstyle::Style;
use askama::Template;
use std::collections::BTreeSet;
use std::io;
use std::time::SystemTime;

/// What nobody told the width of.
const WIDTH: usize = 100;

/// The least room that a rule is shown in.
const LEAST_RULE: usize = 12;

/// How a report is set.
pub(super) struct TableShape {
    /// In columns of the terminal.
    pub(super) width: usize,
    /// Rows of a table, and rules and targets of a crawler.
    pub(super) top: usize,
    /// Columns that say nothing.
    left_out: Vec<&'static str>,
}

/// The terminal's width, else `COLUMNS`.
fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    seen.or(told).unwrap_or(WIDTH).clamp(60, 200)
}

/// The colour of a line on whoever behaved so.
const fn style_of(conduct: Conduct) -> Style {
    match conduct {
        Conduct::Ignored => ERROR,
        Conduct::NoReadSeen => WARNING,
        Conduct::Obeyed => GOOD,
        Conduct::Excused | Conduct::Unknown | Conduct::Hypothetical => Style::new(),
    }
}

/// The whole report; its words stand in `report/table.txt`.
#[derive(Template)]
#[template(path = "report/table.txt", config = "src/ctl/askama.toml")]
struct ReportText<'r> {
    report: &'r Report,
    width: usize,
    in_full: bool,
    several_sites: bool,
    /// What crawlers took by what they fetch for. A replay tells it beside the whole log.
    shares: Vec<PurposeShare>,
    /// Whose each is, or nothing where that is clear, and its lines in their colours.
    tables: Vec<(String, Vec<String>)>,
    /// Crawlers that are told in full.
    elements: Vec<String>,
}

/// The report, with `top` rows of a table, rules and targets; `in_full` also each crawler.
pub(in crate::ctl) fn as_table(
    report: &Report,
    top: Option<usize>,
    in_full: bool,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let shape = &TableShape { width: width(), top: top.unwrap_or(super::TOP), left_out: same(report) };
    let sites: BTreeSet<&str> = report.crawlers.iter().map(|entry| &*entry.subject.site).collect();
    let several_sites = sites.len() > 1;
    let sections: [(&str, Vec<&ReportEntry>); 3] = [
        ("", report.named().collect()),
        ("under borrowed names (not counted against those names)", report.borrowed().collect()),
        ("not crawlers (outside headline and totals)", report.others().collect()),
    ];
    let mut tables = Vec::new();
    for (title, entries) in sections {
        for site in &sites {
            let head = match (several_sites, title) {
                (false, _) => title.to_owned(),
                (true, "") => (*site).to_owned(),
                (true, _) => format!("{site}: {title}"),
            };
            let own: Vec<_> = entries.iter().copied().filter(|entry| *entry.subject.site == **site).collect();
            tables.extend((!own.is_empty()).then(|| (head, table(&own, shape))));
        }
    }
    let bytes = report.named().filter_map(|entry| entry.bytes).sum();
    let told_in_full = report.crawlers.iter().filter(|_| in_full).take(shape.top);
    output.render(&ReportText {
        shares: PurposeShare::all(report, report.summary.requests, bytes),
        tables,
        elements: told_in_full.map(|entry| element(entry, report, shape)).collect::<Result<_, _>>()?,
        report,
        width: shape.width,
        in_full,
        several_sites,
    })
}

/// The totals of all crawlers. Those of zero are left out.
fn totals(report: &Report) -> String {
    let summary = &report.summary;
    let violations = format_violations(summary.violations, report.is_hypothetical());
    let mut told = vec![amount(summary.requests, "request", "requests"), violations];
    for (count, one, many) in [
        (summary.stale, "stale", "stale"),
        (summary.variants, "variant", "variants"),
        (summary.refused, "refused", "refused"),
    ] {
        told.extend((count > 0).then(|| amount(count, one, many)));
    }
    told.join(", ")
}

fn table(entries: &[&ReportEntry], shape: &TableShape) -> Vec<String> {
    let is_hypothetical = entries.iter().any(|entry| entry.is_hypothetical());
    let (shown, rest) = entries.split_at_checked(shape.top).unwrap_or((entries, &[]));
    let mut columns = columns(shown);
    columns.retain(|column| !shape.left_out.contains(&column.head));
    let mut columns = fit(columns, shape.width);
    columns.extend(rule(shown, &columns, shape.width));
    let styles = [Style::new()].into_iter().chain(shown.iter().map(|entry| style_of(entry.conduct)));
    let mut lines: Vec<String> =
        lines(&columns).iter().zip(styles).map(|(line, style)| paint(style, line)).collect();
    if !rest.is_empty() {
        let sum = |count: fn(&ReportEntry) -> u64| rest.iter().map(|entry| count(entry)).sum();
        lines.push(format!(
            "and {} more: {}, {}; --top {} shows them",
            grouped(rest.len() as u64),
            amount(sum(|entry| entry.requests), "request", "requests"),
            format_violations(sum(|entry| entry.violations), is_hypothetical),
            entries.len()
        ));
    }
    lines
}

/// The rule that each broke most, cut to what is left of a line; `None` where that is too little, or nobody broke any.
fn rule(entries: &[&ReportEntry], columns: &[TableColumn], width: usize) -> Option<TableColumn> {
    let used: usize = columns.iter().map(|column| column.width() + 2).sum();
    let room = width.checked_sub(used).filter(|room| *room >= LEAST_RULE)?;
    let broken = |entry: &&ReportEntry| {
        let rule = entry.rules.iter().find(|rule| rule.kind() == EventKind::Violation);
        truncate(rule.and_then(|rule| rule.text().0).unwrap_or_default(), room)
    };
    let cells: Vec<String> = entries.iter().map(broken).collect();
    let is_of_use = cells.iter().any(|cell| !cell.is_empty());
    is_of_use.then_some(TableColumn { head: "RULE", is_number: false, goes: 1, cells })
}

/// Columns that are the same in every row of a replay: a log proves nobody's name, for one.
fn same(report: &Report) -> Vec<&'static str> {
    let entries: Vec<&ReportEntry> = report.crawlers.iter().filter(|_| report.is_replay).collect();
    let mut columns = columns(&entries);
    columns.retain(|column| {
        let is_same = column.cells.iter().all(|cell| Some(cell) == column.cells.first());
        is_same && column.cells.len() > 1 && !["CLIENT", "CRAWLER", "REQUESTS"].contains(&column.head)
    });
    columns.iter().map(|column| column.head).collect()
}

fn columns(entries: &[&ReportEntry]) -> Vec<TableColumn> {
    let text = |head, goes, cell: &dyn Fn(&ReportEntry) -> String| {
        let cells = entries.iter().map(|entry| escape_harmful(&cell(entry))).collect();
        TableColumn { head, is_number: false, goes, cells }
    };
    let number = |head, goes, cell: &dyn Fn(&ReportEntry) -> u64| {
        let cells = entries.iter().map(|entry| grouped(cell(entry))).collect();
        TableColumn { head, is_number: true, goes, cells }
    };
    let is_crawler = entries.iter().all(|entry| entry.subject.is_crawler());
    let is_hypothetical = entries.iter().any(|entry| entry.is_hypothetical());
    let kind = |entry: &ReportEntry| match entry.subject.purpose {
        _ if !entry.subject.is_crawler() => entry.subject.client.to_string(),
        Some(purpose) => purpose.to_string(),
        None => "-".to_owned(),
    };
    let sent = |entry: &ReportEntry| entry.bytes.map_or_else(|| "-".to_owned(), byte_words);
    let mut columns = vec![
        text(if is_crawler { "CRAWLER" } else { "CLIENT" }, 0, &|entry| entry.subject.name().to_owned()),
        text(if is_crawler { "PURPOSE" } else { "KIND" }, if is_crawler { 3 } else { 0 }, &kind),
        text("PROOF", 1, &|entry| entry.subject.proof.to_string()),
        text("BY", 5, &|entry| entry.proof_by.words(entry.requests)),
        text("CONDUCT", 0, &|entry| entry.conduct.words().to_owned()),
        number("REQUESTS", 0, &|entry| entry.requests),
        number("READS", 0, &|entry| entry.reads),
        number(if is_hypothetical { "DISALLOWED" } else { "VIOLATIONS" }, 0, &|entry| entry.violations),
        number("STALE", 2, &|entry| entry.stale),
        number("REFUSED", 0, &|entry| entry.refused),
        TableColumn { is_number: true, ..text("SENT", 3, &sent) },
        text("LAST SEEN", 4, &|entry| entry.last_seen.map_or_else(|| "-".to_owned(), format_minute)),
    ];
    let says_something = |cell: &String| !["", "-", "0"].contains(&cell.as_str());
    columns.retain(|column| {
        !["BY", "STALE", "SENT"].contains(&column.head) || column.cells.iter().any(says_something)
    });
    columns
}

/// A number of violations; where nobody can have violated anything, of requests that would be disallowed.
pub(super) fn format_violations(count: u64, is_hypothetical: bool) -> String {
    let [one, many] = if is_hypothetical { ["disallowed"; 2] } else { ["violation", "violations"] };
    amount(count, one, many)
}

/// A time to the minute.
pub(super) fn format_minute(time: SystemTime) -> String {
    let text = timestamp(time);
    format!("{} {}Z", text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default())
}
