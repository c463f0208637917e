//! What is never refused: certificate validation, and the addresses an operator exempts.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, Nginx, get, request};

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
