//! Crawlers as rows, one for each name, and what stands in them where they are opened.

use super::cases::{CaseView, Fact};
use super::text::visible;
use crate::identify::{ClientKind, Purpose};
use crate::record::Window;
use crate::report::pace;
use crate::report::{NamedEntries, Report, ReportEntry, ReportQuestion, byte_words, grouped};
use std::fmt::Write as _;

/// Clients that stand together.
pub(super) struct RowGroup<'r> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    /// Heads of the numbers, in the order of the rows'.
    pub(super) heads: Vec<&'static str>,
    pub(super) shows_change: bool,
    pub(super) rows: Vec<NameRow<'r>>,
}

/// One name. Every field is text as it stands on the page.
pub(super) struct NameRow<'r> {
    pub(super) name: String,
    /// Purpose, or kind of client.
    pub(super) about: String,
    /// The word, and its class.
    pub(super) conduct: Option<(&'static str, &'static str)>,
    /// What each is a number of, and the number.
    pub(super) numbers: Vec<Fact>,
    /// The outline of its requests over time, in a drawing of 48 by 20.
    pub(super) spark: String,
    pub(super) change: Option<String>,
    /// One for each site and proof.
    pub(super) parts: Vec<CaseView<'r>>,
    /// Lines of robots.txt that disallow everything to it, where it has not been told so.
    pub(super) lines: Option<String>,
    /// What has rules enforced that it broke.
    pub(super) command: Option<String>,
}

/// Elements beyond these have a row, but cannot be opened.
const PARTS: usize = 500;

/// How many stretches the drawing over time has.
const COURSE: u32 = 48;

/// Its height.
const HEIGHT: f64 = 20.0;

type CountOf = fn(&ReportEntry) -> u64;

impl<'r> RowGroup<'r> {
    /// The groups of a report, those without a row left out.
    pub(super) fn all(report: &'r Report, question: &ReportQuestion, shows_site: bool) -> Vec<Self> {
        let mut left = PARTS;
        let mut group = |id, title, what, names: Vec<NamedEntries<'r>>| {
            let is_named = id == "crawlers";
            let counts = counts(report, &names);
            let shows_bytes = names.iter().any(|name| bytes(name) > 0);
            let shows_change = is_named && report.before.is_some();
            let row = |name: &NamedEntries<'r>| {
                let parts = name.entries.iter().take(left);
                let parts = parts
                    .map(|entry| CaseView::new(entry, shows_site, name.entries.len() > 1, report.is_replay));
                let parts: Vec<_> = parts.collect();
                left -= parts.len();
                let mut row = NameRow::new(name, &counts, &report.window(), parts);
                row.numbers.extend(shows_bytes.then(|| sent(bytes(name))));
                if is_named {
                    // Nothing is said of how anybody behaved towards rules that nobody could know.
                    let known = name.entries.iter().any(|entry| !entry.is_hypothetical());
                    row.conduct = known.then(|| (name.conduct().as_str(), name.conduct().words()));
                    row.change = change(report, name);
                    (row.lines, row.command) = (lines(name, question), command(report, name, question));
                }
                row
            };
            let rows = names.iter().map(row).collect();
            Self {
                id,
                title,
                what,
                heads: counts.iter().map(|(head, _)| *head).chain(shows_bytes.then_some("Sent")).collect(),
                shows_change,
                rows,
            }
        };
        let groups = [
            group(
                "crawlers",
                "Crawlers",
                if report.is_hypothetical() {
                    "Those of which most would be disallowed come first. Open one for its sites, proofs, rules and folders."
                } else {
                    "Those that broke rules they had read come first. Open one for its sites, proofs, rules and folders."
                },
                NamedEntries::all(report.named()),
            ),
            group(
                "borrowed",
                "Borrowed names",
                "They came from addresses that are not the operator’s, and do not count against the name.",
                NamedEntries::all(report.borrowed()),
            ),
            group(
                "others",
                "Not crawlers",
                "Fetchers that a person set off, tools, monitors and clients without a name. They are outside the headline \
                 and the totals.",
                NamedEntries::all(report.others()),
            ),
        ];
        groups.into_iter().filter(|group| !group.rows.is_empty()).collect()
    }
}

