//! Findings in the forms of others: SARIF 2.1.0, which code scanners exchange, and the commands by which GitHub's runners
//! show a message at its line.

use super::FileFinding;
use crate::robots::Severity;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

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
    let file = json!({ "uri": uri(&finding.path) });
    let place = match finding.line {
        Some(line) => json!({
            "artifactLocation": file,
            "region": { "startLine": line, "startColumn": finding.column.unwrap_or(1) },
        }),
        None => json!({ "artifactLocation": file }),
    };
    json!({
        "ruleId": finding.code,
        "level": finding.severity.to_string(),
        "message": { "text": text(finding) },
        "locations": [{ "physicalLocation": place }],
    })
}

/// A path as a relative reference (RFC 3986 §4.2).
fn uri(path: &str) -> String {
    path.bytes().fold(String::new(), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
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
