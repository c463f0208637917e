//! Who was told what about the use of pages: a table of the page, and a page of its own that can be handed over.

use super::text::{self, moment, spelt, visible};
use super::{Frame, PageError};
use crate::record::CountSubject;
use crate::report::{Report, Told, ToldAnnex, ToldCrawler, ToldVersion};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One preference that one crawler read, in one version.
pub(super) struct ToldRow<'r> {
    pub(super) subject: &'r CountSubject,
    pub(super) told: &'r Told,
    pub(super) preference: Option<String>,
}

impl<'r> ToldRow<'r> {
    /// Those of a report, of crawlers alone.
    pub(super) fn all(report: &'r Report) -> Vec<Self> {
        let entries = report.crawlers.iter().filter(|entry| entry.subject.is_crawler());
        entries.flat_map(|entry| Self::of(&entry.subject, &entry.told, visible)).collect()
    }

    fn of(
        subject: &'r CountSubject,
        told: &'r [Told],
        shown: fn(&str) -> String,
    ) -> impl Iterator<Item = Self> {
        told.iter().map(move |told| {
            let preference = told.preference.as_deref().map(shown);
            Self { subject, told, preference }
        })
    }
}

#[derive(Template)]
#[template(path = "annex.html", config = "src/report/html/askama.toml")]
struct Annex<'a> {
    frame: &'a Frame,
    from: String,
    to: String,
    statements: &'a [&'static str],
    notes: Vec<String>,
    told: Vec<ToldRow<'a>>,
    senders: Vec<String>,
    versions: &'a [ToldVersion],
}

impl Annex<'_> {
    fn told_parts(&self) -> Vec<(Option<String>, &[ToldRow<'_>])> {
        vec![(None, &self.told)]
    }
}

/// The text of a version line by line.
fn lines(version: &ToldVersion) -> Vec<String> {
    let bytes = version.base64.as_deref().and_then(|base64| STANDARD.decode(base64).ok()).unwrap_or_default();
    crate::robots::lines(&bytes).map(|line| spelt(&String::from_utf8_lossy(line))).collect()
}

/// Where a crawler read from and by what its name was proved, as far as either is known.
fn senders(crawler: &ToldCrawler) -> Option<String> {
    let known = [("networks", crawler.networks.join(", ")), ("proved by", crawler.proof_by.words(u64::MAX))];
    let known = known.iter().filter(|(_, words)| !words.is_empty());
    let words: Vec<String> = known.map(|(what, words)| format!("{what} {words}")).collect();
    let name = crawler.subject.name();
    let of = format!("{} ({}) at {}", visible(name), crawler.subject.proof, visible(&crawler.subject.site));
    (!words.is_empty()).then(|| format!("{of}: {}", words.join("; ")))
}

/// The annex as a page that needs nothing else.
///
/// # Errors
/// None that can be expected: what is written is written to memory.
pub fn annex_page(annex: &ToldAnnex) -> Result<String, PageError> {
    let told = annex.crawlers.iter().flat_map(|crawler| ToldRow::of(&crawler.subject, &crawler.told, spelt));
    let page = Annex {
        frame: &Frame::default(),
        from: moment(&annex.from),
        to: moment(&annex.to),
        statements: &annex.statements,
        notes: annex.notes.iter().map(|note| super::as_sentence(note)).collect(),
        told: told.collect(),
        senders: annex.crawlers.iter().filter_map(senders).collect(),
        versions: &annex.versions,
    };
    Ok(page.render()?)
}
