//! Targets with bytes that no URI may hold (RFC 3986 §2), and that clients send all the same.

use crate::limits::counted;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::command::ctl;
use crate::support::http2::{END_HEADERS, END_STREAM, GOAWAY, HEADERS, Http2, RST_STREAM, field, frame};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Builder, Daemon, Folder, RawOrigin, get, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

const ROBOTS: &str =
    "User-agent: *\nDisallow: /private\nDisallow: /*%22\nDisallow: /caf%E9\nDisallow: /%3Cb\n";

/// Targets, and whether the rules disallow them.
const TARGETS: [(&[u8], bool); 9] = [
    (b"/page?q=\"quoted\"", true),
    (b"/a\"b", true),
    (b"/page?q=<b>&r=`x`", false),
    (b"/<b>`tick`", true),
    (b"/>b<", false),
    (b"/caf\xe9", true),
    (b"/page?\xff\xfe=\xe9", false),
    (b"/private/\x80<script>alert('x')</script>", true),
    (b"/{a}|b\\c^d\xc3\xa9", false),
];

/// Everything that nginx answers 400 as well, and `#`, which recipients read in two ways.
const CONTROLS: &[u8] = b"\0\x01\x08\x09\x0a\x0b\x0d\x1b\x1f\x20\x7f#";

fn site(origin: &RawOrigin) -> Builder {
    Daemon::with(ROBOTS).at(&origin.url()).in_mode("enforce").set("access_log = \"access.log\"")
}

fn access_log(gateway: &Daemon, status: u16, count: usize) -> Vec<Value> {
    let path = gateway.folder().join("state").join("access.log");
    until("the access log is written", || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let lines: Vec<Value> = lines.filter(|line: &Value| line["status"] == status).collect();
        (lines.len() >= count).then_some(lines)
    })
}

/// The targets that the origin was asked for.
fn asked(origin: &RawOrigin) -> Vec<Vec<u8>> {
    let target = |head: Vec<u8>| head.split(|byte| *byte == b' ').nth(1).expect("a target").to_vec();
    origin.heads().into_iter().map(target).collect()
}

#[test]
fn they_are_judged_and_reach_the_origin_as_they_were_sent() {
    let origin = RawOrigin::start();
    let gateway = site(&origin).start();
    let sent: Vec<Vec<u8>> = TARGETS.iter().map(|(target, _)| target.to_vec()).collect();
    for target in &sent {
        assert_eq!(gateway.send(&get(target).by(CHROME)).status, 200, "{}", target.escape_ascii());
    }
    assert_eq!(asked(&origin), sent);
    for (target, is_disallowed) in TARGETS {
        let expected = if is_disallowed { 403 } else { 200 };
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, expected, "{}", target.escape_ascii());
    }
}

#[test]
fn controls_are_malformed_as_ever() {
    let origin = RawOrigin::start();
    let gateway = site(&origin).start();
    for byte in CONTROLS {
        for target in [[b"/a", &[*byte][..], b"b"].concat(), [b"/a?b", &[*byte][..], b"c"].concat()] {
            let mut client = gateway.client();
            client.write(&[b"GET ", &target[..], b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat());
            assert_eq!(client.read(false).expect("an answer").status, 400, "{}", target.escape_ascii());
        }
    }
    assert!(origin.heads().is_empty());
}

/// What operators read of such targets has no control byte, no byte that is no UTF-8, and no markup.
#[test]
fn they_are_shown_harmlessly() {
    let origin = RawOrigin::start();
    let gateway = site(&origin).start();
    let target = b"/private/\x80<script>\"`=cmd|'\xff";
    gateway.send(&get(target).by(GPTBOT));
    let event = gateway.journal().event_where("a refusal", |event| event["status"] == 403);
    assert_eq!(event["target"], "/private/\\x80<script>\"`=cmd|'\\xFF");
    assert_eq!(access_log(&gateway, 403, 1)[0]["target"], event["target"]);
    let state = gateway.folder().join("state");
    let state = state.to_str().expect("UTF-8");
    let report = |format: &str| ctl(["report", "--state-dir", state, "--format", format]).exits(0).stdout;
    let json =
        until("it is in the report", || Some(report("json")).filter(|json| json.contains("/private/")));
    for text in [json, report("csv"), report("table")] {
        assert!(text.chars().all(|sign| matches!(sign, '\r' | '\n') || !sign.is_control()), "{text:?}");
        // No cell of a table begins with what spreadsheets take for a formula.
        assert!(!text.lines().any(|line| line.contains(",=")), "{text}");
    }
    let page = report("html");
    assert!(page.contains("/private/") && !page.contains("/private/\\x80<script>"), "{page}");
}

#[test]
fn tools_take_the_very_same_targets() {
    let folder = Folder::new();
    let robots = folder.write("robots.txt", ROBOTS);
    let robots = robots.as_os_str();
    let (mut questions, mut logged) = (String::new(), String::new());
    for (target, is_disallowed) in TARGETS {
        let options = ["explain", "--format", "json", "--user-agent", GPTBOT, "--robots"].map(OsStr::new);
        let target_options = ["--target".as_ref(), OsStr::from_bytes(target)];
        let answer = ctl(options.iter().copied().chain([robots]).chain(target_options));
        assert_eq!(answer.exits(i32::from(is_disallowed)).json()["verdict"], verdict(is_disallowed));
        let question = json!({"user_agent": GPTBOT, "target_b64": STANDARD.encode(target)});
        writeln!(questions, "{question}").expect("a String takes everything");
        // As nginx writes it (`log_format`, `escape=default`).
        let line = "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET";
        let shown: String = target
            .iter()
            .map(|byte| match byte {
                b'"' | b'\\' | 0x7f.. => format!("\\x{byte:02X}"),
                byte => char::from(*byte).to_string(),
            })
            .collect();
        writeln!(logged, "{line} {shown} HTTP/1.1\" 200 5 \"-\" \"{GPTBOT}\"")
            .expect("a String takes everything");
    }
    let (batch, log) = (folder.write("batch.jsonl", questions), folder.write("access.log", logged));
    let batch = ctl(["explain".as_ref(), "--batch".as_ref(), batch.as_os_str(), "--robots".as_ref(), robots])
        .exits(0);
    let answers = batch.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let verdicts: Vec<Value> = answers.map(|answer| answer["verdict"].clone()).collect();
    assert_eq!(verdicts, TARGETS.map(|(_, is_disallowed)| verdict(is_disallowed)));
    let replay = [
        "replay".as_ref(),
        log.as_os_str(),
        "--robots".as_ref(),
        robots,
        "--format".as_ref(),
        "json".as_ref(),
    ];
    let report = ctl(replay).json();
    let violations = TARGETS.iter().filter(|(_, is_disallowed)| *is_disallowed).count();
    assert_eq!(report["crawlers"][0]["violations"], violations, "{report:#}");
    assert_eq!(report["crawlers"][0]["requests"], TARGETS.len(), "{report:#}");
}

const fn verdict(is_disallowed: bool) -> &'static str {
    if is_disallowed { "disallow" } else { "allow" }
}