/// What is counted of these, without what is nothing for all of them.
fn counts(report: &Report, names: &[NamedEntries<'_>]) -> Vec<(&'static str, CountOf)> {
    let broken = if report.is_hypothetical() { "Disallowed" } else { "Violations" };
    let all: [(&str, CountOf); 6] = [
        ("Requests", |entry| entry.requests),
        (broken, |entry| entry.violations),
        ("Stale", |entry| entry.stale),
        ("Variants", |entry| entry.variants),
        ("Refused", |entry| entry.refused),
        ("Too fast", |entry| entry.too_fast),
    ];
    let is_met = |count: CountOf| names.iter().any(|name| name.sum(count) > 0);
    // Of a log nothing was refused.
    let is_told = |head: &str| head != "Refused" || !report.is_replay;
    all.into_iter().filter(|(head, count)| *head == "Requests" || is_met(*count) && is_told(head)).collect()
}

impl<'r> NameRow<'r> {
    fn new(
        name: &NamedEntries<'r>,
        counts: &[(&'static str, CountOf)],
        window: &Window,
        parts: Vec<CaseView<'r>>,
    ) -> Self {
        let numbers =
            counts.iter().map(|(label, count)| Fact { label, value: grouped(name.sum(count)) }).collect();
        Self {
            name: visible(name.name()),
            about: name.entries.first().map(|entry| about(entry)).unwrap_or_default(),
            conduct: None,
            numbers,
            spark: spark(name, window),
            change: None,
            parts,
            lines: None,
            command: None,
        }
    }
}

fn bytes(name: &NamedEntries<'_>) -> u64 {
    name.sum(|entry| entry.bytes.unwrap_or_default())
}

/// What it was sent.
pub(super) fn sent(bytes: u64) -> Fact {
    Fact { label: "Sent", value: byte_words(bytes) }
}

/// An outline that ends where it began, at the bottom. The highest stretch is as high as the drawing.
fn spark(name: &NamedEntries<'_>, window: &Window) -> String {
    let all = name.entries.iter().flat_map(|entry| &entry.stretches).copied().collect();
    let sums = pace::course(&pace::whole(all), window, COURSE);
    let highest = sums.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut outline = format!("M0 {HEIGHT}");
    for sum in sums {
        // What is there at all can be seen. Writing to a `String` cannot fail.
        let height = if sum > 0.0 { (sum / highest * HEIGHT).max(1.0) } else { 0.0 };
        let _ = write!(outline, "V{:.1}h1", HEIGHT - height);
    }
    let _ = write!(outline, "V{HEIGHT}z");
    outline
}

fn change(report: &Report, name: &NamedEntries<'_>) -> Option<String> {
    let before = report.before.as_ref()?;
    let known = before.crawlers.get(&name.name().to_ascii_lowercase()).copied().unwrap_or_default();
    Some(before.change(name.sum(|entry| entry.requests), known.requests, &report.window()))
}

/// Nobody is told how to disallow what is disallowed.
fn lines(name: &NamedEntries<'_>, question: &ReportQuestion) -> Option<String> {
    let is_all = |entry: &&ReportEntry| entry.rules.iter().any(|rule| rule.text().0 == Some("Disallow: /"));
    let token = question.known.token(name.name()).filter(|_| !name.entries.iter().any(is_all))?;
    Some(format!("User-agent: {token}\nDisallow: /"))
}

/// Names that clients chose are not put into a command.
fn command(report: &Report, name: &NamedEntries<'_>, question: &ReportQuestion) -> Option<String> {
    let is_let_pass = name.sum(|entry| entry.violations) > name.sum(|entry| entry.refused);
    let is_known = !report.is_replay && question.known.token(name.name()).is_some();
    (is_let_pass && is_known)
        .then(|| format!("gatewayctl mode --crawler '{}' --persist enforce", name.name()))
}

/// What it fetches for, and what kind of client it is where that is not a crawler like any other.
fn about(entry: &ReportEntry) -> String {
    let purpose = entry.subject.purpose.map(purpose_words);
    let kind = (entry.subject.client != ClientKind::Crawler).then(|| entry.subject.client.as_str());
    match (purpose, kind) {
        (Some(purpose), Some(kind)) if purpose != kind => format!("{purpose}, {kind}"),
        (_, Some(kind)) => kind.to_owned(),
        (Some(purpose), None) => purpose.to_owned(),
        (None, None) => "purpose unknown".to_owned(),
    }
}

const fn purpose_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Ads => "advertising",
        Purpose::AiSearch => "AI search",
        Purpose::AiTrain => "AI training",
        Purpose::AiUser => "AI assistant",
        Purpose::Archive => "archive",
        Purpose::Feed => "feeds",
        Purpose::Monitor => "monitoring",
        Purpose::Other => "other",
        Purpose::Research => "research",
        Purpose::Scraper => "scraper",
        Purpose::Search => "search",
        Purpose::Security => "security",
        Purpose::Seo => "SEO",
        Purpose::Social => "link previews",
        Purpose::Tool => "tool",
        Purpose::Webhook => "webhook",
    }
}
