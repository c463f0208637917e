//! Failures of an origin, told apart: to the client by a short page, to the operator in the log.

use crate::server::{OriginManner, TestOrigin};
use crate::support::agents::CHROME;
use crate::support::{Daemon, configured, get, request};
use std::time::{Duration, Instant};

fn gateway(url: &str) -> Daemon {
    configured(&format!(
        "[timeouts]\norigin_connect = \"500ms\"\norigin_read = \"500ms\"\n\
         [[sites]]\nrobots = \"robots.txt\"\norigin = \"{url}\"\n"
    ))
    .file("robots.txt", "User-agent: *\nDisallow: /private\n")
    .start()
}

#[track_caller]
fn page(gateway: &Daemon, status: u16, sentence: &str) {
    let start = Instant::now();
    let response = gateway.send(&get("/page").by(CHROME));
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(response.text(), format!("{status} {sentence}\n"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(gateway.send(&get("/robots.txt").by(CHROME)).status, 200);
}

#[test]
fn refused_reset_and_frozen_are_told_apart() {
    let down = gateway("http://127.0.0.1:9");
    page(&down, 502, "the site could not be reached");
    down.log.line_with(&["requests failed at the origin", "\"status\":502", "\"kind\":\"refused\""]);

    let server = TestOrigin::start("origin");
    let gateway = gateway(&server.url);
    server.behaves(OriginManner::Resets);
    page(&gateway, 502, "the site could not be reached");
    server.behaves(OriginManner::Frozen);
    page(&gateway, 504, "the site did not answer in time");
    gateway.log.line_with(&["requests failed at the origin", "\"status\":504"]);
    server.behaves(OriginManner::Well);
    assert_eq!(gateway.send(&get("/page").by(CHROME)).status, 200);
}

#[test]
fn a_name_without_an_address_is_a_503() {
    let gateway = gateway("http://no-such-host.invalid");
    page(&gateway, 503, "the site is not available");
}

/// What was sent may have been done: only a request that may be repeated is, and only once.
#[test]
fn one_retry_and_only_where_it_is_safe() {
    let server = TestOrigin::start("origin");
    let gateway = gateway(&server.url);
    let mut client = gateway.client();
    assert_eq!(client.send(&get("/first").by(CHROME)).status, 200);
    server.behaves(OriginManner::Resets);
    let before = server.requests();
    assert_eq!(gateway.send(&get("/get").by(CHROME)).status, 502);
    assert!(server.requests() - before <= 2, "{:?}", server.lines());
    server.behaves(OriginManner::Well);
    assert_eq!(client.send(&get("/again").by(CHROME)).status, 200);
    server.behaves(OriginManner::Resets);
    let before = server.requests();
    assert_eq!(gateway.send(&request("POST", "/post").by(CHROME)).status, 502);
    assert_eq!(server.requests() - before, 1, "{:?}", server.lines());
}

/// A body that is cut off must not look whole.
#[test]
fn half_an_answer_is_no_answer() {
    let server = TestOrigin::start("origin");
    let gateway = gateway(&server.url);
    server.behaves(OriginManner::Breaks);
    let result = gateway.client().try_send(&get("/page").by(CHROME));
    assert!(result.is_err() || result.as_ref().is_ok_and(|response| response.status == 502), "{result:?}");
}
