//! The report as CSV (RFC 4180): one line for each site, crawler and proof.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and clients choose their
//! names, so such a cell begins with an apostrophe here. Rules and targets have no room in one table; JSON
//! has them.

use super::print_to_stderr;
use crate::ctl::output::{Output, escape_harmful};
use crate::record::timestamp;
use crate::report::{Report, ReportEntry};
use serde_json::Value;
use std::io;

/// The columns. They have the names of the fields in the JSON, and those of what stands one level deeper are of both levels.
const HEADER: &str = "from,to,site,crawler,client,purpose,proof,conduct,requests,reads,last_read,\
                      last_read_version,violations,stale,variants,spoofed,refused,first_seen,last_seen,\
                      first_violation,last_violation,crawl_delay_declared,crawl_delay_observed,\
                      by_ranges,by_rdns,by_signature,told,too_fast,slowed,bytes";

/// The report as CSV, and what else is to be borne in mind on standard error.
pub(in crate::ctl) fn as_csv(report: &Report, output: &mut Output<'_>) -> io::Result<()> {
    output.text(&format!("{HEADER}\r\n"))?;
    let [from, to] = [report.from, report.to].map(timestamp);
    for entry in &report.crawlers {
        let fields = serde_json::to_value(entry)?;
        let text = |name: &str| match name {
            "from" => from.clone(),
            "to" => to.clone(),
            "told" => cell(&told(entry)),
            _ => match fields.pointer(&place(name)) {
                Some(Value::String(text)) => cell(text),
                Some(Value::Number(number)) => number.as_u64().map_or_else(
                    || number.as_f64().unwrap_or_default().to_string(),
                    |whole| whole.to_string(),
                ),
                _ => String::new(),
            },
        };
        output.text(&format!("{}\r\n", HEADER.split(',').map(text).collect::<Vec<_>>().join(",")))?;
    }
    // The table has no room for them.
    report.notes.iter().for_each(|note| print_to_stderr(&format!("gatewayctl: {note}")));
    Ok(())
}

/// Where the JSON has a column.
fn place(name: &str) -> String {
    format!("/{name}").replace("/crawl_delay_", "/crawl_delay/").replace("/by_", "/proof_by/")
}

/// The preferences in the version that it read last.
fn told(entry: &ReportEntry) -> String {
    let last = entry.told.iter().filter(|told| Some(told.robots_version) == entry.last_read_version);
    last.filter_map(|told| told.preference.as_deref()).collect::<Vec<_>>().join(" | ")
}

/// A cell that no spreadsheet computes, and no terminal obeys.
fn cell(text: &str) -> String {
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
        let places = ["crawl_delay_observed", "by_rdns", "bytes"].map(place);
        assert_eq!(places, ["/crawl_delay/observed", "/proof_by/rdns", "/bytes"]);
    }
}
