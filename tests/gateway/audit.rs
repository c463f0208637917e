//! Audit mode: everything reaches the origin, and the journal has exactly the violations.

use crate::support::agents::{BROWSERS, CHROME, CLAUDEBOT, CURL, GOOGLEBOT_IMAGE, GPTBOT, OKHTTP};
use crate::support::journal::FIELDS;
use crate::support::{Daemon, Nginx, get, head, request, version_of};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashSet;

const ROBOTS: &str = "\
User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /private   # not for training
Allow: /private/press

User-agent: *
Disallow: /cgi-bin/
";

/// The keys of a JSON object in the order in which they are written.
fn keys(line: &str) -> Vec<String> {
    let event: Value = serde_json::from_str(line).expect("a line of JSON");
    let place = |key: &String| line.find(&format!("\"{key}\":"));
    let mut keys: Vec<_> = event.as_object().expect("an object").keys().cloned().collect();
    keys.sort_by_key(place);
    keys
}

#[test]
fn everything_reaches_the_origin_and_the_journal_has_exactly_the_violations() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    let mut requests = Vec::new();
    let mut send = |agent: &str, target: &str| {
        client.send(&get(target).by(agent)).came_from_origin();
        requests.push(format!("GET {target}"));
    };
    for (number, browser) in BROWSERS.iter().enumerate() {
        send(browser, &format!("/private/by-browser-{number}"));
    }
    send(GPTBOT, "/private/1");
    send(GPTBOT, "/private/press/2");
    send(GPTBOT, "/3");
    send(CLAUDEBOT, "/private?id=4");
    send(GPTBOT, "/cgi-bin/5");
    send(GOOGLEBOT_IMAGE, "/cgi-bin/6");
    send(GOOGLEBOT_IMAGE, "/private/7");
    send(CURL, "/cgi-bin/8");
    send(OKHTTP, "/cgi-bin/9");
    send(CHROME, "/cgi-bin/10");
    send(GPTBOT, "/private/last");
    assert_eq!(origin.received(), requests);
    let violations: Vec<_> = gateway
        .journal()
        .events_before("/private/last")
        .into_iter()
        .map(|event| {
            format!("{} {} {}", event["event"].as_str().expect("a kind"), event["client"], event["target"])
        })
        .collect();
    assert_eq!(
        violations,
        [
            "violation \"crawler\" \"/private/1\"",
            "violation \"crawler\" \"/private?id=4\"",
            "violation \"crawler\" \"/cgi-bin/6\"",
            "violation \"tool\" \"/cgi-bin/8\"",
        ]
    );
}

#[test]
fn a_violation_has_every_field_in_its_order() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let before = Timestamp::now();
    gateway
        .send(&get("/private/a%20b?x='1'&y=%22").for_host("Example.ORG:8080").by(GPTBOT))
        .came_from_origin();
    let journal = gateway.journal();
    let event = journal.event_of("/private/a%20b?x='1'&y=%22");
    let line = &journal.lines()[0];
    assert_eq!(keys(line), FIELDS, "{line}");
    let time = event["time"].as_str().expect("a time");
    assert!(time.ends_with('Z') && time.contains('T'), "RFC 3339 in UTC: {time}");
    let time: Timestamp = time.parse().expect("a time");
    let slack = jiff::SignedDuration::from_secs(1);
    assert!(before - slack <= time && time <= Timestamp::now() + slack, "{time}");
    assert!(event["request_id"].as_str().is_some_and(|id| !id.is_empty()));
    let mut rest = event.clone();
    for volatile in ["time", "request_id"] {
        rest.as_object_mut().expect("an object").remove(volatile);
    }
    assert_eq!(
        rest,
        json!({
            "v": 1, "event": "violation", "site": "default", "mode": "audit", "action": "forwarded", "status": 200,
            "client": "crawler", "crawler": "GPTBot", "purpose": "ai-train", "token": "GPTBot", "proof": "unchecked", "proof_by": null,
            "address": "127.0.0.1", "scheme": "http", "method": "GET", "host": "example.org",
            "target": "/private/a%20b?x='1'&y=%22", "user_agent": GPTBOT, "group": ["GPTBot", "ClaudeBot"], "line": 3,
            "source": null, "rule": "Disallow: /private", "reason": "rule", "robots_version": version_of(ROBOTS), "notice": "lapsed", "cut": null, "gateway": null,
        })
    );
}

