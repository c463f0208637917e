//! How many requests over HTTP/2 may be under way: in all, by address, and what becomes of one more (RFC 9113 §10.5).

use crate::limits::{counted, is_counted};
use crate::support::http2::{DATA, END_STREAM, HEADERS, Http2, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::wait::within;
use crate::support::{Builder, Daemon, RawOrigin, until};
use std::time::Duration;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn site(authority: &Authority, origin: &RawOrigin, limits: &str) -> Builder {
    let builder =
        Daemon::with(ROBOTS).at(&origin.url()).table(LISTENER).table(&format!("[limits]\n{limits}"));
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

/// The `count` streams of a client from the one numbered `first`.
fn streams(first: u32, count: u32) -> impl Iterator<Item = u32> {
    (first..first + count).map(|number| 2 * number + 1)
}

fn ask(client: &mut Http2, mut streams: impl Iterator<Item = u32>) {
    streams.try_for_each(|stream| client.request(stream, "/page")).expect("sent");
}

#[track_caller]
fn reach(origin: &RawOrigin, count: usize) {
    until("the requests are at the origin", || (origin.heads().len() == count).then_some(()));
}

/// Whether the answer on `stream` has no body, and is not 200: such a one needs no window (RFC 9113 §6.9.1).
#[track_caller]
fn is_turned_away(client: &mut Http2, stream: u32) -> bool {
    let head = client.find(|frame| frame.kind == HEADERS && frame.stream == stream).expect("an answer");
    let is_whole = head.flags & END_STREAM != 0 || {
        let end = client.find(|frame| frame.kind == DATA && frame.stream == stream).expect("an end");
        end.flags & END_STREAM != 0 && end.payload.is_empty()
    };
    is_whole && head.payload.first() != Some(&0x88)
}

#[test]
fn one_address_has_so_many_and_robots_txt_is_answered_still() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway =
        site(&authority, &origin, "h2_requests_per_address = 5").set("access_log = \"access.log\"").start();
    let mut one = Http2::to(&authority, tls_address(&gateway));
    let mut other = Http2::to(&authority, tls_address(&gateway));
    ask(&mut one, streams(0, 3));
    ask(&mut other, streams(0, 2));
    reach(&origin, 5);
    ask(&mut one, streams(3, 1));
    assert!(is_turned_away(&mut one, 7));
    one.request(9, "/robots.txt").expect("sent");
    assert!(one.is_answered(9), "robots.txt is ours, and always answered");
    assert_eq!((counted(&gateway, "h2-over-address"), counted(&gateway, "h2-over-total")), (1, 0));
    let log = gateway.folder().join("state").join("access.log");
    until("the access log tells of it", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().any(|line| line.contains("\"/page\"") && line.contains("\"status\":503")).then_some(())
    });
    origin.release();
    for (client, count) in [(&mut one, 3), (&mut other, 2)] {
        for _ in 0..count {
            let head = client.find(|frame| frame.kind == HEADERS).expect("an answer");
            assert_eq!(head.payload.first(), Some(&0x88), "{head:?}");
        }
    }
    for stream in streams(10, 50) {
        one.request(stream, "/page").expect("sent");
        assert!(one.is_answered(stream), "{stream}");
    }
}

#[test]
fn a_trusted_proxy_has_no_limit_of_its_own() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin, "h2_requests_per_address = 1")
        .set("trusted_proxies = [\"127.0.0.0/8\"]")
        .start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    ask(&mut client, streams(0, 20));
    reach(&origin, 20);
    origin.release();
    assert_eq!(counted(&gateway, "h2-over-address"), 0);
}

#[test]
fn all_together_have_so_many_and_what_is_cancelled_gives_its_place_back() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin, "h2_requests = 4").start();
    let mut one = Http2::to(&authority, tls_address(&gateway));
    let mut other = Http2::to(&authority, tls_address(&gateway));
    ask(&mut one, streams(0, 4));
    reach(&origin, 4);
    ask(&mut other, streams(0, 1));
    assert!(is_turned_away(&mut other, 1));
    assert_eq!((counted(&gateway, "h2-over-address"), counted(&gateway, "h2-over-total")), (0, 1));
    one.write(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])).expect("sent");
    let mut next = streams(1, 40);
    until("a request that is cancelled is over", || {
        ask(&mut other, next.by_ref().take(1));
        within(Duration::from_millis(300), || (origin.heads().len() == 5).then_some(()))
    });
    drop(one);
    // One place is the other client's; three were those of a connection that is gone.
    let mut sent = 0;
    until("a connection that is gone has nothing under way", || {
        ask(&mut other, next.by_ref().take(1));
        sent += 1;
        within(Duration::from_millis(300), || (origin.heads().len() >= 8).then_some(()))
    });
    origin.release();
    println!("{sent} requests until three more were at the origin");
}

/// Whoever takes nothing has the library hold whole answers, when their requests are long over for all others.
#[test]
fn answers_that_are_not_taken_are_under_way() {
    const BODY: usize = 300 * 1024;
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n{}", "a".repeat(BODY));
    let (authority, origin) = (Authority::new(), RawOrigin::answering(answer.leak()));
    let gateway = site(&authority, &origin, "h2_requests_per_address = 20").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    // Windows as large as they can be: 4 is SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2).
    let windows = [
        frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]),
        frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0, 0, 0]),
    ];
    client.write(&windows.concat()).expect("sent");
    // One after another, so that no more than a few would be under way if their answers were taken.
    let mut asked = 0;
    for stream in streams(0, 90) {
        client.request(stream, "/page").expect("sent");
        asked += 1;
        let arrived = || (origin.heads().len() == asked).then_some(());
        if within(Duration::from_secs(1), arrived).is_none() {
            break;
        }
    }
    is_counted(&gateway, "h2-over-address", 1);
    let mut ended = 0;
    while ended < asked {
        let frame =
            client.find(|frame| matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0);
        assert!(frame.is_some(), "{ended} of {asked} answers");
        ended += 1;
    }
    println!("{asked} requests until one was turned away");
    let mut next = streams(90, 100);
    until("what was held is under way no more", || {
        let stream = next.next().expect("streams enough");
        client.request(stream, "/page").expect("sent");
        client.is_answered(stream).then_some(())
    });
}
