//! Floods of HTTP/2 (RFC 9113 §10.5): the connection of a client that floods is ended, memory stays bounded, and a
//! good client is served meanwhile. Those of resets, `PING`, `SETTINGS` and `CONTINUATION` are in [`super::http2`].

use crate::limits::{counted, is_counted};
use crate::support::http2::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Http2, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    fields, frame,
};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Builder, Daemon, Nginx, RawOrigin, get, until};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// How long a flood goes on at most.
const LONG: Duration = Duration::from_secs(20);

/// What a flood may cost in memory.
const MOST_GROWTH: usize = 16 << 20;

fn site(authority: &Authority, origin: &str) -> Builder {
    let builder = Daemon::with(ROBOTS).at(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

fn stream(number: u32) -> u32 {
    2 * number + 1
}

fn open(number: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &fields("GET", "/flood"))
}

/// Writes what `piece` makes, over and over, until the gateway has had enough; a good client goes on meanwhile.
/// How many pieces there were.
#[track_caller]
fn floods(name: &str, gateway: &Daemon, authority: &Authority, mut piece: impl FnMut(u32) -> Vec<u8>) -> u32 {
    let address = tls_address(gateway);
    let before = gateway.resident();
    let is_over = AtomicBool::new(false);
    let (sent, served, slowest) = std::thread::scope(|scope| {
        let good = scope.spawn(|| {
            let (mut served, mut slowest) = (0, Duration::ZERO);
            while !is_over.load(Ordering::Relaxed) || served == 0 {
                let start = Instant::now();
                gateway.send(&get("/page")).came_from_origin();
                slowest = slowest.max(start.elapsed());
                served += 1;
            }
            (served, slowest)
        });
        let mut client = Http2::to(authority, address);
        let (mut sent, start) = (0, Instant::now());
        while client.write(&piece(sent)).is_ok() && start.elapsed() < LONG {
            sent += 1;
        }
        client.closes();
        is_over.store(true, Ordering::Relaxed);
        let (served, slowest) = good.join().expect("the good client is served");
        (sent, served, slowest)
    });
    let grown = gateway.resident().saturating_sub(before);
    println!(
        "{name}: {sent} pieces, then closed; {} KiB more memory; meanwhile {served} good requests, the slowest in {slowest:?}",
        grown >> 10
    );
    assert!(grown < MOST_GROWTH, "{name}: {grown}");
    sent
}

#[test]
fn frames_that_carry_nothing_cost_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let post = frame(HEADERS, END_HEADERS, 1, &fields("POST", "/flood"));
    let cases = [
        ("WINDOW_UPDATE", Vec::new(), frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("frames of no known type", Vec::new(), frame(0xfa, 0, 0, &[0; 64])),
        ("PRIORITY", Vec::new(), frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 15])),
        ("empty DATA", post.clone(), frame(DATA, 0, 1, &[])),
        // A good deal of padding, and no data (RFC 9113 §6.1).
        ("DATA of padding", post, frame(DATA, 8, 1, &[200; 201])),
    ];
    for (number, (name, first, piece)) in (1..).zip(cases) {
        let pieces = piece.repeat(100);
        floods(name, &gateway, &authority, |sent| if sent == 0 { first.clone() } else { pieces.clone() });
        is_counted(&gateway, "h2-flood", number);
    }
}

/// CVE-2025-8671: the client breaks the protocol on each of its streams, and it is the gateway that resets them.
#[test]
fn streams_that_the_gateway_has_to_reset_cost_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let limits = "[limits]\nrequests_per_connection = 100000\nh2_resets = 100";
    let gateway = site(&authority, &origin.url()).table(limits).start();
    // A window beyond all windows (RFC 9113 §6.9.1).
    let sent = floods("streams broken by WINDOW_UPDATE", &gateway, &authority, |number| {
        [open(number), frame(WINDOW_UPDATE, 0, stream(number), &[0x7f, 0xff, 0xff, 0xff])].concat()
    });
    is_counted(&gateway, "h2-flood", 1);
    let reached = origin.received().iter().filter(|line| line.ends_with("/flood")).count();
    println!("{sent} requests were sent, {reached} reached the origin");
    assert!(sent >= 100 && reached <= 220, "{sent}, {reached}");
}

#[test]
fn malformed_requests_without_end_cost_the_connection() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let paths: [&str; 3] = ["/flood\0", "", "http://a.example/flood"];
    for path in paths {
        floods(&format!("requests for {path:?}"), &gateway, &authority, |number| {
            frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &fields("GET", path))
        });
    }
    assert!(!origin.received().iter().any(|line| line.contains("/flood")));
}

#[test]
fn a_connection_carries_so_many_requests_and_says_so() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).table("[limits]\nrequests_per_connection = 20").start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    for number in 0..20 {
        client.request(stream(number), "/page").expect("sent");
    }
    let (mut answered, mut goodbye) = (0, false);
    while let Some(next) = client.find(|next| matches!(next.kind, HEADERS | GOAWAY)) {
        if next.kind == GOAWAY {
            assert_eq!(next.payload.get(4..8), Some([0; 4].as_slice()), "NO_ERROR");
            goodbye = true;
        } else {
            assert_eq!(next.payload.first(), Some(&0x88), "{next:?}");
            answered += 1;
        }
    }
    assert_eq!((answered, goodbye), (20, true));
    assert_eq!(counted(&gateway, "h2-flood"), 0);
}