#[test]
fn what_is_empty_is_null_and_what_is_no_text_is_escaped() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    client.send(&get("/cgi-bin/1")).came_from_origin();
    let event = gateway.journal().event_of("/cgi-bin/1");
    assert_eq!(event["client"], "unnamed", "{event}");
    for field in ["crawler", "purpose", "user_agent"] {
        assert_eq!(event[field], Value::Null, "{field} of {event}");
    }
    assert_eq!(event["token"], "*", "{event}");
    let agent = [GPTBOT.as_bytes(), b" caf\xe9"].concat();
    client.send(&get("/private/2").by(agent)).came_from_origin();
    let event = gateway.journal().event_of("/private/2");
    assert_eq!(event["user_agent"], format!("{GPTBOT} caf\\xE9"), "{event}");
    assert_eq!(event["crawler"], "GPTBot", "{event}");
}

#[test]
fn the_status_is_the_one_the_client_saw() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    // nginx itself answers TRACE with 405.
    assert_eq!(gateway.send(&request("TRACE", "/private/trace").by(GPTBOT)).status, 405);
    let event = gateway.journal().event_of("/private/trace");
    assert_eq!((&event["status"], &event["method"]), (&json!(405), &json!("TRACE")));
    assert_eq!(gateway.send(&head("/private/head").by(GPTBOT)).status, 200);
    assert_eq!(gateway.journal().event_of("/private/head")["method"], "HEAD");
}

#[test]
fn log_allowed_adds_a_line_for_each_judged_request() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).set("log_allowed = true").start();
    let mut client = gateway.client();
    client.send(&get("/1").by(GPTBOT)).came_from_origin();
    client.send(&get("/private/press/2").by(GPTBOT)).came_from_origin();
    client.send(&get("/private/3").by(GPTBOT)).came_from_origin();
    client.send(&get("/4").by(CURL)).came_from_origin();
    client.send(&get("/private/5").by(CHROME)).came_from_origin();
    client.send(&get("/6").by(OKHTTP)).came_from_origin();
    client.send(&get("/private/last").by(GPTBOT)).came_from_origin();
    let events = gateway.journal().events_before("/private/last");
    let seen: Vec<_> = events
        .iter()
        .map(|event| json!([event["target"], event["event"], event["reason"], event["line"]]))
        .collect();
    assert_eq!(
        seen,
        [
            json!(["/1", "allowed", "no-rule", null]),
            json!(["/private/press/2", "allowed", "rule", 4]),
            json!(["/private/3", "violation", "rule", 3]),
            json!(["/4", "allowed", "no-rule", null]),
        ]
    );
    assert_eq!(events[0]["rule"], Value::Null);
    assert_eq!(events[0]["notice"], Value::Null);
    assert_eq!(events[1]["rule"], "Allow: /private/press");
    for line in gateway.journal().lines() {
        assert_eq!(keys(&line), FIELDS);
    }
}

#[test]
fn request_ids_are_different() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    for number in 0..20 {
        client.send(&get(format!("/private/{number}")).by(GPTBOT)).came_from_origin();
    }
    client.send(&get("/private/last").by(GPTBOT));
    let events = gateway.journal().events_before("/private/last");
    let ids: HashSet<_> = events.iter().map(|event| event["request_id"].to_string()).collect();
    assert_eq!((events.len(), ids.len()), (20, 20));
}

#[test]
fn the_journal_can_go_to_standard_output() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).arg("--journal").arg("-").start();
    gateway.send(&get("/private/1").by(GPTBOT)).came_from_origin();
    let line = gateway.output.line_with(&["/private/1"]);
    assert_eq!(keys(&line), FIELDS);
    assert_eq!(gateway.journal().lines(), Vec::<String>::new());
}

#[test]
fn the_journal_can_go_to_another_file() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).arg("--journal");
    let path = gateway.folder().join("elsewhere.jsonl");
    let gateway = gateway.arg(path.to_str().expect("UTF-8")).start();
    gateway.send(&get("/private/1").by(GPTBOT)).came_from_origin();
    let event = crate::support::journal::JournalFile(path).event_of("/private/1");
    assert_eq!(event["event"], "violation");
}
