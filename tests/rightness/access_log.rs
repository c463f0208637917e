//! The access log: one line for each request, whatever became of it.

use crate::keeper::Keeper;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, get, until};
use crate::wire::connect;
use serde_json::Value;
use std::io::Write;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// The lines so far, once there are `count`.
#[track_caller]
fn lines(gateway: &Daemon, count: usize) -> Vec<String> {
    let path = gateway.folder().join("state").join("access.log");
    until("the access log is written", || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

#[test]
fn json_tells_what_became_of_each_request() {
    let origin = Keeper::start();
    let gateway =
        Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).set("access_log = \"access.log\"").start();
    gateway.send(&get("/page").by(CHROME).with("Referer", "https://a.example/"));
    gateway.send(&get("/private").by(GPTBOT));
    gateway.send(&get("/robots.txt").by(GPTBOT));
    let lines: Vec<Value> =
        lines(&gateway, 3).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |target: &str| {
        lines.iter().find(|line| line["target"] == target).unwrap_or_else(|| panic!("{lines:?}"))
    };
    let refused = of("/private");
    assert_eq!((refused["status"].as_u64(), refused["origin"].is_null()), (Some(403), true), "{refused}");
    assert!(refused["duration_ms"].as_f64().is_some_and(|time| time < 10_000.0), "{refused}");
    assert_eq!(of("/robots.txt")["status"], 200);
    assert_eq!(lines[0]["site"], "default");
    assert_eq!(refused["request_id"], gateway.journal().event_of("/private")["request_id"]);
}

#[test]
fn combined_is_what_log_tools_know() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS)
        .at(&origin.url())
        .set("access_log = \"access.log\"\naccess_log_format = \"combined\"")
        .start();
    gateway.send(&get("/page").by("Mozilla \"x\"").with("Referer", "https://a.example/"));
    let line = &lines(&gateway, 1)[0];
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    let rest = "\"GET /page HTTP/1.1\" 200 8 \"https://a.example/\" \"Mozilla \\x22x\\x22\"";
    assert!(line.ends_with(rest), "{line}");
}

/// 499 is no status of HTTP; it says that the client left before its answer.
#[test]
fn failures_are_told_apart() {
    let gateway = Daemon::with(ROBOTS).at("http://127.0.0.1:9").set("access_log = \"access.log\"").start();
    gateway.send(&get("/down").by(CHROME));
    assert!(lines(&gateway, 1)[0].contains("\"status\":502"));
    let frozen = crate::support::RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS).at(&frozen.url()).set("access_log = \"access.log\"").start();
    let mut client = connect(gateway.address());
    client.write_all(b"GET /left HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    until("the request is at the origin", || (!frozen.heads().is_empty()).then_some(()));
    drop(client);
    assert!(lines(&gateway, 1)[0].contains("\"status\":499"));
}

#[test]
fn without_the_key_there_is_none() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    gateway.send(&get("/page").by(CHROME));
    assert!(!gateway.folder().join("state").join("access.log").exists());
}
