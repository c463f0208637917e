//! Elements of a report as rows of a table.

use super::text::{moment, visible};
use crate::identify::{ClientKind, Purpose};
use crate::report::{Conduct, Report, ReportEntry, grouped};

/// Clients that stand together in one table.
pub(super) struct RowGroup {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) shows_conduct: bool,
    pub(super) rows: Vec<ElementRow>,
}

/// One element. Every field is text as it stands on the page.
pub(super) struct ElementRow {
    /// Where more of it stands.
    pub(super) case: Option<String>,
    pub(super) name: String,
    /// Purpose, or kind of client.
    pub(super) about: String,
    /// The site, where there are several.
    pub(super) site: Option<String>,
    pub(super) conduct: &'static str,
    pub(super) conduct_words: &'static str,
    pub(super) proof: &'static str,
    /// By which methods; empty where that is not known.
    pub(super) proof_by: String,
    pub(super) requests: String,
    pub(super) violations: String,
    pub(super) stale: String,
    pub(super) variants: String,
    pub(super) refused: String,
    pub(super) reads: String,
    /// Which version it read last, and when.
    pub(super) last_read: Option<(String, String)>,
    pub(super) last_seen: String,
}

/// How many rows stand open; the others are a click away.
const OPEN: usize = 10;

/// What stands open of a list, and what is folded, with the words on it.
pub(super) fn parts<T>(list: &[T]) -> Vec<(Option<String>, &[T])> {
    let (open, folded) = list.split_at_checked(OPEN).unwrap_or((list, &[]));
    let folded = (!folded.is_empty()).then(|| (Some(format!("{} more", folded.len())), folded));
    std::iter::once((None, open)).chain(folded).collect()
}

impl RowGroup {
    pub(super) fn parts(&self) -> Vec<(Option<String>, &[ElementRow])> {
        parts(&self.rows)
    }

    /// The tables of a report, those without a row left out.
    pub(super) fn all(report: &Report, row: impl Fn(&ReportEntry) -> ElementRow) -> Vec<Self> {
        let groups = [
            Self {
                id: "crawlers",
                title: "Crawlers",
                what: if report.is_hypothetical() {
                    "One row for each crawler and proof of its name. Those of which most would be disallowed come first."
                } else {
                    "One row for each crawler and proof of its name. Those that broke rules they had read come first."
                },
                // Of rules that nobody could know there is none.
                shows_conduct: report.named().any(|entry| !entry.is_hypothetical()),
                rows: report.named().map(&row).collect(),
            },
            Self {
                id: "borrowed",
                title: "Borrowed names",
                what: "They came from addresses that are not the operator’s. They count against nobody.",
                shows_conduct: false,
                rows: report.borrowed().map(&row).collect(),
            },
            Self {
                id: "others",
                title: "Not crawlers",
                what: "Fetchers that a person set off, tools, monitors and clients without a name. They are outside \
                       the headline and the totals.",
                shows_conduct: false,
                rows: report.others().map(&row).collect(),
            },
        ];
        groups.into_iter().filter(|group| !group.rows.is_empty()).collect()
    }
}

impl ElementRow {
    pub(super) fn new(entry: &ReportEntry, case: Option<String>, shows_site: bool) -> Self {
        Self {
            case,
            name: visible(entry.name()),
            about: about(entry),
            site: shows_site.then(|| visible(&entry.site)),
            conduct: entry.conduct.as_str(),
            conduct_words: conduct(entry.conduct),
            proof: entry.proof.as_str(),
            proof_by: entry.proof_by.words(entry.requests),
            requests: grouped(entry.requests),
            violations: grouped(entry.violations),
            stale: grouped(entry.stale),
            variants: grouped(entry.variants),
            refused: grouped(entry.refused),
            reads: match (entry.reads, entry.other_fetch) {
                (0, Some(_)) => "not known to be this file".to_owned(),
                (0, None) => "no read seen".to_owned(),
                (reads, _) => times(reads),
            },
            last_read: last_read(entry),
            last_seen: entry.last_seen.map_or_else(|| "–".to_owned(), moment),
        }
    }
}

/// What it fetches for, and what kind of client it is where that is not a crawler like any other.
pub(super) fn about(entry: &ReportEntry) -> String {
    let purpose = entry.purpose.map(purpose_words);
    let kind = (entry.client != ClientKind::Crawler).then(|| entry.client.as_str());
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

pub(super) const fn conduct(conduct: Conduct) -> &'static str {
    match conduct {
        Conduct::Obeyed => "obeyed",
        Conduct::Ignored => "ignored",
        Conduct::NoReadSeen => "no read seen",
        Conduct::Unknown => "unknown",
        Conduct::Hypothetical => "hypothetical",
    }
}

fn last_read(entry: &ReportEntry) -> Option<(String, String)> {
    entry.last_read.zip(entry.last_read_version).map(|(last, version)| (version.to_string(), moment(last)))
}

/// `once`, `12 times`.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}
