//! Targets that reach a disallowed page only in another spelling: recorded as variants, refused in
//! enforce mode unless the site forwards them; and always forwarded as they came.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Builder, Daemon, Nginx, RawOrigin, get};
use serde_json::Value;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\nAllow: /private/press\n";

/// Allowed as sent, disallowed once slashes merge or `%2F` and `%5C` are decoded.
const VARIANTS: [&str; 9] = [
    "//private",
    "///private/page",
    "/%2Fprivate",
    "/%2fprivate",
    "/x/..%2fprivate",
    "/x/..%5Cprivate",
    "/x/..\\private",
    "/\\private",
    "/x/y//..//../private",
];

/// Disallowed as sent: dot segments are resolved as any URL parser does (RFC 3986 §5.2.4).
const SAME: [&str; 6] = [
    "/x/../private",
    "/./private",
    "/x/%2e%2e/private",
    "/%70rivate",
    "/../private",
    "/private/press/../page",
];

/// What some origin, or one before another, takes for a disallowed path below.
const SEVERAL_TRICKS: [&str; 12] = [
    "/a\\a/..%2fprivate/x.html",
    "/private%2f\\/../x.html",
    "///private/..\\a//../x.html",
    "/.well-known/acme-challenge/a\\a\\a%2f..%2f..%2f..%2fprivate/x.html",
    "//x/private/x.html",
    "/\\a/private/x.html",
    "/r%3Dd/x",
    "/r%26d/x",
    "/docs/secret.pdf/.",
    "/docs/secret.pdf/x/..",
    "/%252e%252e/private/",
    "/private/x%3F/../../open",
];

fn enforcing(origin: &Nginx) -> Builder {
    Daemon::with(ROBOTS).in_mode("enforce").in_front_of(origin)
}

#[track_caller]
fn assert_event(event: &Value, kind: &str, action: &str) {
    assert_eq!((event["event"].as_str(), event["action"].as_str()), (Some(kind), Some(action)), "{event}");
}

#[test]
fn variants_are_refused_and_recorded_as_such() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin).start();
    for target in VARIANTS {
        let response = gateway.send(&get(target).by(GPTBOT));
        assert_eq!(response.status, 403, "{target}");
        assert!(
            response.text().contains("line: 2\nrule: Disallow: /private\n"),
            "{target}: {}",
            response.text()
        );
        let event = gateway.journal().event_of(target);
        assert_event(&event, "variant", "refused");
        assert_eq!((event["reason"].as_str(), event["line"].as_u64()), (Some("variant"), Some(2)), "{event}");
        assert_eq!(event["rule"], "Disallow: /private");
        assert!(event["notice"].is_null(), "{event}");
        gateway.send(&get(target).by(CHROME));
    }
    let received = origin.received();
    assert_eq!(received.len(), VARIANTS.len(), "only the browser's: {received:?}");
}

#[test]
fn several_tricks_at_once_are_variants() {
    let origin = Nginx::start();
    let rules = "User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nDisallow: /r=d/\nDisallow: /r&d/\n";
    let gateway = Daemon::with(rules).in_mode("enforce").in_front_of(&origin).start();
    for target in SEVERAL_TRICKS {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 403, "{target}");
        assert_event(&gateway.journal().event_of(target), "variant", "refused");
    }
    assert_eq!(origin.received(), Vec::<String>::new());
    for target in
        ["/open?u=https://x/private/", "/open?u=//x/../private/", "/r?d%3De", "/open/", "/docs/secret.pdf/x"]
    {
        gateway.send(&get(target).by(GPTBOT)).came_from_origin();
    }
}

