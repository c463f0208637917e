//! Findings in the forms of others: SARIF 2.1.0, which code scanners exchange, and the commands by which GitHub's runners
//! show a message at its line.

use super::FileFinding;
use crate::robots::Severity;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What does not stand for itself in a path that is a relative reference (RFC 3986 §4.2).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// All findings as one SARIF log.
pub(super) fn sarif(findings: &[FileFinding]) -> Value {
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code).collect();
    let rules: Vec<Value> = codes.into_iter().map(|code| json!({ "id": code })).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "gatewayctl", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &FileFinding) -> Value {
    let uri = utf8_percent_encode(&finding.path, ESCAPED).to_string();
    let column = finding.column.unwrap_or(1);
    let region = finding.line.map(|line| json!({ "startLine": line, "startColumn": column }));
    let place = [("artifactLocation", Some(json!({ "uri": uri }))), ("region", region)];
    let place: Value = place.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    json!({
        "ruleId": finding.code,
        "level": finding.severity.to_string(),
        "message": { "text": text(finding) },
        "locations": [{ "physicalLocation": place }],
    })
}

/// A finding as a workflow command.
pub(super) fn github(finding: &FileFinding) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let number = |name: &str, number: Option<usize>| {
        number.map(|number| format!(",{name}={number}")).unwrap_or_default()
    };
    let place = [property(&finding.path), number("line", finding.line), number("col", finding.column)];
    let (title, text) = (property(finding.code), data(&text(finding)));
    format!("::{command} file={},title={title}::{text}", place.concat())
}

fn text(finding: &FileFinding) -> String {
    let hint = finding.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
    format!("{}{hint}", finding.message)
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
