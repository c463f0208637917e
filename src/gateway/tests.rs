//! A gateway that enforces a file, asked as a connection asks it.

use super::*;
use crate::config::Arguments;
use crate::http::Body;
use crate::http::HttpVersion;
use crate::http::head::{HeadLimits, HeadReader};
use std::time::SystemTime;

const GPTBOT: &str = "GPTBot/1.2";

/// A gateway with `settings`, and the folder of its state.
fn gateway(settings: &str) -> (Gateway, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (robots, path) = (folder.path().join("robots.txt"), folder.path().join("gateway.toml"));
    std::fs::write(&robots, "User-agent: *\nDisallow: /\nAllow: /open\n").unwrap();
    let state = folder.path().join("state");
    let text = format!(
        "state_dir = {state:?}\nmode = \"enforce\"\nnotice = \"0s\"\n{settings}[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = {robots:?}\n"
    );
    std::fs::write(&path, text).unwrap();
    let config = Config::load(&Arguments { config: Some(path), ..Arguments::default() }).unwrap();
    let (journal, store) = (config.journal(), config.store());
    let policy = crate::policy::check(config, SystemTime::now()).unwrap();
    let gateway = Gateway::new(
        Arc::new(CurrentPolicy::new(policy)),
        Arc::new(Journal::open(&journal).unwrap()),
        Arc::new(Recorder::start(&store).unwrap()),
        Arc::new(ReadBook::default()),
        Arc::new(Prover::start(None).unwrap()),
    );
    (gateway, folder)
}

fn head(text: &str) -> RequestHead {
    let mut reader = HeadReader::new(HeadLimits { bytes: 10_000, fields: 50 });
    let Ok(Some(head)) = reader.read(&mut text.into()) else { panic!("{text}") };
    head
}

fn asks(line: &str, user_agent: &str, fields: &str) -> RequestHead {
    head(&format!("{line}\r\nHost: a.example\r\nUser-Agent: {user_agent}\r\n{fields}\r\n"))
}

fn stranger() -> ConnectionInfo {
    ConnectionInfo::new("192.0.2.1".parse().ok(), false, true)
}

/// What is decided, and what it leaves to finish.
fn decided(gateway: &Gateway, head: &RequestHead) -> (Decision, RequestContext<'static>) {
    let connection = stranger();
    let mut context = RequestContext::new(Box::leak(Box::new(gateway.current.get())));
    let decision = gateway.decide(Incoming { head, connection: &connection }, &mut context);
    (decision, context)
}

/// The fields that an origin is sent.
fn forwarded(gateway: &Gateway, head: &RequestHead, connection: &ConnectionInfo) -> Vec<String> {
    let policy = gateway.current.get();
    let mut context = RequestContext::new(&policy);
    let incoming = Incoming { head, connection };
    let _ = gateway.decide(incoming, &mut context);
    let mut fields = Vec::new();
    forward(incoming, &context, None, &mut |name, value| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        fields.push(format!("{}: {}", text(name), text(value)));
    });
    fields
}

#[test]
fn a_request_is_refused_and_counted_once() {
    let (gateway, _folder) = gateway("");
    for line in ["GET /private HTTP/1.1", "HEAD /private HTTP/1.1", "POST /private HTTP/1.0"] {
        let before = gateway.totals.snapshot();
        let (decision, context) = decided(&gateway, &asks(line, GPTBOT, ""));
        let Decision::Answer(answer) = decision else { panic!("{line}") };
        assert_eq!(answer.status, 403);
        let head = asks(line, GPTBOT, "");
        let connection = stranger();
        let ending = RequestEnding { status: Some(403), ..RequestEnding::default() };
        gateway.finish(Incoming { head: &head, connection: &connection }, ending, context);
        let after = gateway.totals.snapshot();
        assert_eq!((after.requests - before.requests, after.refused - before.refused), (1, 1));
    }
}

