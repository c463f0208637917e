//! `gatewayctl report --told`: who was told what about the use of pages.

use super::csv::cell;
use crate::ctl::args::Format;
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::{VerbFailure, VerbOutcome, VerbResult};
use crate::record::timestamp;
use crate::report::{ToldAnnex, amount, html};
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

fn as_csv(annex: &ToldAnnex, output: &mut Output<'_>) -> io::Result<()> {
    output.text(&format!("{HEADER}\r\n"))?;
    for crawler in &annex.crawlers {
        for told in &crawler.told {
            let cells = [
                crawler.site.to_string(),
                crawler.crawler.as_deref().unwrap_or_default().to_owned(),
                crawler.client.to_string(),
                crawler.purpose.map(|purpose| purpose.to_string()).unwrap_or_default(),
                crawler.proof.to_string(),
                told.preference.clone().unwrap_or_default(),
                told.line.map(|line| line.to_string()).unwrap_or_default(),
                told.robots_version.to_string(),
                timestamp(told.first),
                timestamp(told.last),
                told.reads.to_string(),
            ];
            output.text(&format!("{}\r\n", cells.map(|text| cell(&text)).join(",")))?;
        }
    }
    Ok(())
}

fn as_text(annex: &ToldAnnex, output: &mut Output<'_>) -> io::Result<()> {
    if annex.crawlers.is_empty() {
        output.line("nobody read a version of robots.txt that states a preference about use")?;
    }
    for crawler in &annex.crawlers {
        let name = crawler.crawler.as_deref().unwrap_or("(no name)");
        output.line(escape_harmful(&format!("{name} ({}) at {}", crawler.proof, crawler.site)))?;
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
