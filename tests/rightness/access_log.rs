//! The access log: one line for each request, whatever became of it.

use crate::keeper::Keeper;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Builder, Daemon, RawOrigin, get, until};
use crate::wire::{connect, exchange, read_until, rest, statuses};
use serde_json::Value;
use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

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
fn a_request_has_one_id_in_the_journal_the_access_log_and_at_the_origin() {
    let origin = Keeper::start();
    let gateway =
        Daemon::with(ROBOTS).in_mode("audit").at(&origin.url()).set("access_log = \"access.log\"").start();
    gateway.send(&get("/private").by(GPTBOT));
    let line: Value = serde_json::from_str(&lines(&gateway, 1)[0]).expect("JSON");
    let told = origin.take().remove(0).field("X-Request-Id");
    assert_eq!(line["request_id"], gateway.journal().event_of("/private")["request_id"]);
    assert_eq!(line["request_id"], *told[0]);
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

#[test]
fn what_is_no_request_is_told_of_with_its_reason() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS)
        .at(&origin.url())
        .set("access_log = \"access.log\"")
        .table("[timeouts]\nclient_header = \"500ms\"\n[limits]\nheader_size = \"4KiB\"")
        .start();
    let large = format!("GET /large HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(6_000));
    // What is sent, and what is told: the status, the reason, and what stands in the place of a target.
    let cases: [(&[u8], u16, &str, &str); 6] = [
        (b"GET /two HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "host", "GET /two HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, "request-line", "\x16\x03\x01\x02\0\x01"),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405, "connect", "CONNECT a:443 HTTP/1.1"),
        (large.as_bytes(), 431, "head-size", "GET /large HTTP/1.1"),
        (b"GET /late HTTP/1.1\r\nHost: a\r\n", 408, "late", "GET /late HTTP/1.1"),
        (
            b"POST /chunk HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nno size\r\n",
            400,
            "chunk",
            "POST /chunk HTTP/1.1",
        ),
    ];
    for (index, (bytes, status, fault, target)) in cases.into_iter().enumerate() {
        let answer = text(exchange(gateway.address(), bytes));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
        let line: Value = serde_json::from_str(&lines(&gateway, index + 1)[index]).expect("JSON");
        assert_eq!((&line["status"], &line["fault"]), (&status.into(), &fault.into()), "{line}");
        assert_eq!((&line["address"], &line["scheme"]), (&"127.0.0.1".into(), &"http".into()), "{line}");
        assert_eq!((&line["target"], line["method"].is_null()), (&target.into(), true), "{line}");
        assert!(line["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
        let body = answer.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
        assert_eq!(line["bytes"], body, "{line}");
        let waited = line["duration_ms"].as_f64().expect("a number") >= 400.0;
        assert_eq!(waited, fault == "late", "{line}");
    }
    gateway.send(&get("/page").by(CHROME));
    let line: Value = serde_json::from_str(&lines(&gateway, 7)[6]).expect("JSON");
    assert!(line["fault"].is_null() && line["status"] == 200, "{line}");
}

/// Whoever leaves in the middle of a head has a line, as those have who are too slow; empty lines and connections that
/// say nothing are no head.
#[test]
fn who_leaves_in_the_middle_of_a_head_is_told_of() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).set("access_log = \"access.log\"").start();
    let whole = "GET /whole HTTP/1.1\r\nHost: a\r\n\r\n";
    for nothing in ["", "\r\n", "\r\n\r"] {
        let mut client = connect(gateway.address());
        client.write_all(nothing.as_bytes()).expect("sent");
        client.shutdown(Shutdown::Write).expect("ended");
        rest(&mut client);
    }
    let cases = [
        (String::new(), "GET /half HTTP/1.1\r\nHost: a\r\n", "GET /half HTTP/1.1"),
        (String::new(), "GE", "GE"),
        (whole.to_owned(), "POST /behind HTTP/1.1\r\nHo", "POST /behind HTTP/1.1"),
    ];
    let mut count = 0;
    for is_reset in [false, true] {
        for (before, half, target) in &cases {
            let mut client = connect(gateway.address());
            client.write_all(format!("{before}{half}").as_bytes()).expect("sent");
            if !before.is_empty() {
                read_until(&mut client, b"origin: ");
                count += 1;
            }
            if is_reset {
                socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).expect("a reset");
            }
            drop(client);
            count += 1;
            let line: Value = serde_json::from_str(&lines(&gateway, count)[count - 1]).expect("JSON");
            assert_eq!((&line["status"], &line["fault"]), (&499.into(), &"unfinished".into()), "{line}");
            assert_eq!((&line["target"], line["method"].is_null()), (&(*target).into(), true), "{line}");
        }
    }
    assert_eq!(lines(&gateway, count).len(), count);
}

