//! The table of requests that break the rules of HTTP/2, or come near it; row by row, on a connection of its own.

use super::probe::{H2Probe, ProbeOutcome};
use super::{bodies, fields, heads};
use crate::conformance::is_told_of;
use crate::keeper::{Keeper, KeptMessage};
use crate::support::http2::PREFACE;
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Builder, Daemon, until};
use crate::wire::{exchange, statuses};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// What must follow.
#[derive(Clone, Debug)]
pub(super) enum HostileOutcome {
    /// The stream is reset or answered with 400, or the connection is ended (RFC 9113 §8.1.1, §5.4); the origin
    /// sees nothing.
    Malformed,
    /// Answered with this status; the origin sees nothing.
    Refused(u16),
    /// The origin sees this request line, these fields beside those of the gateway's own, and this body.
    Forwarded(&'static str, &'static [&'static str], &'static str),
    /// The fault comes with these frames, when the origin has the head: as malformed, and what the origin sees is
    /// no whole message.
    BrokenOff(Vec<u8>),
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct HostileRow {
    pub(super) name: &'static str,
    /// The section that is broken, or that says why the request is good.
    pub(super) clause: &'static str,
    /// Frames behind the hello.
    pub(super) sent: Vec<u8>,
    pub(super) expected: HostileOutcome,
}

pub(super) fn row(
    name: &'static str,
    clause: &'static str,
    sent: Vec<u8>,
    expected: HostileOutcome,
) -> HostileRow {
    HostileRow { name, clause, sent, expected }
}

/// A gateway with TLS in front of `origin`.
pub(crate) fn site(authority: &Authority, origin: &str) -> Builder {
    let builder = Daemon::with(ROBOTS).at(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

fn rows() -> Vec<HostileRow> {
    [
        heads::pseudo(),
        heads::connect(),
        heads::authorities(),
        heads::targets(),
        fields::rows(),
        bodies::rows(),
    ]
    .concat()
}

/// Fields that the gateway writes on every request.
const OWN: [&str; 5] = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-request-id", "via"];

/// The fields of a head without those, each as `name: value`, sorted.
fn told(message: &KeptMessage) -> Vec<String> {
    let KeptMessage::Whole { head, .. } = message else { return Vec::new() };
    let text = head.escape_ascii().to_string();
    let lines = text.trim_end_matches("\\r\\n").split("\\r\\n").skip(1);
    let mut fields: Vec<String> = lines
        .map(|line| line.split_once(": ").unwrap_or((line, "")))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    fields.sort();
    fields
}

#[track_caller]
fn check(row: &HostileRow, authority: &Authority, address: SocketAddr, origin: &Keeper) -> ProbeOutcome {
    origin.take();
    let mut probe = H2Probe::to(authority, address);
    let heads = origin.heads();
    probe.send(&row.sent);
    if let HostileOutcome::BrokenOff(late) = &row.expected {
        until("the head is at the origin", || (origin.heads() > heads).then_some(()));
        probe.send(late);
    }
    let came = probe.came(1, true);
    let said = format!("{} ({}): {came}", row.name, row.clause);
    let is_refused = matches!(
        came,
        ProbeOutcome::Reset(_) | ProbeOutcome::Answer(400) | ProbeOutcome::Goodbye(_) | ProbeOutcome::Closed
    );
    match &row.expected {
        HostileOutcome::Malformed => {
            assert!(is_refused, "{said}");
            assert!(origin.so_far().is_empty(), "{said}: {:?}", origin.so_far());
        }
        HostileOutcome::Refused(status) => {
            assert_eq!(came, ProbeOutcome::Answer(*status), "{said}");
            assert!(origin.so_far().is_empty(), "{said}: {:?}", origin.so_far());
        }
        HostileOutcome::Forwarded(line, fields, body) => {
            assert_eq!(came, ProbeOutcome::Answer(200), "{said}");
            let kept = origin.so_far();
            let [message @ KeptMessage::Whole { body: sent, .. }] = &kept[..] else {
                panic!("{said}: {kept:?}")
            };
            assert_eq!(message.request_line(), *line, "{said}");
            assert_eq!(told(message), *fields, "{said}");
            assert_eq!(sent.escape_ascii().to_string(), *body, "{said}");
        }
        HostileOutcome::BrokenOff(_) => {
            assert!(is_refused, "{said}");
            let seen = |kept: &Vec<KeptMessage>| !kept.is_empty();
            let kept = until("the origin sees the end", || Some(origin.so_far()).filter(seen));
            assert!(matches!(kept[..], [KeptMessage::Torn(_)]), "{said}: {kept:?}");
        }
    }
    // Whatever it was, it was the fault of one stream at most, or the connection is gone.
    if !matches!(came, ProbeOutcome::Goodbye(_) | ProbeOutcome::Closed) {
        origin.take();
        assert!(probe.serves(), "{said}");
        let kept = origin.so_far();
        assert!(
            matches!(&kept[..], [last @ KeptMessage::Whole { .. }] if last.request_line() == "GET /last HTTP/1.1"),
            "{said}: {kept:?}"
        );
    }
    came
}

#[test]
fn every_row_is_refused_or_forwarded_with_its_meaning() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let gateway = site(&authority, &origin.url()).start();
    let rows = rows();
    let mut wrong = Vec::new();
    for row in &rows {
        // Every row is run, so that a failure shows all that is wrong.
        let looked = AssertUnwindSafe(|| check(row, &authority, tls_address(&gateway), &origin));
        let came = catch_unwind(looked).map_or_else(|_| "WRONG".to_owned(), |came| came.to_string());
        if came == "WRONG" {
            wrong.push(row.name);
        }
        println!("{:16}  {:60}  {came}", row.clause, row.name);
    }
    assert!(wrong.is_empty(), "{} rows are wrong: {wrong:#?}", wrong.len());
    let violations = rows.iter().filter(|row| !matches!(row.expected, HostileOutcome::Forwarded(..))).count();
    let names: HashSet<&str> = rows.iter().map(|row| row.name).collect();
    let late = |row: &HostileRow| match &row.expected {
        HostileOutcome::BrokenOff(late) => late.clone(),
        _ => Vec::new(),
    };
    let sent: HashSet<_> = rows.iter().map(|row| (&row.sent, late(row))).collect();
    assert_eq!((names.len(), sent.len()), (rows.len(), rows.len()));
    assert!(violations >= 60, "{violations}");
    is_told_of(&format!("{violations} violations of the rules of HTTP/2"));
}

/// Without TLS there is no HTTP/2: neither for who knows beforehand (RFC 9113 §3.3), nor by an upgrade (RFC 7540
/// §3.2, which RFC 9113 dropped).
#[test]
fn without_tls_http_2_is_not_spoken() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let answer = exchange(gateway.address(), PREFACE);
    assert_eq!(statuses(&answer), [400], "{}", answer.escape_ascii());
    let upgrade = "GET /p HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade, HTTP2-Settings\r\n\
                   Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    let answer = exchange(gateway.address(), upgrade.as_bytes());
    assert_eq!(statuses(&answer), [200], "{}", answer.escape_ascii());
    let kept = origin.take();
    assert!(matches!(&kept[..], [only] if told(only) == ["host: a"]), "{kept:?}");
}
