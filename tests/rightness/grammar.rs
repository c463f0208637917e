//! The table, row by row, each on a connection of its own, over TCP and over TLS.

use crate::conformance::{is_told, is_told_of};
use crate::keeper::{Keeper, KeptMessage};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Daemon, until};
use crate::table::{Expected, Row, rows};
use crate::wire::{exchange, exchange_over_tls, statuses};
use std::collections::HashSet;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// The data of a body, however it is framed.
fn data(body: &[u8], chunked: bool) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    if !chunked {
        return text;
    }
    let mut data = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the origin has checked it");
        data.push_str(&rest[..size]);
        text = rest[size + 2..].to_owned();
    }
    data
}

/// A way to the gateway: bytes there, and everything that comes back until it closes.
type SendBytes<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

#[track_caller]
fn check(row: &Row, way: SendBytes<'_>, origin: &Keeper) -> bool {
    origin.take();
    let answer = way(&row.sent);
    let seen: usize = origin.so_far().iter().map(KeptMessage::bytes).sum();
    eprintln!("{:16}  {:50}  {:?}, the origin saw {seen} bytes", row.clause, row.name, statuses(&answer));
    let said = format!("{} ({}): {}", row.name, row.clause, answer.escape_ascii());
    match &row.expected {
        Expected::Refused(status) => {
            assert_eq!(statuses(&answer), [*status], "{said}");
            assert!(origin.so_far().is_empty(), "{said}: {:?}", origin.so_far());
            true
        }
        Expected::Forwarded(line, body) => {
            assert_eq!(statuses(&answer), [200], "{said}");
            let kept = origin.so_far();
            let [message @ KeptMessage::Whole { body: sent, .. }] = &kept[..] else {
                panic!("{said}: {kept:?}")
            };
            assert_eq!(message.request_line(), *line, "{said}");
            let chunked = !message.field("transfer-encoding").is_empty();
            assert_eq!(data(sent, chunked), *body, "{said}");
            false
        }
        Expected::BrokenOff => {
            assert!(matches!(statuses(&answer)[..], [] | [400]), "{said}");
            let kept =
                until("the origin sees the end", || Some(origin.so_far()).filter(|kept| !kept.is_empty()));
            assert!(matches!(kept[..], [KeptMessage::Torn(_)]), "{said}: {kept:?}");
            true
        }
    }
}

#[test]
fn every_row_is_refused_or_forwarded_with_its_meaning() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let builder = Daemon::with(ROBOTS).at(&origin.url()).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    let gateway = builder.start();
    let tls = tls_address(&gateway);
    let ways: [(&str, SendBytes<'_>); 2] = [
        ("TCP", &|bytes| exchange(gateway.address(), bytes)),
        ("TLS", &|bytes| exchange_over_tls(&authority, tls, bytes)),
    ];
    let rows = rows();
    // Heads that are too large are counted with the limits of connections.
    let is_malformed = |row: &&Row| !matches!(row.expected, Expected::Refused(414 | 431));
    let mut counted = 0;
    for (name, way) in ways {
        println!("over {name}:");
        let refused = rows.iter().filter(|row| check(row, way, &origin)).filter(is_malformed).count();
        println!("over {name}: {} rows, {refused} of them refused", rows.len());
        counted += refused;
        let totals = gateway.ctl(&["status", "--format", "json"]).exits(0).json()["totals"].clone();
        assert_eq!(totals["malformed"].as_u64(), u64::try_from(counted).ok(), "{name}: {totals}");
    }
}

#[test]
fn rows_are_distinct_and_more_than_sixty_are_violations() {
    let rows = rows();
    let names: HashSet<&str> = rows.iter().map(|row| row.name).collect();
    let sent: HashSet<&[u8]> = rows.iter().map(|row| &*row.sent).collect();
    assert_eq!((names.len(), sent.len()), (rows.len(), rows.len()));
    let violations = rows.iter().filter(|row| !matches!(row.expected, Expected::Forwarded(..))).count();
    assert!(violations >= 60, "{violations}");
    is_told_of(&format!("{violations} violations of the grammar of HTTP/1.1"));
}

/// The gateway may get a request in any pieces; the answer is the same.
#[test]
fn byte_by_byte_is_the_same() {
    use std::io::Write;
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    for row in rows().iter().filter(|row| row.sent.len() < 300) {
        origin.take();
        let mut stream = crate::wire::connect(gateway.address());
        for byte in &*row.sent {
            if stream.write_all(&[*byte]).is_err() {
                break;
            }
        }
        let answer = crate::wire::rest(&mut stream);
        let said = format!("{} ({}): {}", row.name, row.clause, answer.escape_ascii());
        if let Expected::Forwarded(line, _) = &row.expected {
            assert_eq!(statuses(&answer), [200], "{said}");
            assert_eq!(
                origin.so_far().first().map(KeptMessage::request_line).as_deref(),
                Some(*line),
                "{said}"
            );
        } else {
            // A head that is good by itself may be on its way when its body turns out to be bad.
            assert!(matches!(statuses(&answer)[..], [] | [400..=499]), "{said}");
            assert!(!origin.so_far().iter().any(|kept| matches!(kept, KeptMessage::Whole { .. })), "{said}");
        }
    }
}

/// Bytes that RFC 3986 §2 lets no target hold as they are, but clients send; and a percent sign that begins nothing.
const RAW: [(&str, &[u8]); 16] = [
    ("`\"`", b"\""),
    ("`#`", b"#"),
    ("`%` and no digits", b"%g"),
    ("`<`", b"<"),
    ("`>`", b">"),
    ("`[`", b"["),
    ("`\\`", b"\\"),
    ("`]`", b"]"),
    ("`^`", b"^"),
    ("a backtick", b"`"),
    ("`{`", b"{"),
    ("a vertical bar", b"|"),
    ("`}`", b"}"),
    ("UTF-8", "\u{e9}".as_bytes()),
    ("bytes that are no UTF-8", b"\xff\xe9"),
    ("a control character, a space", b"\x01 "),
];

/// What the standard leaves open: 400, or as they are (RFC 9112 §3.2). They never arrive as something else.
#[test]
fn conformance_of_bytes_that_no_uri_may_hold() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let became = |target: &[u8]| {
        let request = [b"GET ", target, b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"].concat();
        let answer = exchange(gateway.address(), &request);
        let seen: Vec<String> = origin.take().iter().map(KeptMessage::request_line).collect();
        match (&statuses(&answer)[..], &seen[..]) {
            ([200], [line]) => {
                assert_eq!(*line, format!("GET {} HTTP/1.1", target.escape_ascii()));
                "as it is"
            }
            ([400], []) => "400",
            other => panic!("{}: {other:?}", target.escape_ascii()),
        }
    };
    let rows = RAW.map(|(name, bytes)| {
        let (path, query) = ([b"/a", bytes, b"b"].concat(), [b"/a?", bytes, b"b"].concat());
        format!("| {name} | {} | {} |\n", became(&path), became(&query))
    });
    let heads = "| What is sent | In the path | In the query |\n|---|---|---|\n";
    is_told("bytes", &format!("{heads}{}", rows.concat()));
}