/// It hears the goodbye and does not answer the `PING` behind it, so that the library waits for it for ever.
#[test]
fn who_does_not_heed_the_goodbye_is_cut_off() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    client.be_patient_for(LONG);
    let mut answered = 0;
    'all: for number in 0..10_000 {
        if client.write(&open(number)).is_err() {
            break;
        }
        loop {
            match client.next() {
                Some(next) if next.kind == HEADERS => break,
                Some(_) => {}
                None => break 'all,
            }
        }
        answered += 1;
    }
    println!("{answered} requests were answered, one after the other");
    // `requests_per_connection`, and twice `h2_streams`.
    assert!((1_000..=1_201).contains(&answered), "{answered}");
    is_counted(&gateway, "h2-flood", 1);
}

#[test]
fn ten_thousand_streams_at_once_cost_the_connection() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = site(&authority, &origin.url()).start();
    let sent = floods("ten thousand requests at once", &gateway, &authority, |number| {
        (0..100).flat_map(|more| open(100 * number + more)).collect()
    });
    let flooded = origin.heads().iter().filter(|head| head.starts_with(b"GET /flood ")).count();
    println!("{sent} times a hundred requests were sent, {flooded} reached the origin");
    is_counted(&gateway, "h2-flood", 1);
    assert!(flooded <= 1_200, "{flooded}");
}

/// An origin whose answers are larger than anything that may be held of them.
fn generous() -> RawOrigin {
    const LENGTH: usize = 4 << 20;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
    RawOrigin::answering(Box::leak((head + &"x".repeat(LENGTH)).into_boxed_str()))
}

/// What a stream holds at most whose client takes nothing, as the documentation says.
const MOST_HELD: usize = 256 << 10;

/// The memory that each of as many streams holds as one address may have, whose clients say hello with `hello` and take
/// nothing; and that this memory is given back.
#[track_caller]
fn stalled(name: &str, hello: &[u8]) {
    let (authority, origin) = (Authority::new(), generous());
    let gateway = site(&authority, &origin.url()).table("[timeouts]\nclient_write = \"4s\"").start();
    gateway.send(&get("/page"));
    let before = gateway.resident();
    let grown = || gateway.resident().saturating_sub(before);
    let clients: Vec<Http2> = (0..5)
        .map(|_| {
            let mut client = Http2::to(&authority, tls_address(&gateway));
            client.write(hello).expect("sent");
            (0..100).try_for_each(|number| client.request(stream(number), "/large")).expect("sent");
            client
        })
        .collect();
    until("the origin has all requests", || (origin.heads().len() == 501).then_some(()));
    let (mut peak, start) = (0, Instant::now());
    // Each answer has ended, or begun to wait, long before.
    while start.elapsed() < Duration::from_secs(3) {
        peak = peak.max(grown());
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(clients);
    let each = peak / 500;
    println!("{name}: each of 500 stalled streams holds {} KiB", each >> 10);
    assert!(each <= MOST_HELD, "{each}");
    let start = Instant::now();
    until("the memory is given back", || (grown() <= 32 << 20).then_some(()));
    println!("{name}: {:?} later {} KiB are left", start.elapsed(), grown() >> 10);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn streams_without_a_window_hold_what_is_documented() {
    // SETTINGS_INITIAL_WINDOW_SIZE is 4 (RFC 9113 §6.5.2).
    stalled("no window", &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
}

#[test]
fn streams_of_a_client_that_reads_nothing_hold_what_is_documented() {
    let windows = frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    stalled("any window", &[windows, frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0, 0])].concat());
}

/// Nothing that it asks for can be sent to it: no window was given (RFC 9113 §6.9.2).
#[test]
fn who_reads_nothing_holds_little_and_not_for_long() {
    let origin = generous();
    let authority = Authority::new();
    let gateway = site(&authority, &origin.url()).table("[timeouts]\nclient_write = \"2s\"").start();
    let before = gateway.resident();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    // SETTINGS_INITIAL_WINDOW_SIZE is 4 (RFC 9113 §6.5.2).
    client.write(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).expect("sent");
    for number in 0..100 {
        client.request(stream(number), "/large").expect("sent");
    }
    until("the origin has all requests", || (origin.heads().len() == 100).then_some(()));
    let mut peak = 0;
    let mut ended = 0;
    let start = Instant::now();
    while ended < 100 {
        let next = client.find(|next| next.kind == RST_STREAM).expect("a stream is ended");
        peak = peak.max(gateway.resident());
        assert_ne!(next.stream, 0);
        ended += 1;
    }
    let (took, grown) = (start.elapsed(), peak.saturating_sub(before));
    println!("a hundred streams without a window ended in {took:?}; {} KiB more memory", grown >> 10);
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(grown < 64 << 20, "{grown}");
}
