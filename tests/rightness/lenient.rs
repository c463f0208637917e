//! What origins do that no standard asks for, or that is theirs to do: their users are served all the same.

use crate::keeper::Keeper;
use crate::support::agents::CHROME;
use crate::support::{Daemon, get, request, until};
use crate::wire::{connect, exchange, read_until, statuses};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// An origin that hands each connection with its number to `speak`.
fn origin(speak: fn(TcpStream, usize)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            stream.set_read_timeout(Some(crate::wire::PATIENCE)).expect("a limit");
            thread::spawn(move || speak(stream, number));
        }
    });
    address
}

fn in_front_of(address: SocketAddr) -> Daemon {
    Daemon::with(ROBOTS).at(&format!("http://{address}")).set("threads = 1").start()
}

/// The answer to a GET of Chrome's, to the end of the connection.
fn answer(gateway: &Daemon) -> String {
    let sent = format!("GET /page HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\nConnection: close\r\n\r\n");
    String::from_utf8_lossy(&exchange(gateway.address(), sent.as_bytes())).into_owned()
}

/// The end of these messages is certain, and nginx passes them on.
#[test]
fn what_says_where_it_ends_is_passed_on() {
    let many = (0..400).map(|number| format!("X-{number}: y\r\n")).collect::<Vec<_>>().concat();
    for (name, head, body, heard) in [
        (
            "a control byte",
            "HTTP/1.1 200 OK\r\nX: a\x01b\x7f\r\nContent-Length: 2\r\n".to_owned(),
            "ok",
            "X: a\x01b\x7f\r\n",
        ),
        (
            "a length twice",
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n".to_owned(),
            "ok",
            "Content-Length: 2\r\n",
        ),
        ("HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n".to_owned(), "ok", "HTTP/1.1 200 OK\r\n"),
        ("no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n".to_owned(), "ok", "HTTP/1.1 200 "),
        ("400 fields", format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 2\r\n"), "ok", "X-399: y\r\n"),
        (
            "odd names",
            "HTTP/1.1 200 OK\r\nX(a)[b]@: y\r\nContent-Length: 2\r\n".to_owned(),
            "ok",
            "X(a)[b]@: y\r\n",
        ),
        (
            "identity",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n".to_owned(),
            "ok",
            "Content-Length: 2\r\n",
        ),
        (
            "padded chunks",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            "2  \r\nok\r\n0 \t\r\n\r\n",
            "chunked\r\n",
        ),
    ] {
        let gateway = in_front_of(led_by(format!("{head}\r\n{body}")));
        let answer = answer(&gateway);
        assert_eq!(statuses(answer.as_bytes()), [200], "{name}: {answer:?}");
        assert!(answer.contains(heard) && answer.contains("ok"), "{name}: {answer:?}");
        assert!(
            !answer.contains("chunked") || answer.ends_with("\r\n2\r\nok\r\n0\r\n\r\n"),
            "{name}: {answer:?}"
        );
    }
}

/// An origin that answers each request with `text` and goes on.
fn led_by(text: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let text = text.clone();
            thread::spawn(move || {
                while !read_until(&mut stream, b"\r\n\r\n").is_empty() {
                    if stream.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// An origin that does not read such a body takes it for the next request on the connection (RFC 9110 §9.3.1).
#[test]
fn a_body_that_an_origin_may_not_read_is_the_last_thing_on_its_connection() {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);
    for method in ["GET", "HEAD", "OPTIONS", "DELETE", "TRACE"] {
        CONNECTIONS.store(0, Ordering::SeqCst);
        // It never looks at a body.
        let gateway = in_front_of(origin(|mut stream, _| {
            CONNECTIONS.fetch_add(1, Ordering::SeqCst);
            let mut unread = Vec::new();
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                unread.extend_from_slice(&bytes[..count]);
                while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
                    let head: Vec<u8> = unread.drain(..end + 4).collect();
                    let target = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default().to_vec();
                    let length = if head.starts_with(b"HEAD") { 0 } else { target.len() };
                    let body = &target[..length];
                    if target == b"/smuggled" {
                        thread::sleep(Duration::from_millis(100));
                    }
                    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", target.len());
                    let _ = stream.write_all(&[text.as_bytes(), body].concat());
                }
            }
        }));
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
        let sent = format!(
            "{method} /first HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{smuggled}",
            smuggled.len()
        );
        let first = exchange(gateway.address(), sent.as_bytes());
        assert_eq!(statuses(&first)[..1], [200], "{method}: {}", first.escape_ascii());
        for _ in 0..3 {
            let next = gateway.send(&get("/second").by(CHROME));
            assert_eq!((next.status, next.text()), (200, "/second".to_owned()), "{method}");
        }
        assert_eq!(CONNECTIONS.load(Ordering::SeqCst), 2, "{method}: the next ones share a connection");
    }
}

/// Apache, Node and uvicorn close what was idle for five seconds, gunicorn after two. This one is closing a connection
/// whenever a request comes after a second of silence: the worst moment.
#[test]
fn what_cannot_be_sent_twice_never_meets_a_connection_that_is_closing() {
    let gateway = in_front_of(origin(|mut stream, _| {
        let mut answered: Option<Instant> = None;
        loop {
            let head = read_until_closed(&mut stream, b"\r\n\r\n");
            if head.is_empty() || answered.is_some_and(|since| since.elapsed() > Duration::from_millis(1_050))
            {
                return;
            }
            if stream.write_all(OK.as_bytes()).is_err() {
                return;
            }
            answered = Some(Instant::now());
        }
    }));
    let address = gateway.address();
    let wave = || {
        let clients: Vec<_> = (0..280)
            .map(|_| {
                thread::spawn(move || {
                    let sent =
                        "POST /form HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                    statuses(&exchange(address, sent.as_bytes()))
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("an answer")).collect::<Vec<_>>()
    };
    let mut all = wave();
    thread::sleep(Duration::from_millis(1_200));
    all.extend(wave());
    let failed = all.iter().filter(|statuses| **statuses != [200]).count();
    assert_eq!((all.len(), failed), (560, 0), "POSTs, and those of them that failed");
}

fn read_until_closed(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(end) {
        match stream.read(&mut byte) {
            Ok(1) => read.push(byte[0]),
            _ => return Vec::new(),
        }
    }
    read
}

/// RFC 2068 §19.7.1.1: an origin says for how long it keeps a connection.
#[test]
fn a_connection_is_kept_for_less_time_than_its_origin_keeps_it() {
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    let gateway = in_front_of(origin(|mut stream, _| {
        read_until(&mut stream, b"\r\n\r\n");
        let text = "HTTP/1.1 200 OK\r\nKeep-Alive: max=100, timeout=1\r\nContent-Length: 2\r\n\r\nok";
        stream.write_all(text.as_bytes()).expect("sent");
        let answered = Instant::now();
        let _ = stream.read(&mut [0]);
        KEPT.store(usize::try_from(answered.elapsed().as_millis()).expect("short"), Ordering::SeqCst);
    }));
    assert_eq!(gateway.send(&get("/page").by(CHROME)).status, 200);
    thread::sleep(Duration::from_millis(900));
    assert_eq!(gateway.send(&get("/page").by(CHROME)).status, 200);
    let kept =
        until("the connection is closed", || Some(KEPT.load(Ordering::SeqCst)).filter(|kept| *kept > 0));
    assert!(kept < 1_000, "{kept} ms");
}

/// RFC 9110 §10.1.1: a client that waits to be asked for its body is asked when the origin does not.
#[test]
fn a_client_that_expects_to_be_asked_is_asked_soon() {
    // It never says 100, as Python's wsgiref.
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = connect(gateway.address());
    let start = Instant::now();
    let head = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head.as_bytes()).expect("sent");
    let asked = read_until(&mut client, b"\r\n\r\n");
    let took = start.elapsed();
    assert_eq!(asked, b"HTTP/1.1 100 Continue\r\n\r\n", "{}", asked.escape_ascii());
    assert!(took < Duration::from_millis(700), "{took:?}");
    client.write_all(b"hi").expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 200 OK\r\n"));
}

/// Nothing is wrong with the origin, nor with a socket on which nothing happens.
#[test]
fn a_websocket_may_be_idle_and_ends_without_a_fault() {
    let address = origin(|mut stream, _| {
        read_until(&mut stream, b"\r\n\r\n");
        let switch =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";
        stream.write_all(switch.as_bytes()).expect("sent");
        let _ = stream.read(&mut [0]);
    });
    let gateway = Daemon::with(ROBOTS)
        .at(&format!("http://{address}"))
        .set("access_log = \"access.log\"")
        .table("[timeouts]\norigin_read = \"200ms\"\ntunnel = \"1s\"")
        .start();
    let mut client = connect(gateway.address());
    let start = Instant::now();
    client.write_all(HANDSHAKE.as_bytes()).expect("sent");
    read_until(&mut client, b"hello");
    assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
    assert!((900..5_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    let line: Value = serde_json::from_str(&logged(&gateway)).expect("JSON");
    assert_eq!((&line["status"], &line["bytes"]), (&101.into(), &5.into()), "{line}");
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert!(status["origins"][0]["failing_since"].is_null(), "{}", status["origins"]);
    assert_eq!(status["connections"]["idle-tunnel"], 1, "{}", status["connections"]);
}

const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n";

fn logged(gateway: &Daemon) -> String {
    let path = gateway.folder().join("state").join("access.log");
    until("a line of the access log", || {
        std::fs::read_to_string(&path).ok()?.lines().next().map(str::to_owned)
    })
}

/// One side of a tunnel may be done before the other has sent all it has.
#[test]
fn who_ends_one_way_of_a_tunnel_still_hears_the_other() {
    let gateway = in_front_of(origin(|mut stream, _| {
        read_until(&mut stream, b"\r\n\r\n");
        let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(switch.as_bytes()).expect("sent");
        let mut heard = Vec::new();
        if stream.read_to_end(&mut heard).is_ok() {
            let _ = stream.write_all(&heard);
        }
    }));
    let mut client = connect(gateway.address());
    client.write_all(HANDSHAKE.as_bytes()).expect("sent");
    read_until(&mut client, b"\r\n\r\n");
    client.write_all(b"the last word").expect("sent");
    client.shutdown(std::net::Shutdown::Write).expect("one way is over");
    assert_eq!(crate::wire::rest(&mut client).escape_ascii().to_string(), "the last word");
}

/// A body may come as slowly as somebody speaks.
#[test]
fn a_slow_upload_is_no_attack() {
    let origin = Arc::new(Keeper::start());
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).table("[timeouts]\nclient_header = \"1s\"").start();
    let mut client = connect(gateway.address());
    client.write_all(b"POST /form HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").expect("sent");
    for _ in 0..15 {
        client.write_all(b"1\r\na\r\n").expect("sent");
        thread::sleep(Duration::from_millis(200));
    }
    client.write_all(b"0\r\n\r\n").expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 200 "));
    assert_eq!(gateway.client().send(&request("POST", "/form").by(CHROME)).status, 200);
}
