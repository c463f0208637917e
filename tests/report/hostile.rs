//! Names and targets that clients choose are harmless in every shape of the report.

use crate::fill::{crawler, record, writer};
use crate::place::{ReportPlace, stop};
use crate::support::command::ctl;
use crate::support::{Folder, get};
use robots_gateway::record::STORE_FILE;
use std::time::SystemTime;

/// A page, a terminal, a line of text and a spreadsheet have each something to fear.
const AGENTS: [&[u8]; 6] = [
    b"<script>alert(1)</script>bot/1.0 (+https://x.example/)",
    b"Esc\x1b[31mbot/1.0 (+https://x.example/bot)",
    b"Rtl\xe2\x80\xaebot/1.0 (+https://x.example/bot)",
    b"=cmd|' /C calc'!A0bot/1.0 (+https://x.example/bot)",
    b"GPTBot/1.2 \xe2\x81\xa6\xc2\x9b31m<b>=1+1 \xff\xfe",
    b"@SUM(A1)bot (+https://x.example/bot)",
];

const TARGETS: [&[u8]; 4] =
    [b"/private/<script>", b"/private/\xe2\x80\xae\xc2\x9b", b"/private/=cmd|calc", b"/private/\xff\x80"];

/// Nothing that a terminal obeys or that turns the direction of writing.
#[track_caller]
fn is_harmless(text: &str) {
    let harmful = |symbol: char| {
        (symbol.is_control() && symbol != '\n' && symbol != '\r')
            || matches!(symbol, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<_> = text.lines().filter(|line| line.contains(harmful)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_clients_send_is_harmless_in_every_shape() {
    let place = ReportPlace::new();
    let gateway = place.start_with("");
    let mut sent = 0;
    for agent in AGENTS {
        for target in TARGETS {
            // Some servers refuse such heads; then there is nothing to report.
            let status = gateway.client().try_send(&get(target).by(agent)).map(|answer| answer.status);
            sent += u64::from(matches!(status, Ok(200 | 403)));
        }
    }
    stop(gateway);
    assert!(sent >= 10, "only {sent} requests reached the gateway");
    let json = place.report(&["--format", "json"]).exits(0);
    is_harmless(&json.stdout);
    let report = json.json();
    let entries = report["crawlers"].as_array().expect("crawlers");
    assert_eq!(
        entries.iter().filter_map(|entry| entry["requests"].as_u64()).sum::<u64>(),
        sent,
        "{report:#}"
    );
    is_harmless(&place.report(&[]).exits(0).stdout);
    is_harmless(&place.report(&["--top", "100"]).exits(0).stdout);
    for entry in entries {
        if let Some(name) = entry["crawler"].as_str() {
            is_harmless(&place.report(&["--crawler", name, "--evidence"]).exits(0).stdout);
        }
    }
    let case = place.report(&["--crawler", "GPTBot", "--evidence"]).exits(0).stdout;
    assert!(case.contains("User-Agent: GPTBot/1.2 "), "{case}");
    csv(&place.report(&["--format", "csv"]).exits(0).stdout, entries.len());
}

/// As many lines and cells as there should be, and none that a spreadsheet computes.
fn csv(text: &str, entries: usize) {
    is_harmless(text);
    let lines: Vec<&str> = text.trim_end().split("\r\n").collect();
    assert_eq!(lines.len(), entries + 1, "{text}");
    for line in lines {
        for cell in line.split(',') {
            let cell = cell.trim_start_matches('"').trim_start();
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t']), "{line}");
        }
    }
}

/// The recogniser lets few of these through as names; a store may hold any, a file of it having been made
/// elsewhere.
#[test]
fn names_of_any_bytes_are_harmless() {
    let folder = Folder::new();
    let recorder = writer(folder.join(STORE_FILE));
    for (number, agent) in AGENTS.iter().enumerate() {
        let name = String::from_utf8_lossy(agent);
        let target = String::from_utf8_lossy(TARGETS[number % TARGETS.len()]);
        record(&recorder, &crawler(&name), number, &target, SystemTime::now());
    }
    recorder.close();
    let state = folder.path().to_str().expect("UTF-8");
    let report = |arguments: &[&str]| ctl([&["report", "--state-dir", state], arguments].concat()).exits(0);
    let json = report(&["--format", "json"]);
    is_harmless(&json.stdout);
    let value = json.json();
    let names: Vec<&str> = value["crawlers"]
        .as_array()
        .expect("crawlers")
        .iter()
        .filter_map(|entry| entry["crawler"].as_str())
        .collect();
    assert_eq!(names.len(), AGENTS.len());
    for agent in AGENTS {
        assert!(names.contains(&&*String::from_utf8_lossy(agent)), "{names:?}");
    }
    is_harmless(&report(&[]).stdout);
    csv(&report(&["--format", "csv"]).stdout, AGENTS.len());
    for name in names {
        is_harmless(&report(&["--crawler", name, "--evidence"]).stdout);
    }
}
