//! How much memory connections take that do nothing. A connection that waits for its next request holds what it needs
//! to hear of it, and nothing of the requests before.

use crate::support::agents::CHROME;
use crate::support::http2::Http2;
use crate::support::tls::{Authority, HTTP_1, LISTENER, exchange, tls_address};
use crate::support::{Builder, Client, Daemon, Nginx, get, until};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const MEGABYTE: usize = 1_000_000;

/// A gateway that keeps any number of connections of one address for long.
fn patient() -> Builder {
    Daemon::with(ROBOTS)
        .table("[limits]\nconnections_per_address = 20000\n[timeouts]\nkeepalive = \"600s\"")
        .set("threads = 1")
}

/// As many open files as the system lets this process have; the gateway, its child, asks for as many itself.
fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("within the limit");
}

/// Bytes in memory before and while `count` connections are open that were answered once.
fn fresh_and_idle<C>(gateway: &Daemon, count: usize, open: impl Fn() -> C) -> (usize, usize) {
    raise_open_files();
    let fresh = gateway.resident();
    let clients: Vec<C> = (0..count).map(|_| open()).collect();
    let idle = gateway.resident();
    let [fresh_megabytes, idle_megabytes] = [fresh, idle].map(megabytes);
    let each = idle.saturating_sub(fresh) / count;
    let open = clients.len();
    println!(
        "fresh: {fresh_megabytes:.1} MB; with {open} idle connections: {idle_megabytes:.1} MB, {each} bytes each"
    );
    (fresh, idle)
}

fn megabytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes / 1_000).expect("below 4 TB")) / 1_000.0
}

/// A bound for any build: a connection with a request under way takes three times that.
#[test]
fn an_idle_connection_keeps_nothing_of_its_requests() {
    let origin = Nginx::start();
    let gateway = patient().in_front_of(&origin).start();
    gateway.send(&get("/page").by(CHROME)).came_from_origin();
    let (fresh, idle) = fresh_and_idle(&gateway, 500, || asked(&gateway));
    assert!(idle <= fresh + 500 * 10_240, "{fresh} and {idle} bytes");
}

fn asked(gateway: &Daemon) -> Client {
    let mut client = gateway.client();
    client.send(&get("/page").by(CHROME)).came_from_origin();
    client
}

#[test]
#[ignore = "10,000 connections, and figures of a release build as it is shipped: cargo test --release --test gateway memory -- --ignored --nocapture --test-threads 1"]
fn ten_thousand_idle_connections_fit_into_250_megabytes() {
    let origin = Nginx::start();
    let gateway = patient().in_front_of(&origin).start();
    // What the start took for a moment is given back within a second or two, where there is something to do.
    until("a freshly started gateway fits into 30 MB", || {
        gateway.send(&get("/page").by(CHROME)).came_from_origin();
        (gateway.resident() <= 30 * MEGABYTE).then_some(())
    });
    let (_, idle) = fresh_and_idle(&gateway, 10_000, || asked(&gateway));
    assert!(idle <= 250 * MEGABYTE, "idle: {idle} bytes");
}

/// A gateway that speaks TLS as well, and where.
fn with_tls(origin: &Nginx) -> (Authority, Daemon, SocketAddr) {
    let authority = Authority::new();
    let builder = patient().in_front_of(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    let gateway = builder.start();
    let address = tls_address(&gateway);
    (authority, gateway, address)
}

#[test]
#[ignore = "2,000 handshakes, and figures of a release build as it is shipped: cargo test --release --test gateway memory -- --ignored --nocapture --test-threads 1"]
fn an_idle_connection_of_tls_takes_no_more_than_25_kilobytes() {
    const PAGE: &str = "GET /page HTTP/1.1\r\nHost: a.example\r\nUser-Agent: Mozilla/5.0\r\n\r\n";
    let origin = Nginx::start();
    let (authority, gateway, address) = with_tls(&origin);
    let (fresh, idle) = fresh_and_idle(&gateway, 2_000, || {
        let mut stream = authority.connect(address, "a.example", HTTP_1).expect("a handshake");
        assert!(exchange(&mut stream, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
        stream
    });
    assert!(idle <= fresh + 2_000 * 25_000, "{fresh} and {idle} bytes");
}

/// The library that speaks HTTP/2 keeps 28 KiB of buffers for a connection, whatever it does.
#[test]
#[ignore = "2,000 handshakes, and figures of a release build as it is shipped: cargo test --release --test gateway memory -- --ignored --nocapture --test-threads 1"]
fn an_idle_connection_of_http_2_takes_no_more_than_70_kilobytes() {
    let origin = Nginx::start();
    let (authority, gateway, address) = with_tls(&origin);
    let (fresh, idle) = fresh_and_idle(&gateway, 2_000, || {
        let mut http2 = Http2::to(&authority, address);
        http2.request(1, "/page").expect("sent");
        assert!(http2.is_answered(1));
        http2
    });
    assert!(idle <= fresh + 2_000 * 70_000, "{fresh} and {idle} bytes");
}
