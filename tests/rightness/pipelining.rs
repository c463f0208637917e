//! Requests in a row on one connection (RFC 9112 §9.3.2): each is judged, forwarded and answered by itself.

use crate::keeper::{Keeper, KeptMessage};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, RawOrigin, until};
use crate::wire::{connect, exchange, rest, statuses};
use std::io::Write;
use std::net::Shutdown;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn get(path: &str, agent: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\n{more}\r\n")
}

fn lines(kept: &[KeptMessage]) -> Vec<String> {
    kept.iter().map(KeptMessage::request_line).collect()
}

#[test]
fn every_one_is_answered_in_its_turn() {
    let origin = Keeper::answering(|head| {
        let line = head.split(|byte| *byte == b'\r').next().expect("a line");
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", line.len()).as_bytes(), line].concat()
    });
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let close = "Connection: close\r\n";
    let post = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 31\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n";
    let chunks =
        "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n";
    let sent = [&get("/1", CHROME, ""), post, chunks, &get("/4", CHROME, close)].concat();
    let answer = String::from_utf8(exchange(gateway.address(), sent.as_bytes())).expect("text");
    assert_eq!(statuses(answer.as_bytes()), [200; 4], "{answer}");
    let places: Vec<_> =
        ["GET /1 ", "POST /2 ", "POST /3 ", "GET /4 "].map(|line| answer.find(line)).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {answer}");
    assert_eq!(
        lines(&origin.take()),
        ["GET /1 HTTP/1.1", "POST /2 HTTP/1.1", "POST /3 HTTP/1.1", "GET /4 HTTP/1.1"]
    );
}

#[test]
fn each_is_judged_and_a_malformed_one_ends_the_row() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).start();
    let bad = "GET /bad HTTP/1.1\nHost: a\r\n\r\n";
    let sent = [
        &get("/robots.txt", GPTBOT, ""),
        &get("/private/1", GPTBOT, ""),
        &get("/open", GPTBOT, ""),
        bad,
        &get("/never", CHROME, ""),
    ]
    .concat();
    let answer = exchange(gateway.address(), sent.as_bytes());
    assert_eq!(statuses(&answer), [200, 403, 200, 400], "{}", answer.escape_ascii());
    assert_eq!(lines(&origin.take()), ["GET /open HTTP/1.1"]);
    assert_eq!(gateway.journal().event_of("/private/1")["action"], "refused");
}

#[test]
fn the_next_one_does_not_reach_the_origin_before_the_answer() {
    let origin = RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = connect(gateway.address());
    let sent = [get("/1", CHROME, ""), get("/2", CHROME, "Connection: close\r\n")].concat();
    client.write_all(sent.as_bytes()).expect("sent");
    until("the first request is at the origin", || (origin.heads().len() == 1).then_some(()));
    assert_eq!(origin.heads().len(), 1);
    origin.release();
    assert_eq!(statuses(&rest(&mut client)), [200, 200]);
    assert_eq!(origin.heads().len(), 2);
}

/// A row longer than what is read ahead stays in the kernel meanwhile.
#[test]
fn a_thousand_in_a_row_are_answered() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = connect(gateway.address());
    let mut writer = client.try_clone().expect("another handle");
    let sent = get("/page", CHROME, "").repeat(999) + &get("/last", CHROME, "Connection: close\r\n");
    let sender = std::thread::spawn(move || writer.write_all(sent.as_bytes()));
    assert_eq!(statuses(&rest(&mut client)), vec![200; 1_000]);
    sender.join().expect("no panic").expect("all sent");
    assert_eq!(origin.take().len(), 1_000);
}

#[test]
fn a_client_that_leaves_its_row_gets_what_it_asked_for() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = connect(gateway.address());
    let sent = [get("/1", CHROME, ""), get("/2", CHROME, "")].concat();
    client.write_all(sent.as_bytes()).expect("sent");
    client.shutdown(Shutdown::Write).expect("ended");
    let answered = statuses(&rest(&mut client));
    assert!(answered.first() == Some(&200), "{answered:?}");
}
