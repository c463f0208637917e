//! What is recorded of a client, and what the origin is told of it: addresses, trusted proxies,
//! verdict headers.

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::{Builder, Daemon, Nginx, get};
use serde_json::{Value, json};

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
