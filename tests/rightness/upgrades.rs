//! Upgrades (RFC 9110 §7.8) and WebSocket handshakes (RFC 6455 §4): judged first, then tunnelled; and no way
//! around judging.

use crate::keeper::{Keeper, KeptMessage};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, until};
use crate::wire::{connect, exchange, read_until, rest, statuses};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

fn handshake(path: &str, agent: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nConnection: keep-alive, Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// An origin that hands each connection, its request's head read, to `speak`.
fn origin(speak: fn(TcpStream, Vec<u8>)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let head = read_until(&mut stream, b"\r\n\r\n");
                speak(stream, head);
            });
        }
    });
    address
}

/// Takes the upgrade and sends back what it hears.
fn echo(mut stream: TcpStream, _: Vec<u8>) {
    stream.write_all(SWITCH.as_bytes()).expect("sent");
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

fn in_front_of(address: SocketAddr) -> Daemon {
    Daemon::with(ROBOTS).in_mode("enforce").at(&format!("http://{address}")).start()
}

#[test]
fn after_the_handshake_bytes_go_both_ways_as_they_are() {
    let gateway = in_front_of(origin(echo));
    let mut client = connect(gateway.address());
    client.write_all(handshake("/chat", CHROME).as_bytes()).expect("sent");
    let head = String::from_utf8(read_until(&mut client, b"\r\n\r\n")).expect("text");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.to_ascii_lowercase().contains("upgrade: websocket"), "{head}");
    for bytes in [&b"\x81\x05hello"[..], b"GET /private HTTP/1.1\r\n\r\n", b"\0\xff\r\n"] {
        client.write_all(bytes).expect("sent");
        let mut echoed = vec![0; bytes.len()];
        client.read_exact(&mut echoed).expect("the echo");
        assert_eq!(echoed, bytes);
    }
}

/// The origin may answer before the gateway has told it that there is no body.
#[test]
fn a_fast_origin_loses_nothing() {
    let gateway = in_front_of(origin(|mut stream, _| {
        stream.write_all(format!("{SWITCH}hello").as_bytes()).expect("sent");
        let mut byte = [0];
        let _ = stream.read(&mut byte);
    }));
    for round in 0..100 {
        let mut client = connect(gateway.address());
        client.write_all(handshake("/chat", CHROME).as_bytes()).expect("sent");
        let heard = read_until(&mut client, b"hello");
        assert!(heard.starts_with(b"HTTP/1.1 101 "), "{round}: {}", heard.escape_ascii());
    }
}

#[test]
fn bytes_sent_before_the_handshake_is_over_wait_for_it() {
    let gateway = in_front_of(origin(echo));
    let mut client = connect(gateway.address());
    client.write_all(format!("{}early", handshake("/chat", CHROME)).as_bytes()).expect("sent");
    let head = read_until(&mut client, b"\r\n\r\n");
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", head.escape_ascii());
    assert_eq!(read_until(&mut client, b"early"), b"early");
}

/// CVE-2026-2833 was this: bytes behind a handshake that the origin did not take.
#[test]
fn a_handshake_that_fails_hides_no_request() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).start();
    let hidden =
        format!("GET /private HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\nConnection: close\r\n\r\n");
    let answer = exchange(gateway.address(), format!("{}{hidden}", handshake("/chat", CHROME)).as_bytes());
    assert_eq!(statuses(&answer), [200, 403], "{}", answer.escape_ascii());
    let kept = origin.take();
    assert_eq!(kept.iter().map(KeptMessage::request_line).collect::<Vec<_>>(), ["GET /chat HTTP/1.1"]);
}

#[test]
fn a_handshake_for_a_disallowed_page_is_refused() {
    let gateway = in_front_of(origin(echo));
    let mut client = connect(gateway.address());
    client.write_all(handshake("/private/chat", GPTBOT).as_bytes()).expect("sent");
    let head = read_until(&mut client, b"\r\n\r\n");
    assert!(head.starts_with(b"HTTP/1.1 403 "), "{}", head.escape_ascii());
    assert_eq!(gateway.journal().event_of("/private/chat")["action"], "refused");
}

