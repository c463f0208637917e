//! What is recorded of a client, and what the origin is told of it: addresses, trusted proxies,
//! verdict headers.

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::{Builder, Daemon, Nginx, RawOrigin, get, head, until};
use serde_json::{Value, json};
use std::fs;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn behind_a_proxy(origin: &Nginx) -> Builder {
    Daemon::with(ROBOTS)
        .in_front_of(origin)
        .arg("--trusted-proxy")
        .arg("127.0.0.1")
        .arg("--trusted-proxy")
        .arg("10.0.0.0/8")
}

fn address_of(gateway: &Daemon, target: &str, forwarded_for: &[&str]) -> Value {
    let mut request = get(target).by(GPTBOT);
    for field in forwarded_for {
        request = request.with("X-Forwarded-For", field);
    }
    gateway.send(&request).came_from_origin();
    gateway.journal().event_of(target)["address"].clone()
}

#[test]
fn the_client_is_the_first_untrusted_address_from_the_right() {
    let origin = Nginx::start();
    let gateway = behind_a_proxy(&origin).start();
    let address = |target: &str, fields: &[&str]| address_of(&gateway, target, fields);
    assert_eq!(address("/private/1", &[]), "127.0.0.1");
    assert_eq!(address("/private/2", &["198.51.100.7"]), "198.51.100.7");
    assert_eq!(address("/private/3", &["203.0.113.9, 198.51.100.7, 10.1.2.3"]), "198.51.100.7");
    assert_eq!(address("/private/4", &["203.0.113.9", "198.51.100.7, 10.1.2.3"]), "198.51.100.7");
    assert_eq!(address("/private/5", &["2001:db8::7"]), "2001:db8::7");
}

#[test]
fn nobody_else_is_believed_about_an_address() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).arg("--trusted-proxy").arg("10.0.0.0/8").start();
    assert_eq!(address_of(&gateway, "/private/1", &["203.0.113.9"]), "127.0.0.1");
    let gateway = behind_a_proxy(&origin).start();
    // What stands left of an untrusted address was written by that address.
    assert_eq!(address_of(&gateway, "/private/2", &["10.9.9.9, 198.51.100.7"]), "198.51.100.7");
}

#[test]
fn addresses_are_recorded_whole_truncated_or_not_at_all() {
    let origin = Nginx::start();
    for (setting, v4, v6) in [
        ("full", json!("198.51.100.77"), json!("2001:db8:1:2:3:4:5:6")),
        ("truncated", json!("198.51.100.0"), json!("2001:db8:1::")),
        ("none", Value::Null, Value::Null),
    ] {
        let gateway = behind_a_proxy(&origin).set(&format!("addresses = \"{setting}\"")).start();
        assert_eq!(address_of(&gateway, "/private/4", &["198.51.100.77"]), v4, "{setting}");
        assert_eq!(address_of(&gateway, "/private/6", &["2001:db8:1:2:3:4:5:6"]), v6, "{setting}");
    }
}

/// What nginx says it received in the three header fields.
fn told(gateway: &Daemon, agent: &str, target: &str) -> [String; 3] {
    let request = get(target)
        .by(agent)
        .with("X-Robots-Crawler", "Forged")
        .with("x-robots-verdict", "forged")
        .with("X-ROBOTS-PROOF", "forged");
    let text = gateway.send(&request).came_from_origin().text();
    ["crawler: ", "verdict: ", "proof: "].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no `{name}` in {text}")).to_owned()
    })
}

#[test]
fn the_origin_is_told_the_verdict_when_it_wants_to_know() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).set("verdict_headers = true").start();
    assert_eq!(told(&gateway, GPTBOT, "/private"), ["GPTBot", "disallow", "unchecked"]);
    assert_eq!(told(&gateway, GPTBOT, "/open"), ["GPTBot", "allow", "unchecked"]);
    for agent in [CHROME, CURL] {
        let words = told(&gateway, agent, "/private");
        assert!(words.iter().all(|word| !word.eq_ignore_ascii_case("forged")), "{words:?}");
    }
}

#[test]
fn clients_cannot_forge_a_verdict() {
    let origin = Nginx::start();
    for gateway in [
        Daemon::with(ROBOTS).in_front_of(&origin).start(),
        Daemon::without_robots().in_front_of(&origin).start(),
        Daemon::with(ROBOTS).in_front_of(&origin).set("exempt = [\"127.0.0.1\"]").start(),
        Daemon::with(ROBOTS).in_front_of(&origin).in_mode("off").start(),
    ] {
        for agent in [GPTBOT, CHROME, CURL] {
            assert_eq!(told(&gateway, agent, "/private"), ["", "", ""]);
        }
    }
}