fn http2_site(authority: &Authority, origin: &RawOrigin) -> Builder {
    let builder = site(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

fn request_fields(path: &[u8], agent: &str) -> Vec<u8> {
    let parts =
        [(":method", &b"GET"[..]), (":scheme", b"https"), (":authority", b"a.example"), (":path", path)];
    let parts = parts.into_iter().chain([("user-agent", agent.as_bytes())]);
    parts.flat_map(|(name, value)| field(name, value)).collect()
}

/// The status of the answer on `stream`; `None` where the stream or the connection ends without one.
fn status(client: &mut Http2, stream: u32) -> Option<u16> {
    let is_end = |kind: u8| matches!(kind, HEADERS | RST_STREAM);
    let frame = client.find(|frame| frame.kind == GOAWAY || frame.stream == stream && is_end(frame.kind))?;
    // RFC 7541 appendix A has 200 and 400; others are written out behind the name.
    match (frame.kind, frame.payload.first()?) {
        (HEADERS, 0x88) => Some(200),
        (HEADERS, 0x8c) => Some(400),
        (HEADERS, _) => Some(403),
        _ => None,
    }
}

#[test]
fn http2_carries_them_as_http1_does() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = http2_site(&authority, &origin).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let mut stream = 1;
    for (target, is_disallowed) in TARGETS {
        for (agent, expected) in [(CHROME, 200), (GPTBOT, if is_disallowed { 403 } else { 200 })] {
            let block = request_fields(target, agent);
            client.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).expect("sent");
            assert_eq!(status(&mut client, stream), Some(expected), "{}", target.escape_ascii());
            stream += 2;
        }
    }
    let allowed =
        |(target, is_disallowed): &(&[u8], bool)| vec![target.to_vec(); if *is_disallowed { 1 } else { 2 }];
    let expected: Vec<Vec<u8>> = TARGETS.iter().flat_map(allowed).collect();
    assert_eq!(asked(&origin), expected);
}

#[test]
fn what_http2_cannot_carry_is_400_on_its_stream_with_a_line() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = http2_site(&authority, &origin).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let mut stream = 1;
    for byte in CONTROLS {
        for target in [[b"/a", &[*byte][..], b"b"].concat(), [&[*byte][..], b"/b"].concat()] {
            let block = request_fields(&target, GPTBOT);
            client.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).expect("sent");
            assert_eq!(status(&mut client, stream), Some(400), "{}", target.escape_ascii());
            stream += 2;
        }
    }
    for line in access_log(&gateway, 400, 2 * CONTROLS.len()) {
        assert_eq!((&line["user_agent"], &line["host"]), (&GPTBOT.into(), &"a.example".into()), "{line}");
        assert_eq!(line["site"], "default", "{line}");
    }
    assert!(origin.heads().is_empty());
    assert_eq!(counted(&gateway, "h2-error"), 0);
}

/// A client that breaks HTTP/2 and connects again, without end, is not served its handshakes.
#[test]
fn who_breaks_http2_again_and_again_is_turned_away_for_a_while() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = http2_site(&authority, &origin).start();
    let address = tls_address(&gateway);
    // A field name with a capital letter is malformed (RFC 9113 §8.2), which the library resets.
    let broken = [request_fields(b"/", CHROME), field("Upper", "x")].concat();
    let is_served = || {
        let Some(mut client) = Http2::try_to(&authority, address) else { return false };
        let _ = client.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &broken));
        client.find(|frame| matches!(frame.kind, RST_STREAM | GOAWAY)).is_some()
    };
    let served = (0..400).take_while(|_| is_served()).count();
    assert!((100..399).contains(&served), "{served}");
    until("it is counted", || (counted(&gateway, "over-errors") > 0).then_some(()));
}
