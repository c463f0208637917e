//! Crawlers as rows, one for each name, and what stands in them where they are opened.

use crate::identify::ClientKind;
use crate::report::blocks::plain_token;
use crate::report::{
    CourseGrid, NamedEntries, Report, ReportEntry, ReportQuestion, add_counts, byte_words, grouped,
    purpose_label,
};

/// Clients that stand together.
pub(super) struct RowGroup<'r> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) shows_change: bool,
    counts: Vec<(&'static str, CountOf)>,
    shows_bytes: bool,
    /// One for each name, with those of its elements that can be opened.
    pub(super) rows: Vec<(NamedEntries<'r>, Vec<&'r ReportEntry>)>,
}

/// Elements beyond these have a row, but cannot be opened.
const PARTS: usize = 500;

/// How high a drawing over time is.
const HEIGHT: u64 = 20;

type CountOf = fn(&ReportEntry) -> u64;

impl<'r> RowGroup<'r> {
    /// The groups of a report, those without a row left out.
    pub(super) fn all(report: &'r Report) -> Vec<Self> {
        let first = if report.is_hypothetical() {
            "Those of which most would be disallowed come first. Open one for its sites, proofs, rules and targets."
        } else {
            "Those that broke rules they had read come first. Open one for its sites, proofs, rules and targets."
        };
        let borrowed =
            "They came from addresses that are not the operator’s, and do not count against the name.";
        let others = "Fetchers that a person set off, tools, monitors and clients without a name. They are outside the \
                      headline and the totals.";
        let mut left = PARTS;
        let groups = [
            ("crawlers", "Crawlers", first, NamedEntries::all(report.named())),
            ("borrowed", "Borrowed names", borrowed, NamedEntries::all(report.borrowed())),
            ("others", "Not crawlers", others, NamedEntries::all(report.others())),
        ];
        let group = groups.map(|(id, title, what, names)| Self {
            id,
            title,
            what,
            shows_change: id == "crawlers" && report.before.is_some(),
            counts: counts(report, &names),
            shows_bytes: names.iter().any(|name| bytes(name) > 0),
            rows: names
                .into_iter()
                .map(|name| {
                    let opened: Vec<_> = name.entries.iter().copied().take(left).collect();
                    left -= opened.len();
                    (name, opened)
                })
                .collect(),
        });
        group.into_iter().filter(|group| !group.rows.is_empty()).collect()
    }

    /// Heads of the numbers.
    pub(super) fn heads(&self) -> Vec<&'static str> {
        self.counts.iter().map(|(head, _)| *head).chain(self.shows_bytes.then_some("Sent")).collect()
    }

    /// Heads and numbers.
    pub(super) fn numbers(&self, name: &NamedEntries<'_>) -> Vec<(&'static str, String)> {
        let numbers = self.counts.iter().map(|(head, count)| (*head, grouped(name.sum(*count))));
        numbers.chain(self.shows_bytes.then(|| ("Sent", byte_words(bytes(name))))).collect()
    }

    /// The word, and its class. Nothing is said of how anybody behaved towards rules that nobody could know.
    pub(super) fn conduct(&self, name: &NamedEntries<'_>) -> Option<(&'static str, &'static str)> {
        let is_known = self.id == "crawlers" && name.entries.iter().any(|entry| !entry.is_hypothetical());
        is_known.then(|| (name.conduct().as_str(), name.conduct().words()))
    }

    pub(super) fn change(&self, name: &NamedEntries<'_>, report: &Report) -> Option<String> {
        let before = report.before.as_ref().filter(|_| self.shows_change)?;
        let known = before.crawlers.get(&name.name().to_ascii_lowercase()).copied().unwrap_or_default();
        Some(before.change(name.sum(|entry| entry.requests), known.requests, &report.window()))
    }

    /// Lines of robots.txt that disallow everything to it. Nobody is told how to disallow what is disallowed.
    pub(super) fn lines(&self, name: &NamedEntries<'_>, question: &ReportQuestion) -> Option<String> {
        let is_all =
            |entry: &&ReportEntry| entry.rules.iter().any(|rule| rule.text().0 == Some("Disallow: /"));
        let is_told = self.id != "crawlers" || name.entries.iter().any(is_all);
        let token = plain_token(&question.known, name.name()).filter(|_| !is_told)?;
        Some(format!("User-agent: {token}\nDisallow: /"))
    }

    /// What has rules enforced that it broke. Names that clients chose are not put into a command.
    pub(super) fn command(
        &self,
        name: &NamedEntries<'_>,
        report: &Report,
        question: &ReportQuestion,
    ) -> Option<String> {
        let is_let_pass = name.sum(|entry| entry.violations) > name.sum(|entry| entry.refused);
        let is_known = !report.is_replay && plain_token(&question.known, name.name()).is_some();
        (self.id == "crawlers" && is_let_pass && is_known)
            .then(|| format!("gatewayctl mode --crawler '{}' --persist enforce", name.name()))
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

fn bytes(name: &NamedEntries<'_>) -> u64 {
    name.sum(|entry| entry.bytes.unwrap_or_default())
}

/// An outline of its requests over time that ends where it began, at the bottom. The highest stretch is as high as the
/// drawing, and what is there at all can be seen.
pub(super) fn spark(name: &NamedEntries<'_>, grid: &CourseGrid) -> String {
    let mut sums = vec![0; grid.count];
    name.entries
        .iter()
        .for_each(|entry| add_counts(&mut sums, &grid.sums(entry, |stretch| stretch.requests)));
    let highest = sums.iter().copied().max().unwrap_or_default().max(1);
    let tops = sums.iter().map(|sum| HEIGHT - (sum.saturating_mul(HEIGHT) / highest).max((*sum).min(1)));
    let steps: Vec<String> = tops.map(|top| format!("V{top}h1")).collect();
    format!("M0 {HEIGHT}{}V{HEIGHT}z", steps.concat())
}

/// What it fetches for, and what kind of client it is where that is not a crawler like any other.
pub(super) fn about(name: &NamedEntries<'_>) -> String {
    let Some(entry) = name.entries.first() else { return String::new() };
    let purpose = entry.subject.purpose.map(|purpose| purpose_label(purpose.as_str()));
    let kind = (entry.subject.client != ClientKind::Crawler).then(|| entry.subject.client.as_str());
    match (purpose, kind) {
        (Some(purpose), Some(kind)) if purpose != kind => format!("{purpose}, {kind}"),
        (_, Some(kind)) => kind.to_owned(),
        (Some(purpose), None) => purpose.to_owned(),
        (None, None) => "purpose unknown".to_owned(),
    }
}
