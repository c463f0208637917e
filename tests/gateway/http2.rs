//! HTTP/2 towards clients: what a good one may do, and what becomes of the others (RFC 9113 §10.5).

use crate::limits::{counted, is_counted};
use crate::support::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Http2, PING, RST_STREAM, SETTINGS, field,
    fields, frame,
};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Builder, Client, Daemon, Nginx, RawOrigin, get, until};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn site(authority: &Authority, origin: &str) -> Builder {
    let builder = Daemon::with(ROBOTS).at(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

fn stream(number: u32) -> u32 {
    2 * number + 1
}

#[test]
fn many_requests_share_a_connection_and_robots_txt_is_served_there() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    for number in 0..50 {
        client.request(stream(number), if number % 2 == 0 { "/page" } else { "/robots.txt" }).expect("sent");
    }
    let mut answered = 0;
    while answered < 50 {
        let head = client.find(|frame| frame.kind == HEADERS).expect("an answer");
        assert_eq!(head.payload.first(), Some(&0x88), "{head:?}");
        answered += 1;
    }
    for number in 50..200 {
        client.request(stream(number), "/page").expect("sent");
        assert!(client.is_answered(stream(number)), "{number}");
    }
}

#[test]
fn a_violation_over_http_2_is_refused_and_recorded() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).in_mode("enforce").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let head = [fields("GET", "/private"), field("user-agent", crate::support::agents::GPTBOT)].concat();
    client.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).expect("sent");
    let answer = client.find(|frame| frame.kind == HEADERS && frame.stream == 1).expect("an answer");
    assert_ne!(answer.payload.first(), Some(&0x88));
    let event = gateway.journal().event_of("/private");
    assert_eq!((&event["status"], &event["scheme"]), (&403.into(), &"https".into()));
}

#[test]
fn more_streams_than_announced_are_refused_one_by_one() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin.url()).table("[limits]\nh2_streams = 10").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let settings = client.find(|frame| frame.kind == SETTINGS && frame.flags == 0).expect("settings");
    // SETTINGS_MAX_CONCURRENT_STREAMS is 3 (RFC 9113 §6.5.2).
    let announced = settings.payload.chunks(6).find(|entry| entry[..2] == [0, 3]).map(<[u8]>::to_vec);
    assert_eq!(announced, Some(vec![0, 3, 0, 0, 0, 10]));
    for number in 0..15 {
        client.request(stream(number), "/page").expect("sent");
    }
    for _ in 0..5 {
        let reset = client.find(|frame| frame.kind == RST_STREAM).expect("a reset");
        // REFUSED_STREAM is 7 (RFC 9113 §7).
        assert_eq!(reset.payload, [0, 0, 0, 7], "{reset:?}");
    }
    origin.release();
    let answered = (0..10).filter(|_| client.find(|frame| frame.kind == HEADERS).is_some()).count();
    assert_eq!(answered, 10);
}

#[test]
fn requests_that_are_opened_and_cancelled_without_end_cost_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).table("[limits]\nh2_resets = 50").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let mut sent = 0;
    for number in 0..20_000 {
        let open = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &fields("GET", "/flood"));
        let cancel = frame(RST_STREAM, 0, stream(number), &[0, 0, 0, 8]);
        if client.write(&[open, cancel].concat()).is_err() {
            break;
        }
        sent = number;
    }
    client.closes();
    is_counted(&gateway, "h2-flood", 1);
    let reached = origin.received().iter().filter(|line| line.ends_with("/flood")).count();
    println!("{sent} requests were sent, {reached} reached the origin");
    assert!(reached <= 120, "{reached}");
    gateway.send(&get("/page")).came_from_origin();
}

#[test]
fn a_page_left_early_is_no_flood() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    for number in 0..80 {
        client.request(stream(number), "/picture").expect("sent");
    }
    for number in 0..80 {
        client.write(&frame(RST_STREAM, 0, stream(number), &[0, 0, 0, 8])).expect("sent");
    }
    origin.release();
    client.request(stream(80), "/page").expect("sent");
    assert!(client.is_answered(stream(80)));
    assert_eq!(counted(&gateway, "h2-flood"), 0);
}

#[test]
fn floods_of_pings_and_settings_cost_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    for (count, bytes) in [(1, frame(PING, 0, 0, &[0; 8])), (2, frame(SETTINGS, 0, 0, &[]))] {
        let mut client = Http2::to(&authority, tls_address(&gateway));
        let flood = bytes.repeat(100);
        let start = Instant::now();
        while client.write(&flood).is_ok() && start.elapsed() < Duration::from_secs(20) {}
        client.closes();
        is_counted(&gateway, "h2-flood", count);
    }
    gateway.send(&get("/page")).came_from_origin();
}