#[test]
fn the_scheme_is_believed_of_a_trusted_proxy_only() {
    let origin = Nginx::start();
    let ask = |gateway: &Daemon, target: &str| {
        gateway.send(&get(target).by(GPTBOT).with("X-Forwarded-Proto", "https")).came_from_origin();
        gateway.journal().event_of(target)["scheme"].clone()
    };
    assert_eq!(ask(&behind_a_proxy(&origin).start(), "/private/1"), "https");
    assert_eq!(ask(&Daemon::with(ROBOTS).in_front_of(&origin).start(), "/private/2"), "http");
}

#[test]
fn the_origin_learns_the_clients_address_from_the_gateway_alone() {
    let origin = RawOrigin::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    gateway
        .send(&get("/").by(CHROME).with("X-Forwarded-For", "203.0.113.9").with("X-Forwarded-Proto", "https"));
    let head = String::from_utf8_lossy(&origin.heads()[0]).to_ascii_lowercase();
    let fields: Vec<_> = head
        .lines()
        .filter(|line| line.starts_with("x-forwarded-for") || line.starts_with("x-forwarded-proto"))
        .collect();
    assert!(
        fields.contains(&"x-forwarded-for: 127.0.0.1") && fields.contains(&"x-forwarded-proto: http"),
        "{head}"
    );
    assert_eq!(fields.len(), 2, "{head}");
}

#[test]
fn a_rotated_journal_loses_no_line() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .set("journal_max_size = \"8KiB\"\njournal_keep = 100\njournal_rate = \"off\"")
        .start();
    let mut client = gateway.client();
    for number in 0..150 {
        client.send(&get(format!("/private/{number}")).by(GPTBOT)).came_from_origin();
    }
    let state = gateway.folder().join("state");
    let files = || {
        let files = fs::read_dir(&state).expect("the state folder").flatten().map(|entry| entry.path());
        files
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal.jsonl"))
            })
            .collect::<Vec<_>>()
    };
    let lines = until("all lines are written", || {
        let texts: Vec<_> = files().iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
        let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        (lines.len() >= 150).then_some(lines)
    });
    let mut targets: Vec<String> = lines
        .iter()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("a whole line")["target"]
                .as_str()
                .expect("a target")
                .to_owned()
        })
        .collect();
    targets.sort();
    targets.dedup();
    assert_eq!((lines.len(), targets.len()), (150, 150));
    assert!(files().len() > 5, "{:?}", files());
    for path in files() {
        let size = fs::metadata(&path).expect("a file").len();
        assert!(size <= 8 * 1024, "{} has {size} bytes", path.display());
    }
}

#[test]
fn a_full_disk_stops_nothing_and_is_counted() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .arg("--journal")
        .arg("/dev/full")
        .start();
    let mut client = gateway.client();
    for _ in 0..20 {
        assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
        client.send(&get("/open").by(GPTBOT)).came_from_origin();
    }
    until("the loss is shown", || {
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        (status["details_dropped"].as_u64() >= Some(20)).then_some(())
    });
    gateway.is_running();
}

#[test]
fn the_report_has_the_bytes_that_each_crawler_was_sent() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).served_for_long().in_mode("enforce").in_front_of(&origin).start();
    let mut client = gateway.client();
    let mut sent = 0;
    for (target, status) in [("/open", 200), ("/private", 403), ("/robots.txt", 200), ("/open?more", 200)] {
        let answer = client.send(&get(target).by(GPTBOT));
        assert_eq!(answer.status, status, "{target}");
        // robots.txt is none of what is judged.
        sent += if target == "/robots.txt" { 0 } else { answer.body.len() };
    }
    for (target, status) in [("/open", 200), ("/private", 403)] {
        let answer = client.send(&head(target).by(GPTBOT));
        assert_eq!((answer.status, answer.body.len()), (status, 0), "{target}");
    }
    client.send(&get("/open").by(CHROME)).came_from_origin();
    let state = gateway.folder().join("state").display().to_string();
    let told = || {
        let ended = gateway.ctl(&["report", "--state-dir", &state, "--format", "json"]);
        let report: Value = serde_json::from_str(&ended.stdout).ok()?;
        let entries = report["crawlers"].as_array()?;
        let told: Vec<_> = entries.iter().map(|entry| (&entry["requests"], &entry["bytes"])).collect();
        (told == [(&json!(5), &json!(sent))]).then_some(())
    };
    until("5 requests of one crawler, and its bytes", told);
}
