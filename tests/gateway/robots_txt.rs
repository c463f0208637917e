//! `/robots.txt` is the gateway's own: from memory, conditional, for everyone, whatever the origin does
//! (RFC 9309 §2.3, RFC 9110 §13).

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::origin::{ORIGINS_ROBOTS, free_port};
use crate::support::{ClientResponse, Daemon, Nginx, get, head, request, until};
use std::time::{Duration, Instant, SystemTime};

const ROBOTS: &str = "# caf\u{e9}\r\nUser-agent: *\r\nDisallow: /\r\n";

#[track_caller]
fn assert_is_the_file(response: &ClientResponse) {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.body, ROBOTS.as_bytes(), "not the very bytes");
    assert_eq!(response.header("Content-Type"), Some("text/plain; charset=utf-8"));
    assert_eq!(response.header("Content-Length"), Some(ROBOTS.len().to_string().as_str()));
    assert_eq!(response.header("Cache-Control"), Some("private, max-age=3600"));
    assert!(response.header("Content-Range").is_none());
}

#[track_caller]
fn assert_not_modified(response: &ClientResponse, etag: &str) {
    assert_eq!(response.status, 304, "{response:?}");
    assert!(response.body.is_empty());
    // RFC 9110 §15.4.5: what would have been sent with the 200.
    assert_eq!(response.header("ETag"), Some(etag));
    assert_eq!(response.header("Cache-Control"), Some("private, max-age=3600"));
}

fn etag_of(response: &ClientResponse) -> String {
    response.header("ETag").expect("an ETag").to_owned()
}

#[test]
fn get_answers_with_the_very_bytes_and_validators() {
    let origin = Nginx::start();
    let start = SystemTime::now();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    for agent in [GPTBOT, CHROME, CURL] {
        let response = gateway.send(&get("/robots.txt").by(agent));
        assert_is_the_file(&response);
        let etag = etag_of(&response);
        assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "a strong validator: {etag}");
        let modified = response.header("Last-Modified").expect("Last-Modified");
        let modified = httpdate::parse_http_date(modified).expect("an HTTP date");
        assert!(
            modified + Duration::from_secs(60) > start,
            "it came into force with the start: {modified:?}"
        );
        assert!(modified <= SystemTime::now(), "no date of the future (RFC 9110 §8.8.2.1)");
    }
    assert_is_the_file(&gateway.send(&get("/robots.txt")));
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn head_answers_as_get_without_the_body() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    let mut client = gateway.client();
    let by_head = client.send(&head("/robots.txt").by(GPTBOT));
    let by_get = client.send(&get("/robots.txt").by(GPTBOT));
    assert!(by_head.body.is_empty());
    assert_eq!(by_head.status, 200);
    for field in ["Content-Length", "Content-Type", "ETag", "Last-Modified", "Cache-Control"] {
        assert!(by_head.header(field).is_some(), "{field}");
        assert_eq!(by_head.header(field), by_get.header(field));
    }
}

#[test]
fn if_none_match_decides() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    let first = client.send(&get("/robots.txt"));
    let etag = etag_of(&first);
    let date = first.header("Last-Modified").expect("Last-Modified").to_owned();
    let mut ask = |value: &str| client.send(&get("/robots.txt").with("If-None-Match", value));
    for matching in [
        etag.clone(),
        "*".to_owned(),
        format!("W/{etag}"),
        format!("\"other\", {etag}"),
        format!("W/\"other\",{etag}, \"more\""),
        format!("\"with, comma\", {etag}"),
    ] {
        assert_not_modified(&ask(&matching), &etag);
    }
    let inside = etag.trim_matches('"').to_owned();
    for other in
        ["\"other\"".to_owned(), "W/\"other\"".to_owned(), format!("\"x{inside}\""), inside, String::new()]
    {
        assert_is_the_file(&ask(&other));
    }
    // RFC 9110 §13.1.3: If-Modified-Since is ignored beside If-None-Match, in both directions.
    let both = get("/robots.txt").with("If-None-Match", "\"other\"").with("If-Modified-Since", &date);
    assert_is_the_file(&client.send(&both));
    let both = get("/robots.txt")
        .with("If-None-Match", &etag)
        .with("If-Modified-Since", "Thu, 01 Jan 1998 00:00:00 GMT");
    assert_not_modified(&client.send(&both), &etag);
    let by_head = client.send(&head("/robots.txt").with("If-None-Match", &etag));
    assert_not_modified(&by_head, &etag);
    // A 304 has no body; the connection is in step.
    assert_is_the_file(&client.send(&get("/robots.txt")));
}

#[test]
fn if_modified_since_is_honoured() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    let first = client.send(&get("/robots.txt"));
    let etag = etag_of(&first);
    let date = first.header("Last-Modified").expect("Last-Modified").to_owned();
    let mut since = |date: &str| client.send(&get("/robots.txt").with("If-Modified-Since", date));
    assert_not_modified(&since(&date), &etag);
    // Not a date that it was given: it may be that of another version, by a clock that has been set back since.
    let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3_600));
    assert_is_the_file(&since(&later));
    assert_is_the_file(&since("Thu, 01 Jan 1998 00:00:00 GMT"));
    assert_is_the_file(&since("yesterday"));
}

