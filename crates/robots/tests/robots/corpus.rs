//! Conformance cases and real files that are not part of the project, where they are at hand.

use crate::parse;
use rfc9309::{FindingKind, Severity};
use std::path::PathBuf;

/// The folder of robots.txt data, or a word on why the test does nothing.
fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("ROBOTS_GATEWAY_CORPUS");
    if folder.is_none() {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
    }
    folder.map(|folder| PathBuf::from(folder).join("robots"))
}

#[test]
fn every_case_is_decided_as_expected() {
    let Some(folder) = corpus() else { return };
    let text = std::fs::read_to_string(folder.join("cases.jsonl")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let file = case["robots"]
            .as_str()
            .map_or_else(|| base64(&text("robots_b64")), |file| file.as_bytes().to_vec());
        let robots = parse(&file).robots;
        let judgement = robots.judge(&[text("token")], true, text("target").as_bytes());
        count += 1;
        if judgement.allow != (text("expected") == "allow") {
            wrong.push(text("id"));
        }
    }
    println!("{count} cases");
    assert!(count > 1000);
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Every real file parses, and what is said about it is what it was chosen for.
#[test]
fn real_files_have_sensible_findings() {
    let Some(folder) = corpus() else { return };
    let manifest = std::fs::read_to_string(folder.join("files/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let entries = manifest.as_array().unwrap();
    assert!(entries.len() >= 40);
    for entry in entries {
        let name = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(folder.join("files").join(name)).unwrap();
        let parsed = parse(&bytes);
        let has = |kind: FindingKind| parsed.findings.iter().any(|finding| finding.kind == kind);
        assert_eq!(has(FindingKind::NotUtf8), std::str::from_utf8(&bytes).is_err(), "{name}");
        assert_eq!(has(FindingKind::ByteOrderMark), bytes.starts_with(b"\xEF\xBB\xBF"), "{name}");
        assert_eq!(has(FindingKind::TooLarge), bytes.len() > 500 * 1024, "{name}");
        let unusable = parsed.findings.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!(unusable, parsed.robots.records() == 0, "{name}");
        assert_eq!(has(FindingKind::Html), unusable, "{name}");
        if let Some(rules) = entry["rules"].as_u64().filter(|_| !has(FindingKind::TooLarge)) {
            // The manifest counts names by their spelling alone; misspelt or colonless lines differ.
            let ours = parsed.robots.rules().count() as u64;
            assert!(ours.abs_diff(rules) <= 20, "{name}: {ours} rules, {rules} in the manifest");
        }
        for finding in &parsed.findings {
            let lines = bytes.iter().filter(|&&b| b == b'\n' || b == b'\r').count() + 1;
            assert!(
                finding.line >= 1 && finding.line as usize <= lines && finding.column >= 1,
                "{name}: {finding:?}"
            );
        }
        println!("{name}: {} rules, {} findings", parsed.robots.rules().count(), parsed.findings.len());
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |b: u8| match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            four.iter().fold(0_u32, |bits, &b| bits << 6 | u32::from(digit(b))) << (6 * (4 - four.len()));
        out.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    out
}
