//! Who was told what about the use of pages: a table of the page, and a page of its own that can be handed over.

use super::text::{moment, spelt, visible};
use super::{Frame, PageError, STYLE, content_security_policy};
use crate::report::{Report, ReportEntry, Told, ToldAnnex, ToldCrawler, ToldVersion, grouped};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One preference that one crawler read, in one version.
pub(super) struct ToldRow {
    pub(super) name: String,
    pub(super) site: String,
    pub(super) proof: String,
    pub(super) preference: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) version: String,
    pub(super) reads: String,
    pub(super) first: String,
    pub(super) last: String,
}

impl ToldRow {
    /// Those of a report, of crawlers alone.
    pub(super) fn all(report: &Report) -> Vec<Self> {
        let entries = report.crawlers.iter().filter(|entry| entry.is_crawler());
        let rows =
            |entry: &ReportEntry| rows_of(entry.name(), &entry.site, &entry.proof, &entry.told, visible);
        entries.flat_map(rows).collect()
    }
}

fn rows_of(
    name: &str,
    site: &str,
    proof: &dyn ToString,
    told: &[Told],
    shown: fn(&str) -> String,
) -> Vec<ToldRow> {
    let row = |told: &Told| ToldRow {
        name: visible(name),
        site: visible(site),
        proof: proof.to_string(),
        preference: told.preference.as_deref().map(shown),
        line: told.line,
        version: told.robots_version.to_string(),
        reads: grouped(told.reads),
        first: moment(told.first),
        last: moment(told.last),
    };
    told.iter().map(row).collect()
}

#[derive(Template)]
#[template(path = "annex.html", config = "src/report/html/askama.toml")]
struct Annex<'a> {
    style: &'static str,
    security: &'static str,
    program: &'static str,
    frame: &'a Frame,
    from: String,
    to: String,
    statements: &'a [&'static str],
    notes: Vec<String>,
    told: Vec<ToldRow>,
    senders: Vec<String>,
    versions: Vec<VersionText>,
}

/// A version, and its text line by line.
struct VersionText {
    id: String,
    site: String,
    sha256: String,
    in_force: Vec<String>,
    lines: Vec<String>,
    is_utf8: bool,
    base64: Option<String>,
}

impl Annex<'_> {
    fn told_parts(&self) -> Vec<(Option<String>, &[ToldRow])> {
        vec![(None, &self.told)]
    }
}

impl VersionText {
    fn of(version: &ToldVersion) -> Self {
        let bytes = version.base64.as_deref().and_then(|base64| STANDARD.decode(base64).ok());
        let in_force = version.in_force.iter().map(|period| {
            let until = period.until.map_or_else(|| "now".to_owned(), moment);
            format!("{} to {until}", moment(period.from))
        });
        Self {
            id: version.robots_version.to_string(),
            site: visible(&version.site),
            sha256: version.sha256.clone(),
            in_force: in_force.collect(),
            lines: crate::robots::lines(&bytes.unwrap_or_default())
                .map(|line| spelt(&String::from_utf8_lossy(line)))
                .collect(),
            is_utf8: version.text.is_some(),
            base64: version.base64.clone(),
        }
    }
}

/// Where a crawler read from and by what its name was proved, as far as either is known.
fn senders(crawler: &ToldCrawler) -> Option<String> {
    let known = [("networks", crawler.networks.join(", ")), ("proved by", crawler.proof_by.words(u64::MAX))];
    let known = known.iter().filter(|(_, words)| !words.is_empty());
    let words: Vec<String> = known.map(|(what, words)| format!("{what} {words}")).collect();
    let name = crawler.crawler.as_deref().unwrap_or("(no name)");
    let of = format!("{} ({}) at {}", visible(name), crawler.proof, visible(&crawler.site));
    (!words.is_empty()).then(|| format!("{of}: {}", words.join("; ")))
}

/// The annex as a page that needs nothing else.
///
/// # Errors
/// None that can be expected: what is written is written to memory.
pub fn annex_page(annex: &ToldAnnex) -> Result<String, PageError> {
    let of = annex.crawlers.iter();
    let told = of.flat_map(|crawler| {
        rows_of(
            crawler.crawler.as_deref().unwrap_or("(no name)"),
            &crawler.site,
            &crawler.proof,
            &crawler.told,
            spelt,
        )
    });
    let page = Annex {
        style: STYLE,
        security: content_security_policy(),
        program: env!("CARGO_PKG_VERSION"),
        frame: &Frame::default(),
        from: moment(annex.from),
        to: moment(annex.to),
        statements: &annex.statements,
        notes: annex.notes.iter().map(|note| super::as_sentence(note)).collect(),
        told: told.collect(),
        senders: annex.crawlers.iter().filter_map(senders).collect(),
        versions: annex.versions.iter().map(VersionText::of).collect(),
    };
    Ok(page.render()?)
}

/// How many rows stand open on a page; the others are a click away.
const OPEN: usize = 10;

/// What stands open, and what is folded, with the words on it.
pub(super) fn parts(told: &[ToldRow]) -> Vec<(Option<String>, &[ToldRow])> {
    let (open, folded) = told.split_at_checked(OPEN).unwrap_or((told, &[]));
    let folded = (!folded.is_empty()).then(|| (Some(format!("{} more", folded.len())), folded));
    std::iter::once((None, open)).chain(folded).collect()
}