#[test]
fn every_spelling_is_answered_by_the_gateway_and_allowed() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    let mut client = gateway.client();
    for target in [
        "/robots.txt?x=1",
        "/robots.txt?",
        "//robots.txt",
        "///robots.txt",
        "/%72obots.txt",
        "/robots%2Etxt",
        "/./robots.txt",
        "/a/../robots.txt",
        "/a/%2e%2e/robots.txt",
        "http://localhost/robots.txt",
    ] {
        let response = client.send(&get(target).by(GPTBOT));
        assert_is_the_file(&response);
    }
    assert_eq!(origin.received(), Vec::<String>::new());
}

/// Spellings that some origins take for robots.txt and others for another page.
const DOUBTFUL: [&str; 6] = [
    "/%2frobots.txt",
    "/\\robots.txt",
    "/a%2f..%2frobots.txt",
    "/robots.txt/.",
    "/robots.txt%2F..\\x.html\\/%2E%2e",
    "/robots.txt/..%2Fopen%5csecret.pdf%5c%2e%2e%2e/..",
];

#[test]
fn what_could_be_another_page_is_judged_and_answered_by_the_gateway() {
    let origin = Nginx::start();
    for (robots, refused) in [("User-agent: *\nDisallow: /secret\n", false), (ROBOTS, true)] {
        let gateway = Daemon::with(robots).in_mode("enforce").in_front_of(&origin).start();
        for target in DOUBTFUL {
            let response = gateway.send(&get(target).by(GPTBOT));
            assert_eq!(response.status, if refused { 403 } else { 200 }, "{target}");
            assert!(refused || response.text() == robots, "{target}: {response:?}");
            assert_eq!(gateway.send(&get(target).by(CHROME)).text(), robots, "{target} of a person");
        }
        let told = if refused { DOUBTFUL.len() } else { 0 };
        until("refusals are told", || (gateway.journal().lines().len() == told).then_some(()));
    }
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn other_paths_that_look_alike_are_the_origins() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    for target in ["/ROBOTS.TXT", "/robots.txt.bak", "/robots.txtx", "/a/robots.txt", "/robots"] {
        gateway.send(&get(target).by(CHROME)).came_from_origin();
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 403, "{target}");
    }
}

#[test]
fn other_methods_get_405_and_the_allowed_ones() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    let mut client = gateway.client();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get"] {
        let response = client.send(&request(method, "/robots.txt").by(GPTBOT));
        assert_eq!(response.status, 405, "{method}: {response:?}");
        let allow = response.header("Allow").expect("Allow").replace(' ', "");
        assert_eq!(allow.split(',').collect::<std::collections::BTreeSet<_>>(), ["GET", "HEAD"].into());
        assert_eq!(response.header("Content-Length"), Some(response.body.len().to_string().as_str()));
    }
    let with_body = request("POST", "/robots.txt").by(GPTBOT).body(vec![b'x'; 40_000]);
    assert_eq!(gateway.send(&with_body).status, 405);
    assert_is_the_file(&gateway.send(&get("/robots.txt")));
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn ranges_are_ignored() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    assert_is_the_file(&gateway.send(&get("/robots.txt").with("Range", "bytes=0-3")));
    assert_is_the_file(&gateway.send(&get("/robots.txt").with("Range", "bytes=900-")));
}

#[test]
fn it_is_served_while_the_origin_is_down() {
    let gateway =
        Daemon::with(ROBOTS).in_mode("enforce").at(&format!("http://127.0.0.1:{}", free_port())).start();
    let mut client = gateway.client();
    assert_is_the_file(&client.send(&get("/robots.txt").by(GPTBOT)));
    let start = Instant::now();
    assert_eq!(client.send(&get("/").by(CHROME)).status, 502);
    assert!(start.elapsed() < Duration::from_secs(3), "a refused connection is known at once");
    assert_is_the_file(&gateway.send(&get("/robots.txt").by(GPTBOT)));
}

#[test]
fn it_is_never_the_origins() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    assert_ne!(ROBOTS, ORIGINS_ROBOTS);
    assert_is_the_file(&gateway.send(&get("/robots.txt")));
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).in_mode("off").start();
    assert_is_the_file(&gateway.send(&get("/robots.txt")));
}

#[test]
fn a_site_without_a_file_answers_404_and_allows_everything() {
    let origin = Nginx::start();
    let gateway =
        Daemon::without_robots().in_mode("enforce").in_front_of(&origin).set("log_allowed = true").start();
    let mut client = gateway.client();
    for request in [get("/robots.txt").by(GPTBOT), head("/robots.txt").by(GPTBOT), get("//robots.txt?x=1")] {
        assert_eq!(client.send(&request).status, 404);
    }
    client.send(&get("/only-the-origin-says-so").by(GPTBOT)).came_from_origin();
    let event = gateway.journal().event_of("/only-the-origin-says-so");
    assert_eq!((event["event"].as_str(), event["reason"].as_str()), (Some("allowed"), Some("no-group")));
    assert!(event["robots_version"].is_null());
    assert_eq!(origin.received(), ["GET /only-the-origin-says-so"]);
}

#[test]
fn how_long_it_may_be_kept_can_be_configured() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).set("robots_max_age = \"5m\"").start();
    let response = gateway.send(&get("/robots.txt"));
    assert_eq!(response.header("Cache-Control"), Some("private, max-age=300"));
}
