//! Bodies: streamed, drained where nobody wants them, and absent where they must be.

use crate::keeper::{Keeper, KeptMessage};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, get, head, until};
use crate::wire::{connect, exchange, read_until, rest, statuses};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn post(path: &str, agent: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nContent-Length: {length}\r\n\r\n")
}

/// An origin for one connection, led by the test step by step.
fn led() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let (sender, receiver): (Sender<TcpStream>, _) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(crate::wire::PATIENCE)).expect("a limit");
            if sender.send(stream).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

fn in_front_of(address: SocketAddr) -> Daemon {
    Daemon::with(ROBOTS).in_mode("enforce").at(&format!("http://{address}")).start()
}

#[track_caller]
fn accepted(streams: &Receiver<TcpStream>) -> TcpStream {
    streams.recv_timeout(crate::wire::PATIENCE).expect("the gateway connects")
}

/// A reset would overtake the answer if the gateway closed over bytes it has not read.
#[test]
fn a_refusal_arrives_however_large_the_body() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).start();
    for length in [10, 200_000, 300_000, 8_000_000] {
        let mut client = connect(gateway.address());
        let mut writer = client.try_clone().expect("another handle");
        let head = post("/private", GPTBOT, length);
        let sender = std::thread::spawn(move || {
            writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(&vec![b'x'; length]))
        });
        let answer = read_until(&mut client, b"\r\n\r\n");
        assert!(answer.starts_with(b"HTTP/1.1 403 "), "{length}: {}", answer.escape_ascii());
        sender.join().expect("no panic").unwrap_or_else(|error| panic!("{length}: {error}"));
    }
    assert!(origin.take().is_empty());
}

#[test]
fn after_a_small_refused_body_the_connection_goes_on() {
    let origin = Keeper::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).start();
    let next = format!("GET /open HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\nConnection: close\r\n\r\n");
    let sent = [&post("/private", GPTBOT, 20), "GET /hidden HTTP/1.1", &next].concat();
    let answer = exchange(gateway.address(), sent.as_bytes());
    assert_eq!(statuses(&answer), [403, 200], "{}", answer.escape_ascii());
    assert_eq!(
        origin.take().iter().map(KeptMessage::request_line).collect::<Vec<_>>(),
        ["GET /open HTTP/1.1"]
    );
}

/// RFC 9110 §10.1.1: the origin decides, and the body goes nowhere before it has.
#[test]
fn who_waits_to_be_asked_is_asked_by_the_origin() {
    let (address, streams) = led();
    let gateway = in_front_of(address);
    let mut client = connect(gateway.address());
    let head = post("/form", CHROME, 5).replace("Host: a\r\n", "Host: a\r\nExpect: 100-continue\r\n");
    client.write_all(head.as_bytes()).expect("sent");
    let mut origin = accepted(&streams);
    let seen = read_until(&mut origin, b"\r\n\r\n");
    assert!(String::from_utf8_lossy(&seen).to_ascii_lowercase().contains("expect: 100-continue"));
    origin.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 100 "));
    client.write_all(b"hello").expect("sent");
    let mut body = [0; 5];
    origin.read_exact(&mut body).expect("the body");
    assert_eq!(&body, b"hello");
    origin.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 204 "));
}

/// Server-sent events and the like: nothing waits for the end.
/// RFC 9110 §10.1.1, RFC 9112 §9.3: an origin may answer before it has read the body. Where it does not read on, the
/// library hears its answer once it has given up writing, which is bounded.
#[test]
fn an_early_answer_arrives_though_the_origin_does_not_read_on() {
    const PIECE: usize = 64 * 1024;
    const LENGTH: usize = 1_024 * PIECE;
    let (address, streams) = led();
    let gateway = Daemon::with(ROBOTS)
        .at(&format!("http://{address}"))
        .table("[timeouts]\norigin_write = \"1s\"")
        .set("access_log = \"access.log\"")
        .start();
    let mut client = connect(gateway.address());
    let mut writer = client.try_clone().expect("another handle");
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let sender = std::thread::spawn(move || {
        writer.write_all(post("/upload", CHROME, LENGTH).as_bytes())?;
        let piece = vec![b'x'; PIECE];
        for _ in 0..LENGTH / PIECE {
            writer.write_all(&piece)?;
            counter.fetch_add(PIECE, Ordering::Relaxed);
        }
        Ok::<(), std::io::Error>(())
    });
    let mut origin = accepted(&streams);
    read_until(&mut origin, b"\r\n\r\n");
    let mut last = 0;
    until("every buffer on the way is full", || {
        std::thread::sleep(Duration::from_millis(200));
        let before = std::mem::replace(&mut last, taken.load(Ordering::Relaxed));
        (last > 0 && last == before).then_some(())
    });
    let start = Instant::now();
    origin
        .write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n")
        .expect("sent");
    let answer = read_until(&mut client, b"no\n");
    eprintln!("the early answer took {:?}", start.elapsed());
    assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", answer.escape_ascii());
    drop(client);
    drop(sender.join().expect("no panic"));
}

