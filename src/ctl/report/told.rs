//! `gatewayctl report --told`: who was told what about the use of pages.

use super::csv;
use crate::ctl::args::Format;
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::{VerbFailure, VerbOutcome, VerbResult};
use crate::record::{CountSubject, timestamp};
use crate::report::{Told, ToldAnnex, ToldCrawler, amount, html};
use serde::Serialize;
use std::io;

const HEADER: &str = "site,crawler,client,purpose,proof,preference,line,robots_version,first,last,reads";

pub(super) fn write(annex: &ToldAnnex, format: Format, output: &mut Output<'_>) -> VerbResult {
    match format {
        Format::Json => output.json(annex)?,
        Format::Csv => as_csv(annex, output)?,
        Format::Text => as_text(annex, output)?,
        Format::Html => {
            output.line(html::annex_page(annex).map_err(|error| VerbFailure(error.to_string()))?)?;
        }
    }
    Ok(VerbOutcome::Fine)
}

/// What a line of the CSV is of.
#[derive(Serialize)]
struct ToldLine<'a> {
    #[serde(flatten)]
    subject: &'a CountSubject,
    #[serde(flatten)]
    told: &'a Told,
}

fn as_csv(annex: &ToldAnnex, output: &mut Output<'_>) -> io::Result<()> {
    output.text(&format!("{HEADER}\r\n"))?;
    for ToldCrawler { subject, told, .. } in &annex.crawlers {
        told.iter().try_for_each(|told| csv::line(HEADER, &ToldLine { subject, told }, output))?;
    }
    Ok(())
}

fn as_text(annex: &ToldAnnex, output: &mut Output<'_>) -> io::Result<()> {
    if annex.crawlers.is_empty() {
        output.line("nobody read a version of robots.txt that states a preference about use")?;
    }
    for crawler in &annex.crawlers {
        let name = crawler.subject.name();
        output.line(escape_harmful(&format!(
            "{name} ({}) at {}",
            crawler.subject.proof, crawler.subject.site
        )))?;
        for told in &crawler.told {
            let said = match (&told.preference, told.line) {
                (Some(preference), Some(line)) => format!("{preference}  (line {line} of"),
                _ => "(the text is not kept)  (version".to_owned(),
            };
            output.line(escape_harmful(&format!(
                "  {said} {}; {}, {} to {})",
                told.robots_version,
                amount(told.reads, "read", "reads"),
                timestamp(told.first),
                timestamp(told.last)
            )))?;
        }
        output.line("")?;
    }
    for statement in annex.statements.iter().take(3) {
        output.line(format!("note: {statement}"))?;
    }
    for note in &annex.notes {
        output.line(format!("note: {}", escape_harmful(note)))?;
    }
    output.line("the text of each version, and its SHA-256: --format json, or html")
}
