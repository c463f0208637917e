//! `gatewayctl report --told`: who was told what about the use of pages.

use super::csv;
use crate::ctl::args::Format;
use crate::ctl::output::Output;
use crate::ctl::{VerbOutcome, VerbResult};
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
        Format::Html => output.ready_line(&html::annex_page(annex)?)?,
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
        let CountSubject { site, proof, .. } = &crawler.subject;
        output.line(format!("{} ({proof}) at {site}", crawler.subject.name()))?;
        for told in &crawler.told {
            let said = match (&told.preference, told.line) {
                (Some(preference), Some(line)) => format!("{preference}  (line {line} of"),
                _ => "(the text is not kept)  (version".to_owned(),
            };
            let (first, last) = (timestamp(told.first), timestamp(told.last));
            let reads = amount(told.reads, "read", "reads");
            output.line(format!("  {said} {}; {reads}, {first} to {last})", told.robots_version))?;
        }
        output.line("")?;
    }
    let statements = annex.statements.iter().take(3).copied();
    for note in statements.chain(annex.notes.iter().map(String::as_str)) {
        output.line(format!("note: {note}"))?;
    }
    output.line("the text of each version, and its SHA-256: --format json, or html")
}