#[test]
fn each_request_has_one_of_three_ends() {
    let (gateway, _folder) = gateway("");
    let decision = |line: &str, user_agent: &str| decided(&gateway, &asks(line, user_agent, "")).0;
    assert!(matches!(decision("GET /open HTTP/1.1", GPTBOT), Decision::Forward));
    assert!(matches!(decision("GET /private HTTP/1.1", "curl/8.0"), Decision::Forward));
    assert!(matches!(decision("OPTIONS * HTTP/1.1", GPTBOT), Decision::Forward));
    assert!(matches!(decision("GET /robots.txt HTTP/1.1", GPTBOT), Decision::RobotsTxt(_, Some(_))));
    assert!(matches!(decision("HEAD /robots.txt HTTP/1.1", GPTBOT), Decision::RobotsTxt(_, None)));
    let (answer, _) = decided(&gateway, &asks("OPTIONS /open HTTP/1.1", GPTBOT, "Max-Forwards: 0\r\n"));
    assert!(matches!(answer, Decision::Answer(answer) if answer.status == 200));
}

#[test]
fn an_event_is_written_once_its_status_is_known() {
    let (gateway, folder) = gateway("");
    for status in [Some(403), None] {
        let head = asks("GET /private HTTP/1.1", GPTBOT, "");
        let (_, context) = decided(&gateway, &head);
        let connection = stranger();
        let ending = RequestEnding { status, ..RequestEnding::default() };
        gateway.finish(Incoming { head: &head, connection: &connection }, ending, context);
    }
    gateway.journal.close();
    let text = std::fs::read_to_string(folder.path().join("state").join("journal.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let statuses: Vec<_> = lines.map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, [serde_json::json!(403), serde_json::Value::Null]);
}

#[test]
fn what_a_stranger_claims_goes_no_further() {
    let (gateway, _folder) = gateway("");
    let head = asks(
        "GET /open HTTP/1.1",
        GPTBOT,
        "X-Forwarded-For: 198.51.100.1\r\nX.Forwarded.Proto: https\r\nForwarded: for=x\r\nX-Robots-Verdict: allow\r\n\
         Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nX-Mine: 2\r\nProxy-Authorization: x\r\n",
    );
    let mut fields = forwarded(&gateway, &head, &stranger());
    fields.retain(|field| !field.starts_with("X-Request-Id: "));
    let expected = [
        "Host: a.example",
        "User-Agent: GPTBot/1.2",
        "X-Mine: 2",
        "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Proto: http",
        "X-Forwarded-Host: a.example",
        "Via: 1.1 robots-gateway",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn what_a_trusted_proxy_says_is_continued() {
    let (gateway, _folder) = gateway("trusted_proxies = [\"192.0.2.0/24\"]\n");
    let head = asks(
        "GET /open HTTP/1.1",
        GPTBOT,
        "X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b.example\r\nX-Request-Id: abc\r\n\
         Forwarded: for=x\r\n",
    );
    let fields = forwarded(&gateway, &head, &stranger());
    for field in [
        "X-Forwarded-For: 198.51.100.1, 192.0.2.1",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: b.example",
        "X-Request-Id: abc",
    ] {
        assert_eq!(fields.iter().filter(|other| *other == field).count(), 1, "{field} in {fields:?}");
    }
    assert!(!fields.iter().any(|field| field.starts_with("Forwarded")), "{fields:?}");
}

#[test]
fn cookies_that_http_2_has_cut_are_one_again() {
    let (gateway, _folder) = gateway("");
    let fields = [(&b"host"[..], &b"a.example"[..]), (b"cookie", b"a=1"), (b"cookie", b"b=2")];
    let parts = [&b"GET"[..], b"/open"];
    let head =
        RequestHead::from_parts(parts, Some(b"https"), HttpVersion::Http2, Body::None, fields.into_iter());
    let fields = forwarded(&gateway, &head, &stranger());
    assert!(fields.contains(&"cookie: a=1; b=2".to_owned()), "{fields:?}");
    assert!(fields.contains(&"Via: 2 robots-gateway".to_owned()), "{fields:?}");
}

#[test]
fn the_origin_is_asked_for_what_was_judged() {
    let target = |line: &str| forwarded_target(&asks(line, GPTBOT, "")).into_owned();
    assert_eq!(target("GET /a?b HTTP/1.1"), b"/a?b");
    assert_eq!(target("GET http://a.example/a?b HTTP/1.1"), b"/a?b");
    assert_eq!(target("OPTIONS http://a.example HTTP/1.1"), b"*");
    assert_eq!(target("OPTIONS * HTTP/1.1"), b"*");
}