#[test]
fn answers_are_streamed() {
    let (address, streams) = led();
    let gateway = in_front_of(address);
    for framing in ["Transfer-Encoding: chunked\r\n", "Content-Length: 16\r\n", ""] {
        let mut client = connect(gateway.address());
        client
            .write_all(format!("GET /events HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\n").as_bytes())
            .expect("sent");
        let mut origin = accepted(&streams);
        read_until(&mut origin, b"\r\n\r\n");
        let start = Instant::now();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n");
        origin.write_all(head.as_bytes()).expect("sent");
        for event in ["data: 1\n", "data: 2\n"] {
            let chunk = if framing.starts_with('T') { format!("8\r\n{event}\r\n") } else { event.to_owned() };
            origin.write_all(chunk.as_bytes()).expect("sent");
            // The origin says no more before this has arrived.
            read_until(&mut client, event.as_bytes());
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

/// A client that asks ahead is not made to wait for the end of an answer either.
#[test]
fn answers_are_streamed_while_further_requests_wait() {
    let (address, streams) = led();
    let gateway = in_front_of(address);
    let mut client = connect(gateway.address());
    let request = format!("GET /events HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\n");
    client.write_all(request.repeat(40 * 1024 / request.len()).as_bytes()).expect("sent");
    let mut origin = accepted(&streams);
    read_until(&mut origin, b"\r\n\r\n");
    origin.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n").expect("sent");
    for event in ["data: 1\n", "data: 2\n"] {
        origin.write_all(event.as_bytes()).expect("sent");
        // The origin says no more before this has arrived.
        read_until(&mut client, event.as_bytes());
    }
}

#[test]
fn requests_are_streamed() {
    let (address, streams) = led();
    let gateway = in_front_of(address);
    let mut client = connect(gateway.address());
    client.write_all(post("/upload", CHROME, 12).as_bytes()).expect("sent");
    client.write_all(b"first ").expect("sent");
    let mut origin = accepted(&streams);
    read_until(&mut origin, b"first ");
    client.write_all(b"second").expect("sent");
    read_until(&mut origin, b"second");
    origin.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("sent");
    assert!(read_until(&mut client, b"\r\n\r\n").starts_with(b"HTTP/1.1 200 "));
}

/// Memory does not grow with a body: 200 MB pass, and the process stays small.
#[test]
fn a_large_body_is_not_kept_in_memory() {
    const LENGTH: usize = 200_000_000;
    let (address, streams) = led();
    let gateway = in_front_of(address);
    let mut client = connect(gateway.address());
    client
        .write_all(format!("GET /dump HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\n").as_bytes())
        .expect("sent");
    let mut origin = accepted(&streams);
    read_until(&mut origin, b"\r\n\r\n");
    let sender = std::thread::spawn(move || {
        origin
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes())
            .expect("sent");
        let piece = vec![b'x'; 1 << 20];
        let mut left = LENGTH;
        while left > 0 {
            let here = left.min(piece.len());
            origin.write_all(&piece[..here]).expect("sent");
            left -= here;
        }
    });
    read_until(&mut client, b"\r\n\r\n");
    let (mut read, mut bytes) = (0, vec![0; 1 << 16]);
    while read < LENGTH {
        read += client.read(&mut bytes).expect("the body");
    }
    sender.join().expect("no panic");
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", gateway.process_id())).expect("a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: usize = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("peak resident size: {peak} KiB");
    assert!(peak < 120_000, "{peak} KiB");
}

/// RFC 9110 §6.4.1: whatever their fields say.
#[test]
fn answers_that_have_no_body_have_none() {
    let origin = Keeper::answering(|head| {
        let status = if head.starts_with(b"GET /304") { "304 Not Modified" } else { "200 OK" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 12\r\nETag: \"x\"\r\n\r\n").into_bytes()
    });
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = gateway.client();
    for _ in 0..2 {
        let response = client.send(&get("/304").by(CHROME));
        assert_eq!((response.status, response.body.len()), (304, 0));
        let response = client.send(&head("/page").by(CHROME));
        assert_eq!((response.status, response.header("Content-Length")), (200, Some("12")));
    }
    let refused = Daemon::with(ROBOTS).in_mode("enforce").at(&origin.url()).start();
    let mut client = refused.client();
    assert_eq!(client.send(&head("/private").by(GPTBOT)).status, 403);
    assert_eq!(client.send(&head("/robots.txt").by(GPTBOT)).status, 200);
}

/// RFC 9110 §6.5.1 lets a proxy drop trailers; what stands around them must be whole.
#[test]
fn trailers_of_an_answer_do_no_harm() {
    let origin = Keeper::answering(|_| {
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n".to_vec()
    });
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let mut client = gateway.client();
    for _ in 0..3 {
        assert_eq!(client.send(&get("/page").by(CHROME)).text(), "hello");
    }
}

/// Interim answers (RFC 9110 §15.2) come before the final one, and are no final one.
#[test]
fn interim_answers_pass() {
    let origin = Keeper::answering(|_| {
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            .to_vec()
    });
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).start();
    let sent = format!("GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\nConnection: close\r\n\r\n");
    assert_eq!(statuses(&exchange(gateway.address(), sent.as_bytes())), [103, 200]);
}

/// What an origin says that no client could read in one way only.
#[test]
fn a_malformed_answer_is_not_passed_on() {
    for answer in [
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n X: folded\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        "",
    ] {
        let (address, streams) = led();
        let gateway = in_front_of(address);
        let mut client = connect(gateway.address());
        client
            .write_all(format!("GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\n").as_bytes())
            .expect("sent");
        let mut origin = accepted(&streams);
        read_until(&mut origin, b"\r\n\r\n");
        origin.write_all(answer.as_bytes()).expect("sent");
        drop(origin);
        // Where nothing came of the first attempt a second one is made.
        if let Ok(mut again) = streams.recv_timeout(Duration::from_millis(300)) {
            read_until(&mut again, b"\r\n\r\n");
            again.write_all(answer.as_bytes()).expect("sent");
        }
        let heard = rest(&mut client);
        assert_eq!(statuses(&heard), [502], "{answer:?}: {}", heard.escape_ascii());
    }
}
