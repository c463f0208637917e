//! The report for a person at a terminal: the answer in one sentence, then who, how often and by which rule.

use super::cells::{TableColumn, fit, lines, truncate, wrapped};
use super::evidence::write_element;
use super::shares::PurposeShare;
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::style::{ERROR, GOOD, STRONG, WARNING};
use crate::record::{EventKind, timestamp};
use crate::report::{Conduct, Report, ReportEntry, Summary, amount, byte_words, grouped};
use anstyle::Style;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

/// What nobody told the width of.
const WIDTH: usize = 100;

/// The least room that a rule is shown in.
const LEAST_RULE: usize = 12;

/// How a report is set.
#[derive(Clone, Debug)]
pub(super) struct TableShape {
    /// In columns of the terminal.
    pub(super) width: usize,
    /// Rows of a table, and rules and targets of a crawler.
    pub(super) top: usize,
    /// Whether each crawler is told in full, too.
    pub(super) in_full: bool,
    /// Columns that say nothing.
    left_out: Vec<&'static str>,
}

impl TableShape {
    /// The terminal's width, else `COLUMNS`.
    pub(super) fn of_terminal(top: usize, in_full: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let told = set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
        let seen =
            terminal_size::terminal_size().filter(|_| is_terminal).map(|(width, _)| usize::from(width.0));
        let width = seen.or(told).unwrap_or(WIDTH).clamp(60, 200);
        Self { width, top, in_full, left_out: Vec::new() }
    }
}

/// The colour of a line on whoever behaved so.
const fn style(conduct: Conduct) -> Style {
    match conduct {
        Conduct::Ignored => ERROR,
        Conduct::NoReadSeen => WARNING,
        Conduct::Obeyed => GOOD,
        Conduct::Excused | Conduct::Unknown | Conduct::Hypothetical => Style::new(),
    }
}

pub(super) fn write(report: &Report, shape: &TableShape, output: &mut Output<'_>) -> io::Result<()> {
    let shape = &TableShape { left_out: same(report), ..shape.clone() };
    let summary = report.summary();
    // In one piece, however wide: it is the answer, and programs may cut off the first line.
    if let Some(title) = &summary.title {
        output.painted_line(STRONG, title)?;
        print_wrapped(&escape_harmful(&summary.headline), shape.width, output)?;
    } else {
        output.painted_line(STRONG, &summary.headline)?;
    }
    // A replay in which nothing was seen has no times.
    if report.from > std::time::UNIX_EPOCH {
        output.line(format!("{} to {}", format_minute(report.from), format_minute(report.to)))?;
    }
    if summary.requests > 0 {
        totals(report, &summary, shape, output)?;
    }
    let several = report.crawlers.windows(2).any(|pair| pair.first().map(site) != pair.last().map(site));
    section("", report.named(), several, shape, output)?;
    let borrowed = "under borrowed names (not counted against those names)";
    section(borrowed, report.borrowed(), several, shape, output)?;
    section("not crawlers (outside headline and totals)", report.others(), several, shape, output)?;
    if !summary.caveats.is_empty() {
        output.line("")?;
    }
    for caveat in &summary.caveats {
        print_wrapped(&format!("note: {}", escape_harmful(caveat)), shape.width, output)?;
    }
    if shape.in_full {
        let mut shown = report.crawlers.iter().take(shape.top);
        shown.try_for_each(|entry| write_element(entry, report.is_replay, shape, output))?;
        return proposals(report, several, output);
    }
    if report.crawlers.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line(if report.is_replay {
        "--all shows each crawler in full: what it read, which rules applied and what it asked for"
    } else {
        "next: gatewayctl report --all, or --crawler NAME for one"
    })
}

