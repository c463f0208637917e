//! Answers over HTTP/2: without a body where there must be none (RFC 9110 §6.4.1), and without what belongs to a
//! connection of HTTP/1.1 (RFC 9113 §8.2.2).

use super::hostile::site;
use super::probe::{H2Probe, ProbeOutcome};
use super::request;
use crate::http1::answer;
use crate::keeper::{Keeper, KeptMessage};
use crate::support::agents::GPTBOT;
use crate::support::http2::{DATA, END_STREAM, frame};
use crate::support::tls::{Authority, tls_address};

fn asks(method: &str, path: &str) -> Vec<u8> {
    let head = [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)];
    request(&[&head[..], &[("user-agent", GPTBOT)]].concat())
}

#[test]
fn there_is_no_body_where_there_must_be_none() {
    let (authority, origin) = (Authority::new(), Keeper::answering(answer));
    let gateway = site(&authority, &origin.url()).in_mode("enforce").start();
    for (method, path, status, bytes) in [
        ("GET", "/", 200, 8),
        ("HEAD", "/", 200, 0),
        ("GET", "/204", 204, 0),
        ("GET", "/304", 304, 0),
        ("GET", "/chunked", 200, 2),
        ("GET", "/old", 200, 2),
        ("GET", "/early", 200, 0),
        ("GET", "/hop", 200, 0),
        ("HEAD", "/robots.txt", 200, 0),
        ("POST", "/robots.txt", 405, 0),
        ("HEAD", "/private", 403, 0),
    ] {
        let mut probe = H2Probe::to(&authority, tls_address(&gateway));
        probe.send(&asks(method, path));
        assert_eq!(probe.came(1, true), ProbeOutcome::Answer(status), "{method} {path}");
        probe.finish(1);
        let sent: usize = probe.data().iter().sum();
        assert!(sent == bytes || status == 405, "{method} {path}: {sent}");
        assert!(probe.serves(), "{method} {path}");
    }
}

/// RFC 9113 §8.1: an answer may come before the request is whole, and its sender may go on.
#[test]
fn a_refusal_does_not_wait_for_the_body() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let gateway = site(&authority, &origin.url()).in_mode("enforce").start();
    let mut probe = H2Probe::to(&authority, tls_address(&gateway));
    let head = [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/private")];
    let fields = [&head[..], &[("user-agent", GPTBOT), ("content-length", "1000000")]].concat();
    probe.send(&super::headers(crate::support::http2::END_HEADERS, 1, &super::list(&fields)));
    assert_eq!(probe.came(1, true), ProbeOutcome::Answer(403));
    assert!(probe.serves());
    assert!(origin.take().iter().all(|kept| kept.request_line() == "GET /last HTTP/1.1"));
}

/// RFC 9110 §10.1.1. The origin asks nobody: it reads.
#[test]
fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut probe = H2Probe::to(&authority, tls_address(&gateway));
    probe.send(&super::post(&[("expect", "100-continue"), ("content-length", "5")]));
    assert!(probe.is_asked());
    probe.send(&frame(DATA, END_STREAM, 1, b"hello"));
    assert_eq!(probe.came(1, true), ProbeOutcome::Answer(200));
    let kept = origin.take();
    assert!(matches!(&kept[..], [KeptMessage::Whole { body, .. }] if body == b"hello"), "{kept:?}");
}
