//! The report as CSV (RFC 4180): one line for each site, crawler and proof.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and clients choose their
//! names, so such a cell begins with an apostrophe here. Rules and targets have no room in one table; JSON
//! has them.

use crate::ctl::output::{Output, escape_harmful};
use crate::record::timestamp;
use crate::report::{Report, ReportEntry};
use serde::Serialize;
use serde_json::Value;
use std::io;

/// The columns. They have the names of the fields in the JSON, but for those in [`NESTED`].
const HEADER: &str = "from,to,site,crawler,client,purpose,proof,conduct,requests,reads,last_read,\
                      last_read_version,violations,stale,variants,spoofed,refused,first_seen,last_seen,\
                      first_violation,last_violation,crawl_delay_declared,crawl_delay_observed,\
                      by_ranges,by_rdns,by_signature,told,too_fast,slowed,bytes";

/// Columns of what stands one level deeper in the JSON, and where.
const NESTED: [(&str, &str); 5] = [
    ("crawl_delay_declared", "/crawl_delay/declared"),
    ("crawl_delay_observed", "/crawl_delay/observed"),
    ("by_ranges", "/proof_by/ranges"),
    ("by_rdns", "/proof_by/rdns"),
    ("by_signature", "/proof_by/signature"),
];

/// What a line is of.
#[derive(Serialize)]
struct ReportLine<'r> {
    from: String,
    to: String,
    #[serde(flatten)]
    entry: &'r ReportEntry,
    /// In place of the entry's own.
    told: String,
}

pub(super) fn write(report: &Report, output: &mut Output<'_>) -> io::Result<()> {
    output.text(&format!("{HEADER}\r\n"))?;
    for entry in &report.crawlers {
        let (from, to) = (timestamp(report.from), timestamp(report.to));
        line(HEADER, &ReportLine { from, to, entry, told: told(entry) }, output)?;
    }
    Ok(())
}

/// A line with what `of` has in the fields that `header` names.
pub(super) fn line(header: &str, of: &impl Serialize, output: &mut Output<'_>) -> io::Result<()> {
    let fields = serde_json::to_value(of)?;
    let text = |name: &str| {
        let nested = NESTED.iter().find(|(column, _)| *column == name);
        let place = nested.map_or_else(|| format!("/{name}"), |(_, place)| (*place).to_owned());
        match fields.pointer(&place) {
            Some(Value::String(text)) => cell(text),
            Some(Value::Number(number)) => number
                .as_u64()
                .map_or_else(|| number.as_f64().unwrap_or_default().to_string(), |whole| whole.to_string()),
            _ => String::new(),
        }
    };
    output.text(&format!("{}\r\n", header.split(',').map(text).collect::<Vec<_>>().join(",")))
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
        assert!(NESTED.iter().all(|(column, _)| HEADER.split(',').any(|name| name == *column)));
    }
}