/// The totals of all crawlers, beside those of the period before. Totals of zero are left out.
fn totals(report: &Report, summary: &Summary, shape: &TableShape, output: &mut Output<'_>) -> io::Result<()> {
    output.line("")?;
    let mut totals = vec![
        amount(summary.requests, "request", "requests"),
        format_violations(summary.violations, report.is_hypothetical()),
    ];
    for (count, one, many) in [
        (summary.stale, "stale", "stale"),
        (summary.variants, "variant", "variants"),
        (summary.refused, "refused", "refused"),
    ] {
        totals.extend((count > 0).then(|| amount(count, one, many)));
    }
    let totals = format!("all crawlers: {}", totals.join(", "));
    print_wrapped(&totals, shape.width, output)?;
    // A replay tells them beside the whole log.
    if !report.is_replay {
        let bytes = report.named().filter_map(|entry| entry.bytes).sum();
        let shares = PurposeShare::all(report, summary.requests, bytes);
        let shares = shares.iter().filter(|_| shares.len() > 1);
        shares.map(|share| share.words("")).try_for_each(|line| output.line(format!("  {line}")))?;
    }
    if let Some(before) = &report.before {
        let told = format!(
            "the time before, from {}: {}, {}",
            format_minute(before.from),
            amount(before.all.requests, "request", "requests"),
            format_violations(before.all.violations, report.is_hypothetical())
        );
        print_wrapped(&told, shape.width, output)?;
    }
    Ok(())
}

/// Lines that would stop those that took most, to be copied: nothing is cut, and nothing stands beside them.
fn proposals(report: &Report, several_sites: bool, output: &mut Output<'_>) -> io::Result<()> {
    if report.proposals.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line("robots.txt does not name these crawlers, which sent many requests. To block them, add:")?;
    for proposal in &report.proposals {
        let at = if several_sites { format!(" at {}", proposal.site) } else { String::new() };
        let purpose = proposal.purpose.map(|purpose| format!(", {purpose}")).unwrap_or_default();
        let requests = amount(proposal.requests, "request", "requests");
        output.line("")?;
        output.line(format!("# {}{at}{purpose}: {requests}", proposal.crawler))?;
        proposal.lines.lines().try_for_each(|line| output.line(line))?;
    }
    Ok(())
}

fn site(entry: &ReportEntry) -> &str {
    &entry.subject.site
}

/// One table for each site.
fn section<'r>(
    title: &str,
    entries: impl Iterator<Item = &'r ReportEntry>,
    several_sites: bool,
    shape: &TableShape,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let mut sites: BTreeMap<&str, Vec<&ReportEntry>> = BTreeMap::new();
    for entry in entries {
        sites.entry(site(entry)).or_default().push(entry);
    }
    for (site, entries) in sites {
        output.line("")?;
        let words = [if several_sites { site } else { "" }, title];
        let head = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(": ");
        if !head.is_empty() {
            output.painted_line(STRONG, head)?;
        }
        table(&entries, shape, output)?;
    }
    Ok(())
}

fn table(entries: &[&ReportEntry], shape: &TableShape, output: &mut Output<'_>) -> io::Result<()> {
    let is_hypothetical = entries.iter().any(|entry| entry.is_hypothetical());
    let (shown, rest) = entries.split_at_checked(shape.top).unwrap_or((entries, &[]));
    let mut columns = columns(shown);
    columns.retain(|column| !shape.left_out.contains(&column.head));
    let mut columns = fit(columns, shape.width);
    columns.extend(rule(shown, &columns, shape.width));
    let mut table = lines(&columns).into_iter();
    if let Some(head) = table.next() {
        output.line(head)?;
    }
    for (line, entry) in table.zip(shown) {
        output.painted_line(style(entry.conduct), line)?;
    }
    if !rest.is_empty() {
        let sum = |count: fn(&ReportEntry) -> u64| rest.iter().map(|entry| count(entry)).sum();
        output.line(format!(
            "and {} more: {}, {}; --top {} shows them",
            grouped(rest.len() as u64),
            amount(sum(|entry| entry.requests), "request", "requests"),
            format_violations(sum(|entry| entry.violations), is_hypothetical),
            entries.len()
        ))?;
    }
    Ok(())
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
pub(super) fn format_minute(time: std::time::SystemTime) -> String {
    let text = timestamp(time);
    format!("{} {}Z", text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default())
}

/// A sentence in lines of at most `width`.
fn print_wrapped(text: &str, width: usize, output: &mut Output<'_>) -> io::Result<()> {
    wrapped(text, width, "      ").lines().try_for_each(|line| output.line(line))
}