#[test]
fn what_is_no_websocket_handshake_is_a_plain_request() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let close = "Connection: close, Upgrade";
    let offers = [
        format!(
            "GET /1 HTTP/1.1\r\nHost: a\r\n{close}, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
        ),
        format!("GET /1 HTTP/1.1\r\nHost: a\r\n{close}\r\nUpgrade: TLS/1.0\r\n\r\n"),
        format!(
            "POST /1 HTTP/1.1\r\nHost: a\r\n{close}\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi"
        ),
        format!("GET /1 HTTP/1.1\r\nHost: a\r\n{close}\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi"),
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUpgrade: websocket\r\n\r\n".to_owned(),
        format!("GET /1 HTTP/1.1\r\nHost: a\r\n{close}\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n"),
        format!("GET /1 HTTP/1.0\r\nHost: a\r\n{close}\r\nUpgrade: websocket\r\n\r\n"),
    ];
    for offer in offers {
        let answer = exchange(gateway.address(), offer.as_bytes());
        assert_eq!(statuses(&answer), [200], "{offer}: {}", answer.escape_ascii());
        let [kept] = &origin.take()[..] else { panic!("{offer}") };
        assert!(kept.field("upgrade").is_empty() && kept.field("http2-settings").is_empty(), "{kept:?}");
    }
}

#[test]
fn an_origin_that_switches_unasked_is_no_tunnel() {
    let gateway = in_front_of(origin(echo));
    let sent = format!("GET /1 HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\nGET /2 HTTP/1.1\r\n");
    let mut client = connect(gateway.address());
    client.write_all(sent.as_bytes()).expect("sent");
    let answer = rest(&mut client);
    assert_eq!(statuses(&answer), [502], "{}", answer.escape_ascii());
}

#[test]
fn when_one_side_leaves_the_tunnel_the_other_hears_of_it() {
    let gateway = in_front_of(origin(|mut stream, _| {
        stream.write_all(format!("{SWITCH}bye").as_bytes()).expect("sent");
    }));
    let mut client = connect(gateway.address());
    client.write_all(handshake("/chat", CHROME).as_bytes()).expect("sent");
    read_until(&mut client, b"bye");
    until("the tunnel ends", || matches!(client.read(&mut [0]), Ok(0)).then_some(()));
}

/// What an origin was told behind its own end.
static HEARD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[test]
fn when_the_origin_ends_its_side_the_client_can_speak_still() {
    let gateway = in_front_of(origin(|mut stream, _| {
        stream.write_all(format!("{SWITCH}bye").as_bytes()).expect("sent");
        stream.shutdown(Shutdown::Write).expect("ended");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("heard");
        *HEARD.lock().expect("heard") = heard;
    }));
    let mut client = connect(gateway.address());
    client.write_all(handshake("/chat", CHROME).as_bytes()).expect("sent");
    read_until(&mut client, b"bye");
    until("the origin's side ends", || matches!(client.read(&mut [0]), Ok(0)).then_some(()));
    client.write_all(b"late").expect("sent");
    drop(client);
    until("the origin hears the rest", || (*HEARD.lock().expect("heard") == b"late").then_some(()));
}

/// The origin takes a little at a time of what its client floods it with, and tells the time meanwhile.
fn tell_the_time(mut stream: TcpStream, _: Vec<u8>) {
    stream.write_all(SWITCH.as_bytes()).expect("sent");
    stream.set_nodelay(true).expect("no delay");
    let mut reader = stream.try_clone().expect("another handle");
    std::thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        while matches!(reader.read(&mut bytes), Ok(1..)) {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    while stream.write_all(&now().to_be_bytes()).is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// In milliseconds.
fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_millis().try_into().expect("a short time")
}

/// Few bytes do not wait for more of an answer there, nor does the client keep the origin from being heard.
#[test]
fn small_pieces_leave_the_tunnel_at_once_while_the_client_floods_it() {
    let gateway = in_front_of(origin(tell_the_time));
    let mut client = connect(gateway.address());
    client.write_all(handshake("/chat", CHROME).as_bytes()).expect("sent");
    read_until(&mut client, b"\r\n\r\n");
    let mut flood = client.try_clone().expect("another handle");
    let flooding = std::thread::spawn(move || {
        let piece = vec![0; 64 * 1024];
        while flood.write_all(&piece).is_ok() {}
    });
    let mut late: Vec<u64> = std::iter::repeat_with(|| {
        let mut told = [0; 8];
        client.read_exact(&mut told).expect("the time");
        now() - u64::from_be_bytes(told)
    })
    .take(60)
    .collect();
    client.shutdown(Shutdown::Both).expect("the end");
    flooding.join().expect("no panic");
    late.sort_unstable();
    // Of sixty the fifth latest: the machine may be busy.
    assert!(late[55] < 1_000, "{late:?}");
}