/// Such a request has a method, and its line the reason all the same.
#[test]
fn what_was_understood_and_then_went_wrong_is_told_of_too() {
    let origin = RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).set("access_log = \"access.log\"").start();
    let mut client = connect(gateway.address());
    client
        .write_all(b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        .expect("sent");
    until("the request is at the origin", || (!origin.heads().is_empty()).then_some(()));
    client.write_all(b"no size\r\n").expect("sent");
    let line: Value = serde_json::from_str(&lines(&gateway, 1)[0]).expect("JSON");
    assert_eq!((&line["method"], &line["target"]), (&"POST".into(), &"/body".into()), "{line}");
    assert_eq!((&line["status"], &line["fault"]), (&400.into(), &"chunk".into()), "{line}");
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

/// The status of the one line that `request` leads to, which is that of its answer where there is one.
#[track_caller]
fn status_of(builder: Builder, request: &[u8]) -> u64 {
    let gateway = builder.set("access_log = \"access.log\"").start();
    let answer = text(exchange(gateway.address(), request));
    let line: Value = serde_json::from_str(&lines(&gateway, 1)[0]).expect("JSON");
    let status = line["status"].as_u64().expect("a status");
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
    status
}

#[test]
fn who_was_too_slow_is_told_apart() {
    let page = b"GET /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".as_slice();
    let frozen = RawOrigin::holding();
    let builder = Daemon::with(ROBOTS).at(&frozen.url()).table("[timeouts]\norigin_read = \"300ms\"");
    assert_eq!(status_of(builder, page), 504, "the origin");
    let builder = Daemon::with(ROBOTS).at(&frozen.url()).table("[timeouts]\nclient_header = \"300ms\"");
    let body = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nslow".as_slice();
    assert_eq!(status_of(builder, body), 408, "the client");
    let builder = Daemon::with(ROBOTS).at("http://127.0.0.1:9");
    assert_eq!(status_of(builder, page), 502, "nobody is there");
    // No label of a name has more than 63 bytes (RFC 1035 §2.3.4), so that no name server is asked.
    let builder = Daemon::with(ROBOTS).at(&format!("http://{}.invalid:80", "x".repeat(64)));
    assert_eq!(status_of(builder, page), 503, "nobody knows where it is");
}

/// 499 is no status of HTTP; it says that the client left before its answer.
#[test]
fn failures_are_told_apart() {
    let gateway = Daemon::with(ROBOTS).at("http://127.0.0.1:9").set("access_log = \"access.log\"").start();
    gateway.send(&get("/down").by(CHROME));
    assert!(lines(&gateway, 1)[0].contains("\"status\":502"));
    let frozen = RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS).at(&frozen.url()).set("access_log = \"access.log\"").start();
    let mut client = connect(gateway.address());
    client.write_all(b"GET /left HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    until("the request is at the origin", || (!frozen.heads().is_empty()).then_some(()));
    drop(client);
    assert!(lines(&gateway, 1)[0].contains("\"status\":499"));
}

/// An interim answer is not the answer (RFC 9110 §15.2).
#[test]
fn who_leaves_after_an_interim_answer_left_before_the_answer() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
    let origin = RawOrigin::answering(hints);
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).set("access_log = \"access.log\"").start();
    let mut client = connect(gateway.address());
    let request = format!("GET /private HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\n\r\n");
    client.write_all(request.as_bytes()).expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 103 "));
    drop(client);
    let line: Value = serde_json::from_str(&lines(&gateway, 1)[0]).expect("JSON");
    assert_eq!(line["status"], 499, "{line}");
    let event = gateway.journal().event_of("/private");
    assert!(event["status"].is_null(), "{event}");
}

#[test]
fn an_origin_that_leaves_after_an_interim_answer_is_made_up_for() {
    let origin =
        Keeper::answering(|_| b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/9\r\n\r\n".to_vec());
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).set("access_log = \"access.log\"").start();
    let answer = exchange(gateway.address(), b"GET /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(statuses(&answer), [103, 502], "{}", answer.escape_ascii());
    assert!(lines(&gateway, 1)[0].contains("\"status\":502"));
}

#[test]
fn without_the_key_there_is_none() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    gateway.send(&get("/page").by(CHROME));
    assert!(!gateway.folder().join("state").join("access.log").exists());
}