#[test]
fn a_target_with_more_readings_than_are_followed_is_a_variant_where_anything_is_disallowed() {
    let origin = Nginx::start();
    let endless = "//a".repeat(100);
    let gateway = enforcing(&origin).start();
    let response = gateway.send(&get(&endless).by(GPTBOT));
    assert_eq!(response.status, 403);
    assert!(
        response.text().starts_with("error: servers may read this address in too many ways"),
        "{}",
        response.text()
    );
    let event = gateway.journal().event_of(&endless);
    assert_event(&event, "variant", "refused");
    assert!(
        event["line"].is_null() && event["rule"].is_null() && event["group"] == serde_json::json!(["*"]),
        "{event}"
    );
    gateway.send(&get(&endless).by(CHROME)).came_from_origin();
    let gateway = Daemon::with("User-agent: *\nDisallow:\n").in_mode("enforce").in_front_of(&origin).start();
    gateway.send(&get(&endless).by(GPTBOT)).came_from_origin();
}

#[test]
fn variants_can_be_forwarded() {
    let origin = RawOrigin::start();
    let gateway =
        Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).site("variants = \"forward\"").start();
    for target in VARIANTS {
        gateway.send(&get(target).by(GPTBOT)).came_from_origin();
        assert_event(&gateway.journal().event_of(target), "variant", "forwarded");
    }
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
}

#[test]
fn variants_are_forwarded_in_audit_mode() {
    let origin = RawOrigin::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    for target in VARIANTS {
        gateway.send(&get(target).by(GPTBOT)).came_from_origin();
        assert_event(&gateway.journal().event_of(target), "variant", "forwarded");
    }
}

#[test]
fn dot_segments_and_encoded_letters_are_the_same_path() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin).start();
    for target in SAME {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 403, "{target}");
        assert_event(&gateway.journal().event_of(target), "violation", "refused");
    }
    for target in [
        "/private/../open",
        "/private/press",
        "/x/../private/press",
        "/open?next=/../private",
        "/open?a=//private",
    ] {
        gateway.send(&get(target).by(GPTBOT)).came_from_origin();
    }
}

#[test]
fn requests_are_forwarded_exactly_as_they_came() {
    let origin = RawOrigin::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let odd = ["/x;y=1/../z", "/a%zz", "/%E2%82%AC?q=%2f", "/a?b?c=//d", "/..", "//", "/caf\u{e9}"];
    let mut client = gateway.client();
    for target in VARIANTS.iter().chain(&SAME).chain(&odd) {
        client.send(&get(target).by(GPTBOT)).came_from_origin();
        let head = origin.heads().pop().expect("a request");
        let expected = [b"GET ", target.as_bytes(), b" HTTP/1.1\r\n"].concat();
        assert!(head.starts_with(&expected), "{target}: {}", String::from_utf8_lossy(&head));
    }
}

#[test]
fn path_parameters_are_dropped_only_where_the_origin_drops_them() {
    let origin = Nginx::start();
    let targets = ["/;x/private", "/private;jsessionid=1", "/x;y=1/..;z/private"];
    let keeps = Daemon::with("User-agent: *\nDisallow: /private/page\n")
        .in_mode("enforce")
        .in_front_of(&origin)
        .start();
    keeps.send(&get("/private;a=1/page").by(GPTBOT)).came_from_origin();
    let drops = enforcing(&origin).site("path_parameters = \"drop\"").start();
    for target in [targets[0], targets[2]] {
        assert_eq!(drops.send(&get(target).by(GPTBOT)).status, 403, "{target}");
        assert_event(&drops.journal().event_of(target), "variant", "refused");
    }
    // The rule matches the prefix as sent, so nothing needs dropping here.
    assert_event(
        &{
            drops.send(&get(targets[1]).by(GPTBOT));
            drops.journal().event_of(targets[1])
        },
        "violation",
        "refused",
    );
    let drops = Daemon::with("User-agent: *\nDisallow: /private/page\n").in_mode("enforce");
    let drops = drops.in_front_of(&origin).site("path_parameters = \"drop\"").start();
    assert_eq!(drops.send(&get("/private;a=1/page").by(GPTBOT)).status, 403);
}
