//! The report as CSV (RFC 4180): one line for each site, crawler and proof.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and clients choose their
//! names, so such a cell begins with an apostrophe here. Rules and targets have no room in one table; JSON
//! has them.

use crate::ctl::output::{Output, escape_harmful};
use crate::record::timestamp;
use crate::report::{Report, ReportEntry};
use std::io;

const HEADER: &str = "from,to,site,crawler,client,purpose,proof,conduct,requests,reads,last_read,\
                      last_read_version,violations,stale,variants,spoofed,refused,first_seen,last_seen,\
                      first_violation,last_violation,crawl_delay_declared,crawl_delay_observed,\
                      by_ranges,by_rdns,by_signature,told,too_fast,slowed,bytes";

pub(super) fn write(report: &Report, output: &mut Output<'_>) -> io::Result<()> {
    output.text(&format!("{HEADER}\r\n"))?;
    for entry in &report.crawlers {
        let cells: Vec<String> = cells(report, entry).iter().map(|text| cell(text)).collect();
        output.text(&format!("{}\r\n", cells.join(",")))?;
    }
    Ok(())
}

fn cells(report: &Report, entry: &ReportEntry) -> [String; 30] {
    let seconds = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let time = |value: Option<_>| value.map(timestamp).unwrap_or_default();
    [
        timestamp(report.from),
        timestamp(report.to),
        entry.site.to_string(),
        entry.crawler.as_deref().unwrap_or_default().to_owned(),
        entry.client.to_string(),
        entry.purpose.map(|purpose| purpose.to_string()).unwrap_or_default(),
        entry.proof.to_string(),
        entry.conduct.to_string(),
        entry.requests.to_string(),
        entry.reads.to_string(),
        time(entry.last_read),
        entry.last_read_version.map(|version| version.to_string()).unwrap_or_default(),
        entry.violations.to_string(),
        entry.stale.to_string(),
        entry.variants.to_string(),
        entry.spoofed.to_string(),
        entry.refused.to_string(),
        time(entry.first_seen),
        time(entry.last_seen),
        time(entry.first_violation),
        time(entry.last_violation),
        seconds(entry.crawl_delay.declared),
        seconds(entry.crawl_delay.observed),
        entry.proof_by.ranges.to_string(),
        entry.proof_by.rdns.to_string(),
        entry.proof_by.signature.to_string(),
        told(entry),
        entry.too_fast.to_string(),
        entry.slowed.to_string(),
        entry.bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
    ]
}

/// The preferences in the version that it read last; `--told` has all, each on a line of its own.
fn told(entry: &ReportEntry) -> String {
    let last = entry.told.iter().filter(|told| Some(told.robots_version) == entry.last_read_version);
    last.filter_map(|told| told.preference.as_deref()).collect::<Vec<_>>().join(" | ")
}

/// A cell that no spreadsheet computes, and no terminal obeys.
pub(super) fn cell(text: &str) -> String {
    let text = escape_harmful(text);
    let begins = text.trim_start().chars().next();
    // The wide forms are what some spreadsheets read as the narrow ones.
    let is_formula = begins.is_some_and(|first| "=+-@|%＝＋－＠".contains(first));
    let text = if is_formula { format!("'{text}") } else { text };
    if text.contains(['"', ',', '\'', ';']) || text.starts_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for (text, wanted) in [
            ("GPTBot", "GPTBot"),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            (" @SUM(A1)", "\"' @SUM(A1)\""),
            ("\t=1", "\\t=1"),
            ("a\"b,c", "\"a\"\"b,c\""),
            ("a\r\nb", "a\\r\\nb"),
            ("a\u{202e}b\u{1b}[31m", "a\\u{202e}b\\u{1b}[31m"),
        ] {
            assert_eq!(cell(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn the_header_names_every_cell() {
        assert_eq!(HEADER.split(',').count(), 30);
        assert!(!HEADER.contains(' '));
    }
}
