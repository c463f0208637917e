//! SIGTERM: at once when idle, after the request in flight otherwise, always with exit code 0.

use crate::support::agents::CHROME;
use crate::support::{Client, Daemon, Nginx, RawOrigin, get, until};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

#[test]
fn an_idle_gateway_stops_at_once() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    gateway.send(&get("/").by(CHROME)).came_from_origin();
    let start = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(!gateway.folder().join("control.sock").exists(), "the control socket is left behind");
}

#[test]
fn idle_connections_do_not_keep_it_alive() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut kept: Vec<_> = (0..5).map(|_| gateway.client()).collect();
    kept[0].send(&get("/").by(CHROME)).came_from_origin();
    let start = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(kept[0].is_closed());
}

#[test]
fn sigint_stops_it_too() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    gateway.signal("INT");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
}

#[test]
fn a_request_in_flight_is_finished_first() {
    let origin = RawOrigin::holding();
    let mut gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let address = gateway.address();
    let asking = std::thread::spawn(move || Client::to(address).send(&get("/slow").by(CHROME)));
    until("the request is at the origin", || (origin.heads().len() == 1).then_some(()));
    gateway.signal("TERM");
    until("new connections are refused", || Client::try_to(address).err());
    gateway.is_running();
    origin.release();
    assert_eq!(asking.join().expect("no panic").status, 200);
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
}

#[test]
fn a_head_that_has_begun_is_in_flight() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let address = gateway.address();
    let mut client = gateway.client();
    client.send(&get("/").by(CHROME)).came_from_origin();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n");
    gateway.signal("TERM");
    until("new connections are refused", || Client::try_to(address).err());
    client.write(format!("User-Agent: {CHROME}\r\n\r\n").as_bytes());
    assert_eq!(client.read(false).expect("an answer").status, 200);
    assert!(client.is_closed());
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
}

#[test]
fn the_grace_period_is_the_limit() {
    let origin = RawOrigin::holding();
    let mut gateway = Daemon::with(ROBOTS).at(&origin.url()).set("grace = \"1s\"").start();
    let mut client = gateway.client();
    client.write(b"GET /never HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\n\r\n");
    until("the request is at the origin", || (origin.heads().len() == 1).then_some(()));
    let start = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
}

#[test]
fn what_was_recorded_before_the_end_is_in_the_journal() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let mut client = gateway.client();
    for number in 0..100 {
        client.send(&get(format!("/private/{number}")).by(crate::support::agents::GPTBOT)).came_from_origin();
    }
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
    assert_eq!(gateway.journal().events().len(), 100);
}
