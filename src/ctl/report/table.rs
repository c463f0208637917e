//! The report for a person at a terminal: the answer in one sentence, then who, how often and by which rule.

use super::cells::{TableColumn, filters, fit, lines, truncate};
use super::evidence::element;
use super::shares::PurposeShare;
use super::table;
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::style::{self, ERROR, GOOD, Palette, WARNING};
use crate::record::{EventKind, timestamp};
use crate::report::{self, Conduct, Report, ReportEntry, amount, byte_words, grouped};
use anstyle::Style;
use askama::Template;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
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
    let is_terminal = io::stdout().is_terminal();
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = terminal_size::terminal_size().filter(|_| is_terminal).map(|(width, _)| usize::from(width.0));
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
    palette: Palette,
    width: usize,
    in_full: bool,
    several_sites: bool,
    /// What crawlers took by what they fetch for, where there are several. A replay tells it beside the whole log.
    shares: Vec<PurposeShare>,
    tables: Vec<SiteTable>,
    /// Crawlers that are told in full.
    elements: Vec<String>,
}

/// The table of one site: whose it is, or nothing where that is clear, and its lines, each in its colour.
type SiteTable = (String, Vec<String>);

/// The report, with `top` rows of a table, rules and targets; `in_full` also each crawler.
pub(in crate::ctl) fn as_table(
    report: &Report,
    top: Option<usize>,
    in_full: bool,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let shape = &TableShape { width: width(), top: top.unwrap_or(super::TOP), left_out: same(report) };
    let palette = output.palette();
    let several_sites =
        report.crawlers.windows(2).any(|pair| pair.first().map(site) != pair.last().map(site));
    let sections: [(&str, Vec<&ReportEntry>); 3] = [
        ("", report.named().collect()),
        ("under borrowed names (not counted against those names)", report.borrowed().collect()),
        ("not crawlers (outside headline and totals)", report.others().collect()),
    ];
    let tables = sections.into_iter().flat_map(|(title, entries)| {
        let mut sites: BTreeMap<&str, Vec<&ReportEntry>> = BTreeMap::new();
        for entry in entries {
            sites.entry(site(entry)).or_default().push(entry);
        }
        sites.into_iter().map(move |(site, entries)| {
            let head = match (several_sites, title) {
                (false, _) => title.to_owned(),
                (true, "") => site.to_owned(),
                (true, _) => format!("{site}: {title}"),
            };
            (head, table(&entries, shape, palette))
        })
    });
    let bytes = report.named().filter_map(|entry| entry.bytes).sum();
    let shares = PurposeShare::all(report, report.summary.requests, bytes);
    let told_in_full = report.crawlers.iter().filter(|_| in_full).take(shape.top);
    output.render(&ReportText {
        shares: if report.is_replay || shares.len() < 2 { Vec::new() } else { shares },
        tables: tables.collect(),
        elements: told_in_full
            .map(|entry| element(entry, report.is_replay, shape))
            .collect::<Result<_, _>>()?,
        report,
        palette,
        width: shape.width,
        in_full,
        several_sites,
    })
}

/// The totals of all crawlers. Those of zero are left out.
fn totals(report: &Report) -> String {
    let summary = &report.summary;
    let more = [
        (summary.stale, "stale", "stale"),
        (summary.variants, "variant", "variants"),
        (summary.refused, "refused", "refused"),
    ];
    let more = more.into_iter().filter(|(count, ..)| *count > 0);
    let more = more.map(|(count, one, many)| amount(count, one, many));
    let (requests, violations) = (
        amount(summary.requests, "request", "requests"),
        format_violations(summary.violations, report.is_hypothetical()),
    );
    [requests, violations].into_iter().chain(more).collect::<Vec<_>>().join(", ")
}

fn site(entry: &ReportEntry) -> &str {
    &entry.subject.site
}

fn table(entries: &[&ReportEntry], shape: &TableShape, palette: Palette) -> Vec<String> {
    let is_hypothetical = entries.iter().any(|entry| entry.is_hypothetical());
    let (shown, rest) = entries.split_at_checked(shape.top).unwrap_or((entries, &[]));
    let mut columns = columns(shown);
    columns.retain(|column| !shape.left_out.contains(&column.head));
    let mut columns = fit(columns, shape.width);
    columns.extend(rule(shown, &columns, shape.width));
    let styles = [Style::new()].into_iter().chain(shown.iter().map(|entry| style_of(entry.conduct)));
    let mut lines: Vec<String> =
        lines(&columns).iter().zip(styles).map(|(line, style)| palette.paint(style, line)).collect();
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
    let entries: Vec<&ReportEntry> = report.crawlers.iter().collect();
    if !report.is_replay || entries.len() < 2 {
        return Vec::new();
    }
    let says_something = |column: &TableColumn| {
        ["CLIENT", "CRAWLER", "REQUESTS"].contains(&column.head)
            || column.cells.windows(2).any(|pair| pair.first() != pair.last())
    };
    columns(&entries).iter().filter(|column| !says_something(column)).map(|column| column.head).collect()
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
    let kind = |entry: &ReportEntry| {
        if entry.subject.is_crawler() {
            entry.subject.purpose.map_or("-", |purpose| purpose.as_str())
        } else {
            entry.subject.client.as_str()
        }
        .to_owned()
    };
    let sent = |entry: &ReportEntry| entry.bytes.map_or_else(|| "-".to_owned(), byte_words);
    let mut columns = vec![
        text(if is_crawler { "CRAWLER" } else { "CLIENT" }, 0, &|entry| entry.subject.name().to_owned()),
        text(if is_crawler { "PURPOSE" } else { "KIND" }, if is_crawler { 3 } else { 0 }, &kind),
        text("PROOF", 1, &|entry| entry.subject.proof.to_string()),
        text("CONDUCT", 0, &|entry| entry.conduct.words().to_owned()),
        number("REQUESTS", 0, &|entry| entry.requests),
        number("READS", 0, &|entry| entry.reads),
        number(if is_hypothetical { "DISALLOWED" } else { "VIOLATIONS" }, 0, &|entry| entry.violations),
        number("STALE", 2, &|entry| entry.stale),
        number("REFUSED", 0, &|entry| entry.refused),
        TableColumn { is_number: true, ..text("SENT", 3, &sent) },
        text("LAST SEEN", 4, &|entry| entry.last_seen.map_or_else(|| "-".to_owned(), format_minute)),
    ];
    columns.retain(|column| column.head != "STALE" || column.cells.iter().any(|cell| cell != "0"));
    columns.retain(|column| column.head != "SENT" || column.cells.iter().any(|cell| cell != "-"));
    if entries.iter().any(|entry| entry.proof_by.met().next().is_some()) {
        columns.insert(3, text("BY", 5, &|entry| entry.proof_by.words(entry.requests)));
    }
    columns
}

/// A number of violations; where nobody can have violated anything, of requests that would be disallowed.
pub(super) fn format_violations(count: u64, is_hypothetical: bool) -> String {
    if is_hypothetical {
        return format!("{} disallowed", grouped(count));
    }
    amount(count, "violation", "violations")
}

/// A time to the minute.
pub(super) fn format_minute(time: SystemTime) -> String {
    let text = timestamp(time);
    format!("{} {}Z", text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default())
}
