//! Who signs: one crawler under several headers, and several crawlers by one directory.

use crate::signatures::{HOST, ask, knowing};
use crate::signing::{AgentKey, CATALOGUE, signed};
use crate::support::agents::CHROME;
use crate::support::command::ctl;
use crate::support::{Nginx, get, until};
use serde_json::json;

/// It reads robots.txt as the crawler that it is, and fetches with a browser.
#[test]
fn what_a_crawler_read_counts_for_it_behind_a_browser() {
    let (origin, key) = (Nginx::start(), AgentKey::new(20));
    let gateway = knowing(&origin, &key, "")
        .file("own.toml", CATALOGUE.replace("\"fetcher\"", "\"crawler\""))
        .set("settle = \"100ms\"")
        .start();
    let send = |target: &str, header: &str| {
        gateway.send(&key.get(HOST, target).by(header));
        gateway.journal().event_of(target)
    };
    assert_eq!(send("/private/before", CHROME)["notice"], "lapsed");
    gateway.send(&key.get(HOST, "/robots.txt").by("ExampleAgent/1.0"));
    let mut number = 0;
    let event = until("the read counts", || {
        number += 1;
        Some(send(&format!("/private/{number}"), CHROME)).filter(|event| event["notice"] == "read")
    });
    let seen = (&event["client"], &event["crawler"], &event["proof_by"]);
    assert_eq!(seen, (&"fetcher".into(), &"Example Agent".into(), &"signature".into()), "{event:#}");
    let own = send("/private/own", "ExampleAgent/1.0");
    assert_eq!((&own["client"], &own["notice"]), (&"crawler".into(), &"read".into()), "{own:#}");
}

#[test]
fn crawlers_that_sign_by_one_directory_are_told_of() {
    let (origin, key) = (Nginx::start(), AgentKey::new(21));
    let second = CATALOGUE.replace("Example Agent", "Second").replace("ExampleAgent", "Second");
    let told = |catalogue: String| {
        let gateway = knowing(&origin, &key, "").file("own.toml", catalogue).start();
        let findings = ask(&gateway, &["check", "--offline"]).exits(0).json();
        let findings = findings.as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["code"] == "same-signature-agent")
    };
    assert_eq!(told(CATALOGUE.to_owned()), None);
    let finding = told(format!("{CATALOGUE}{second}")).expect("a finding");
    let message = "`Example Agent` and `Second` have the same `signature_agent`";
    assert!(finding["message"].as_str().is_some_and(|text| text.starts_with(message)), "{finding:#}");
    assert_eq!(finding["severity"], "note");
}

#[test]
fn the_report_says_by_which_method_a_name_was_proved() {
    let (origin, key) = (Nginx::start(), AgentKey::new(22));
    let gateway = knowing(&origin, &key, "").start();
    for number in 0..3 {
        gateway.send(&key.get(HOST, &format!("/private/{number}")).by(CHROME));
    }
    let bare = key.fields(&[("\"@authority\"", HOST)]);
    gateway.send(&signed(get("/private/4").for_host(HOST), bare).by(CHROME));
    let of = |proof: &str| {
        let report = ask(&gateway, &["report"]).exits(0).json();
        let crawlers = report["crawlers"].as_array().expect("crawlers").clone();
        crawlers.into_iter().find(|entry| entry["crawler"] == "Example Agent" && entry["proof"] == proof)
    };
    let unchecked = until("all were counted", || of("unchecked"));
    assert_eq!(unchecked["proof_by"], json!({ "ranges": 0, "rdns": 0, "signature": 1 }), "{unchecked:#}");
    let confirmed = of("confirmed").expect("the others");
    assert_eq!(confirmed["proof_by"], json!({ "ranges": 0, "rdns": 0, "signature": 3 }), "{confirmed:#}");
    let state = gateway.folder().join("state");
    let told = |format: &str| {
        let options = ["--state-dir", state.to_str().expect("UTF-8"), "--format", format];
        ctl(["report", "--crawler", "Example Agent"].into_iter().chain(options)).exits(0).stdout
    };
    let lines: Vec<String> = told("csv").lines().map(str::to_owned).collect();
    assert!(lines[0].contains(",by_ranges,by_rdns,by_signature,told,"), "{lines:?}");
    assert!(lines[1..].iter().any(|line| line.contains(",0,0,3,")), "{lines:?}");
    assert!(told("text").contains("by a signature of the request"), "{}", told("text"));
    assert!(told("html").contains("<dd>confirmed (signature)</dd>"), "{}", told("html"));
}