#[test]
fn a_head_without_end_is_not_read_to_its_end() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let before = gateway.resident();
    for _ in 0..5 {
        let mut client = Http2::to(&authority, tls_address(&gateway));
        client.write(&frame(HEADERS, END_STREAM, 1, &fields("GET", "/page"))).expect("sent");
        let piece = frame(CONTINUATION, 0, 1, &field("x-large", "a".repeat(16_000)));
        let start = Instant::now();
        while client.write(&piece).is_ok() && start.elapsed() < Duration::from_secs(20) {}
        client.closes();
    }
    let grown = gateway.resident().saturating_sub(before);
    println!("five CONTINUATION floods grew the gateway by {} KiB", grown >> 10);
    assert!(grown < 16 << 20, "{grown}");
    assert!(!origin.received().iter().any(|line| line.ends_with("/page")));
}

#[test]
fn a_head_that_is_too_large_costs_its_stream_and_no_more() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).table("[limits]\nheader_size = \"8KiB\"").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let head = [fields("GET", "/large"), field("x-large", "a".repeat(12_000))].concat();
    client.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).expect("sent");
    let answer = client.find(|frame| frame.stream == 1).expect("an answer");
    assert!(answer.kind == RST_STREAM || answer.payload.first() != Some(&0x88), "{answer:?}");
    client.request(3, "/page").expect("sent");
    assert!(client.is_answered(3));
    assert!(!origin.received().iter().any(|line| line.ends_with("/large")));
}

#[test]
fn an_idle_connection_and_one_without_a_request_have_an_end() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url())
        .table("[timeouts]\nkeepalive = \"1s\"\nclient_header = \"1s\"")
        .start();
    let address = tls_address(&gateway);
    let mut idle = Http2::to(&authority, address);
    idle.request(1, "/page").expect("sent");
    assert!(idle.is_answered(1));
    assert!(idle.closes() < Duration::from_secs(5));
    assert!(Http2::to(&authority, address).closes() < Duration::from_secs(5));
    assert!(Http2::silent(&authority, address).closes() < Duration::from_secs(5));
    is_counted(&gateway, "silent", 1);
}

/// Not at once: their clients may still be taking the rest of an answer.
#[test]
fn idle_connections_make_room_for_others_after_some_seconds() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).table("[limits]\nconnections = 4").start();
    let begun = Instant::now();
    let _idle: Vec<Http2> = (0..4)
        .map(|_| {
            let mut client = Http2::to(&authority, tls_address(&gateway));
            client.request(1, "/page").expect("sent");
            assert!(client.is_answered(1));
            client
        })
        .collect();
    let newcomer = || {
        let mut client = Client::try_to(gateway.address()).ok()?;
        client.try_send(&get("/page")).ok().map(|_| client)
    };
    let _newcomer = until("a newcomer is served", newcomer);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(counted(&gateway, "made-room") > 0);
}

#[test]
fn a_body_that_never_comes_has_an_end() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin.url())
        .table("[timeouts]\nclient_read = \"1s\"\norigin_write = \"1s\"\nclient_header = \"1s\"")
        .start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    client.write(&frame(HEADERS, END_HEADERS, 1, &fields("POST", "/form"))).expect("sent");
    client.write(&frame(DATA, 0, 1, &[b'a'; 10])).expect("sent");
    let start = Instant::now();
    let head = client.find(|frame| frame.kind == HEADERS && frame.stream == 1).expect("an answer");
    assert!(start.elapsed() < Duration::from_secs(10));
    // `408`, as text or as Huffman's code has it (RFC 7541 §5.2).
    let says = |status: &[u8]| head.payload.windows(status.len()).any(|bytes| bytes == status);
    assert!(says(b"408") || says(&[0x68, 0x0f, 0x7f]), "{head:?}");
    is_counted(&gateway, "body-too-slow", 1);
    // The connection has others, and goes on.
    origin.release();
    client.request(3, "/page").expect("sent");
    assert!(client.is_answered(3));
}

#[test]
fn a_stop_says_goodbye_and_lets_what_is_open_finish() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let mut gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    client.request(1, "/page").expect("sent");
    until("the request is at the origin", || (!origin.heads().is_empty()).then_some(()));
    gateway.signal("TERM");
    client.find(|frame| frame.kind == GOAWAY).expect("a goodbye");
    origin.release();
    assert!(client.is_answered(1));
    assert!(client.find(|_| false).is_none(), "the connection is closed");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
}

#[test]
fn what_is_no_http_2_costs_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let oversized = frame(DATA, 0, 1, &vec![0; 20_000]);
    let cases: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        &oversized,
        &frame(CONTINUATION, 0, 1, &[]),
        &frame(HEADERS, END_HEADERS, 2, &fields("GET", "/even")),
    ];
    for (number, bytes) in cases.into_iter().enumerate() {
        let mut client = if number == 0 {
            Http2::silent(&authority, tls_address(&gateway))
        } else {
            Http2::to(&authority, tls_address(&gateway))
        };
        client.write(bytes).expect("sent");
        assert!(client.closes() < Duration::from_secs(5), "case {number}");
    }
    // Who does not even begin as HTTP/2 is told nothing.
    is_counted(&gateway, "h2-error", 3);
    gateway.send(&get("/page")).came_from_origin();
}
