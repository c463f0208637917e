//! What is never refused: certificate validation, and the addresses an operator exempts.

use crate::support::agents::{CHROME, CLAUDEBOT, GPTBOT};
use crate::support::{Daemon, Nginx, get, request, until};

const NOTHING: &str = "User-agent: *\nDisallow: /\n";

#[test]
fn the_acme_challenge_is_never_refused() {
    let origin = Nginx::start();
    let gateway = Daemon::with(NOTHING).in_mode("enforce").in_front_of(&origin).start();
    let validator = "Mozilla/5.0 (compatible; Let's Encrypt validation server; +https://www.letsencrypt.org)";
    for agent in [GPTBOT, validator] {
        let response = gateway.send(&get("/.well-known/acme-challenge/a-token").by(agent));
        response.came_from_origin();
    }
    assert_eq!(gateway.send(&get("/.well-known/security.txt").by(GPTBOT)).status, 403);
}

#[test]
fn the_acme_challenge_is_no_way_round_the_rules() {
    let origin = Nginx::start();
    let gateway = Daemon::with(NOTHING).in_mode("enforce").in_front_of(&origin).start();
    for target in [
        "/.well-known/acme-challenge",
        "/.well-known/acme-challenge/../../private",
        "/.well-known/acme-challenge/%2e%2e/%2e%2e/private",
        "/.well-known/acme-challenge/..%2f..%2fprivate",
        "/.well-known/acme-challenge/a\\a\\a%2f..%2f..%2f..%2fprivate/x.html",
        "/.well-known/acme-challenge/a/b",
        "/.well-known/acme-challenge/a?b",
        "/.well-known/acme-challenge/",
        "/.well-known/acme-challengers/private",
    ] {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 403, "{target}");
    }
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn exempt_addresses_are_never_judged() {
    let origin = Nginx::start();
    let gateway = Daemon::with(NOTHING)
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("exempt = [\"127.0.0.0/8\", \"2001:db8::/32\"]")
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .set("log_allowed = true")
        .start();
    let mut client = gateway.client();
    client.send(&get("/exempt").by(GPTBOT)).came_from_origin();
    client.send(&get("/exempt-6").by(GPTBOT).with("X-Forwarded-For", "2001:db8::7")).came_from_origin();
    let from_elsewhere = get("/judged").by(GPTBOT).with("X-Forwarded-For", "203.0.113.9");
    assert_eq!(client.send(&from_elsewhere).status, 403);
    let events = gateway.journal().events_before("/judged");
    assert_eq!(events, Vec::<serde_json::Value>::new());
}

/// The day that is so many days from now, as TOML has it.
fn day(from_now: i64) -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    now.saturating_add(jiff::Span::new().days(from_now)).to_string()
}

#[test]
fn an_exception_has_a_reason_and_an_end_that_is_told_before_and_after() {
    let origin = Nginx::start();
    let (past, soon, late) = (day(-1), day(3), day(60));
    let gateway = Daemon::with(NOTHING)
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\"]\ncatalogue = \"crawlers.toml\"")
        .file("crawlers.toml", "[[crawler]]\nname = \"ExampleBot\"\ntokens = [\"ExampleBot\"]\n")
        .set(&format!(
            "exempt = [\"192.0.2.0/24\", {{ address = \"198.51.100.1\", reason = \"load test\", until = {past} }}, \
             {{ address = \"198.51.100.2\", until = {soon} }}, {{ address = \"198.51.100.3\", until = {late} }}]"
        ))
        .table(&format!(
            "[verify]\ndns = false\nranges = {{ ExampleBot = [\"ranges.txt\"] }}\n\
             [crawlers.examplebot]\nexcept = [{{ reason = \"agreement\", until = {late} }}]\n\
             [crawlers.ClaudeBot]\nexcept = [\"198.51.100.4\"]"
        ))
        .file("ranges.txt", "20.9.9.9\n")
        .start();
    let mut client = gateway.client();
    let mut status = |agent: &str, address: &str| {
        client.send(&get("/page").by(agent).with("X-Forwarded-For", address)).status
    };
    for (address, expected) in [
        ("192.0.2.7", 200),
        ("198.51.100.1", 403),
        ("198.51.100.2", 200),
        ("198.51.100.3", 200),
        ("198.51.100.4", 200),
        ("198.51.100.5", 403),
    ] {
        assert_eq!(status(CLAUDEBOT, address), expected, "{address}");
    }
    // Of a crawler as a whole, until somebody is shown to borrow its name.
    assert_eq!(status("ExampleBot/1.0", "20.9.9.9"), 200);
    until("the proof is known", || (status("ExampleBot/1.0", "40.7.7.7") == 403).then_some(()));
    assert_eq!(status("ExampleBot/1.0", "20.9.9.9"), 200);

    let told = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let told: Vec<&str> =
        told["exceptions"].as_array().expect("a list").iter().filter_map(|one| one.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("the exception of 198.51.100.1/32 in `exempt` (load test) has ended: "),
        "{told:?}"
    );
    assert!(told[1].starts_with("the exception of 198.51.100.2/32 in `exempt` ends: "), "{told:?}");
    let config = gateway.folder().join("gateway.toml");
    let checked =
        crate::support::command::ctl(["check", "--offline", "--config", config.to_str().expect("UTF-8")]);
    assert_eq!(checked.exits(0).stdout.matches(": warning: the exception of ").count(), 2);
}

#[test]
fn an_exception_that_is_none_is_told() {
    for (line, told) in [
        ("exempt = [{ reason = \"all\" }]", "an exception without `address` exempts everybody"),
        ("exempt = [{ address = \"192.0.2.1\", until = \"2027-01-01\" }]", "expected a TOML datetime"),
        ("exempt = [{ address = \"192.0.2.1\", until = 2027-01-01T00:00:00Z }]", "expected a day such as"),
        ("exempt = [{ address = \"192.0.2.1/40\" }]", "invalid network `192.0.2.1/40`"),
    ] {
        let ended = Daemon::with(NOTHING).set(line).fails_to_start();
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn options_of_the_whole_server_is_not_judged() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(NOTHING).in_mode("enforce").in_front_of(&origin).set("log_allowed = true").start();
    let mut client = gateway.client();
    // RFC 9110 §9.3.7: `*` names no resource, so no rule speaks of it. What nginx answers is its own affair.
    let response = client.send(&request("OPTIONS", "*").by(GPTBOT));
    assert_ne!(response.status, 403, "{response:?}");
    let mut client = gateway.client();
    assert_eq!(client.send(&get("/last").by(GPTBOT)).status, 403);
    assert_eq!(gateway.journal().events_before("/last").len(), 0);
}

#[test]
fn a_tunnel_is_not_made() {
    let origin = Nginx::start();
    let gateway = Daemon::with(NOTHING).in_front_of(&origin).start();
    let response = gateway.send(&request("CONNECT", "example.org:443").by(CHROME));
    assert!((400..500).contains(&response.status), "{response:?}");
    assert_eq!(origin.received(), Vec::<String>::new());
}
