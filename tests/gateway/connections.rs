//! What becomes of a connection, and heads that are nearly requests.

use crate::limits::counted;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, Nginx, RawOrigin, configured, get, until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// Sends bytes and returns what comes until the gateway closes the connection.
fn until_closed(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    stream.write_all(bytes).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the connection is closed in time");
    String::from_utf8_lossy(&answer).into_owned()
}

fn head(request_line: &str, fields: &str) -> Vec<u8> {
    format!("{request_line}\r\nUser-Agent: {CHROME}\r\n{fields}\r\n").into_bytes()
}

#[test]
fn a_client_that_wants_its_connection_closed_has_it_closed() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let start = Instant::now();
    for target in ["/page", "/robots.txt"] {
        let bytes = head(&format!("GET {target} HTTP/1.1"), "Host: a\r\nConnection: close\r\n");
        assert!(until_closed(gateway.address(), &bytes).starts_with("HTTP/1.1 200"), "{target}");
        let bytes = head(&format!("GET {target} HTTP/1.0"), "Host: a\r\n");
        assert!(until_closed(gateway.address(), &bytes).contains(" 200 "), "{target}");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn http_1_0_needs_no_host_and_gets_no_chunks() {
    let origin = RawOrigin::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let answer = until_closed(gateway.address(), &head("GET /page HTTP/1.0", ""));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(!head.to_ascii_lowercase().contains("transfer-encoding"), "{head}");
    assert_eq!(body, "abcde");
}

#[test]
fn a_name_that_is_no_host_is_malformed() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let long = "a.".repeat(10_000);
    for host in ["a/b", "a, b", "a?c", "u@a", long.as_str()] {
        let start = Instant::now();
        let bytes = head("GET /page HTTP/1.1", &format!("Host: {host}\r\nConnection: close\r\n"));
        let answer = until_closed(gateway.address(), &bytes);
        assert!(answer.starts_with("HTTP/1.1 400"), "{host:.40}: {answer:.80}");
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    }
}

#[test]
fn all_user_agent_lines_count() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    let sent = get("/private").by(CHROME).with("User-Agent", GPTBOT);
    assert_eq!(gateway.send(&sent).status, 403);
}

#[test]
fn bytes_in_front_of_what_a_proxy_appends_change_nothing() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin);
    let gateway = gateway.set("trusted_proxies = [\"127.0.0.1\"]\nexempt = [\"127.0.0.1\"]").start();
    let bytes = [
        b"GET /private HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUser-Agent: ".as_slice(),
        GPTBOT.as_bytes(),
        b"\r\nX-Forwarded-For: \xff, 203.0.113.9\r\n\r\n",
    ]
    .concat();
    assert!(until_closed(gateway.address(), &bytes).starts_with("HTTP/1.1 403"));
    assert_eq!(gateway.journal().event_of("/private")["address"], "203.0.113.9");
}

#[test]
fn a_proxy_that_nobody_named_is_told_of_once() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    for _ in 0..3 {
        gateway.send(&get("/page").by(CHROME).with("X-Forwarded-For", "203.0.113.9"));
    }
    gateway.log.line_with(&["trusted_proxies", "127.0.0.1"]);
    assert_eq!(gateway.log.text().matches("trusted_proxies").count(), 1, "{}", gateway.log.text());
}

/// What the status says was malformed.
fn malformed(gateway: &Daemon) -> u64 {
    gateway.ctl(&["status", "--format", "json"]).json()["totals"]["malformed"].as_u64().expect("a number")
}

#[test]
fn a_malformed_request_is_counted_once() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let good = head("GET /page HTTP/1.1", "Host: a\r\n");
    let bad = head("GET /page HTTP/1.1", "Host: a\r\nHost: b\r\n");
    until_closed(gateway.address(), &bad);
    until_closed(gateway.address(), &[good, bad].concat());
    assert_eq!((malformed(&gateway), counted(&gateway, "no-request")), (2, 0));
}

/// A health check of a load balancer connects and leaves; a browser connects ahead.
#[test]
fn who_leaves_by_himself_was_not_silent_for_too_long() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).table("[timeouts]\nclient_header = \"500ms\"").start();
    for _ in 0..3 {
        drop(TcpStream::connect(gateway.address()).expect("connected"));
    }
    until("they are gone", || {
        (counted(&gateway, "accepted") == 3 && counted(&gateway, "open") == 0).then_some(())
    });
    assert_eq!((counted(&gateway, "silent"), counted(&gateway, "no-request")), (0, 0));
    until_closed(gateway.address(), b"");
    assert_eq!(counted(&gateway, "silent"), 1);
}

#[test]
fn a_request_without_a_host_is_told_of_as_such() {
    let origin = Nginx::start();
    let config =
        format!("[[sites]]\nhosts = [\"a.example\"]\norigin = \"{}\"\nrobots = \"robots.txt\"", origin.url());
    let gateway = configured(&config).file("robots.txt", ROBOTS).start();
    assert!(until_closed(gateway.address(), &head("GET /page HTTP/1.0", "")).contains(" 421 "));
    let text = gateway.ctl(&["status"]).stdout;
    assert!(text.contains("  requests that name no host: answered 421, 1 time since "), "{text}");
    let line = gateway.log.line_with(&["requests that name no host"]);
    assert!(line.contains("421") && !line.contains("\"host\":\"\""), "{line}");
}

#[test]
fn a_head_may_have_hundreds_of_short_fields_and_hears_of_its_limit() {
    let origin = RawOrigin::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let numbered = |fields: usize| {
        let fields: Vec<String> = (0..fields).map(|number| format!("X-{number}: a\r\n")).collect();
        let fields = fields.concat();
        until_closed(
            gateway.address(),
            &head("GET /page HTTP/1.1", &format!("Host: a\r\nConnection: close\r\n{fields}")),
        )
    };
    assert!(numbered(150).starts_with("HTTP/1.1 200 "), "{}", numbered(150));
    let answer = numbered(997);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let answer = numbered(1_100);
    assert!(answer.starts_with("HTTP/1.1 431 ") && answer.contains("too many header fields"), "{answer}");
    let large = head("GET /page HTTP/1.1", &format!("Host: a\r\nX: {}\r\n", "a".repeat(40_000)));
    let answer = until_closed(gateway.address(), &large);
    assert!(
        answer.starts_with("HTTP/1.1 431 ") && answer.contains("the header of the request is too large"),
        "{answer}"
    );
}
