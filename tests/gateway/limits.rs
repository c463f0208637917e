//! Hostile and careless clients: every one meets an end, is counted, and costs the others nothing.

use crate::support::agents::CHROME;
use crate::support::{Builder, Client, Daemon, Nginx, RawOrigin, get, request, until};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// A gateway that loses its patience soon, so that the tests need not have much.
fn impatient(origin: &str) -> Builder {
    Daemon::with(ROBOTS)
        .at(origin)
        .table("[timeouts]\nclient_header = \"1s\"\nkeepalive = \"2s\"\nclient_read = \"5s\"")
}

pub(crate) fn counted(gateway: &Daemon, what: &str) -> u64 {
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    status["connections"][what].as_u64().unwrap_or_else(|| panic!("no count `{what}`: {status}"))
}

#[track_caller]
pub(crate) fn is_counted(gateway: &Daemon, what: &str, least: u64) {
    until(what, || (counted(gateway, what) >= least).then_some(()));
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    stream.set_nodelay(true).expect("no delay");
    stream
}

/// Sends `bytes` one at a time, `pause` apart, until the gateway closes; what it said, and after how long.
fn drip(mut stream: TcpStream, bytes: &[u8], pause: Duration) -> (String, Duration) {
    let start = Instant::now();
    let mut reader = stream.try_clone().expect("a second handle");
    let reading = std::thread::spawn(move || {
        let mut answer = Vec::new();
        // A reset after the answer is an end as well.
        let _ = reader.read_to_end(&mut answer);
        (String::from_utf8_lossy(&answer).into_owned(), start.elapsed())
    });
    for byte in bytes.iter().cycle().take(100_000) {
        if reading.is_finished() || stream.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(pause);
    }
    reading.join().expect("read to the end")
}

#[test]
fn a_head_that_drips_has_an_end_on_the_first_request_and_on_the_next() {
    let origin = Nginx::start();
    let gateway = impatient(&origin.url()).start();
    let head =
        b"GET /page HTTP/1.1\r\nHost: a\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let (answer, took) = drip(open(gateway.address()), head, Duration::from_millis(50));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!((Duration::from_millis(900)..Duration::from_secs(4)).contains(&took), "{took:?}");

    let mut stream = open(gateway.address());
    stream.write_all(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    let mut first = [0; 1];
    stream.read_exact(&mut first).expect("an answer");
    // The rest of the first answer comes with the second's reading.
    let (answer, took) = drip(stream, head, Duration::from_millis(50));
    assert!(answer.contains("HTTP/1.1 408"), "{answer}");
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(counted(&gateway, "header-timeout"), 2);
}

/// What came along with the request before is no pause between two requests.
#[test]
fn half_a_head_behind_a_whole_one_has_the_time_of_a_head() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .at(&origin.url())
        .table("[timeouts]\nclient_header = \"1s\"\nkeepalive = \"60s\"")
        .start();
    let mut stream = open(gateway.address());
    let whole = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";
    let start = Instant::now();
    stream.write_all(format!("{whole}{whole}GET /half HTTP/1.1\r\nHost: a\r\n").as_bytes()).expect("sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers, and the end");
    assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 2, "{answers}");
    assert!(answers.contains("HTTP/1.1 408 "), "{answers}");
    assert!((900..4_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    is_counted(&gateway, "header-timeout", 1);

    // Empty lines behind a body, as some clients send them, are no head (RFC 9112 §2.2).
    let mut stream = open(gateway.address());
    stream.write_all(format!("{whole}\r\n").as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(1_500));
    stream.write_all(whole.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).expect("sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers, and the end");
    assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 2, "{answers}");
    assert_eq!(counted(&gateway, "header-timeout"), 1);
}

#[test]
fn silence_has_an_end_before_the_first_request_and_after_it() {
    let origin = Nginx::start();
    let gateway = impatient(&origin.url()).start();
    let start = Instant::now();
    assert_eq!(open(gateway.address()).read(&mut [0; 1]).expect("closed"), 0);
    assert!((900..4_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    is_counted(&gateway, "silent", 1);

    let mut client = gateway.client();
    client.send(&get("/page").by(CHROME)).came_from_origin();
    let start = Instant::now();
    assert!(client.is_closed());
    assert!((1_500..5_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(counted(&gateway, "header-timeout"), 0, "to be idle is no offence");
}

#[test]
fn an_origin_that_thinks_is_not_mistaken_for_a_slow_client() {
    let origin = RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS)
        .at(&origin.url())
        .table("[timeouts]\nclient_header = \"500ms\"\nkeepalive = \"500ms\"")
        .start();
    let mut client = gateway.client();
    client.write(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::sleep(Duration::from_millis(1_500));
    origin.release();
    assert_eq!(client.read(false).expect("an answer").status, 200);
}

#[test]
fn a_body_that_drips_has_an_end_and_a_steady_one_is_let_through() {
    // It answers nobody, so that nothing but the client's slowness can end the request.
    let origin = RawOrigin::holding();
    let gateway = impatient(&origin.url()).table("[limits]\nbody_rate = \"500B\"").start();
    let mut stream = open(gateway.address());
    stream.write_all(b"POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n").expect("sent");
    let (answer, took) = drip(stream, b"a", Duration::from_millis(20));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    is_counted(&gateway, "body-too-slow", 1);

    let mut client = gateway.client();
    client.write(b"POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n");
    for _ in 0..30 {
        client.write(&[b'a'; 100]);
        std::thread::sleep(Duration::from_millis(80));
    }
    origin.release();
    assert_eq!(client.read(false).expect("an answer").status, 200);
    assert_eq!(counted(&gateway, "body-too-slow"), 1);
}

#[test]
fn one_address_has_its_limit_and_the_next_one_has_its_own() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).table("[limits]\nconnections_per_address = 20").start();
    let held: Vec<TcpStream> = (0..20).map(|_| open(gateway.address())).collect();
    is_counted(&gateway, "open", 20);
    for _ in 0..2_000 {
        let mut over = open(gateway.address());
        assert!(!matches!(over.read(&mut [0; 1]), Ok(1)), "closed at once");
    }
    assert_eq!(counted(&gateway, "over-address"), 2_000);
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).expect("a second address");
    socket.connect(&gateway.address().into()).expect("connected");
    let mut other = TcpStream::from(socket);
    other.write_all(b"GET /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    other.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(held);
    until("there is room again", || {
        let mut client = Client::try_to(gateway.address()).ok()?;
        client.try_send(&get("/page")).is_ok().then_some(())
    });
}

#[test]
fn trusted_proxies_have_no_limit_of_their_own() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .table("[limits]\nconnections_per_address = 1")
        .start();
    let mut clients: Vec<Client> = (0..10).map(|_| gateway.client()).collect();
    for client in &mut clients {
        client.send(&get("/page")).came_from_origin();
    }
}

#[test]
fn a_crowd_of_idle_connections_makes_room_within_seconds() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).table("[limits]\nconnections = 40").start();
    let mut client = gateway.client();
    let _silent: Vec<TcpStream> = (0..39).map(|_| open(gateway.address())).collect();
    client.send(&get("/page")).came_from_origin();
    is_counted(&gateway, "open", 40);
    let newcomer = || {
        // The connection that is used never waits for long.
        client.send(&get("/page")).came_from_origin();
        let mut newcomer = Client::try_to(gateway.address()).ok()?;
        newcomer.try_send(&get("/page")).ok()
    };
    until("a newcomer is served", newcomer).came_from_origin();
    assert!(counted(&gateway, "made-room") > 0 && counted(&gateway, "over-total") > 0);
}

#[test]
fn connections_at_work_keep_their_places() {
    let origin = RawOrigin::holding();
    let gateway = Daemon::with(ROBOTS).at(&origin.url()).table("[limits]\nconnections = 20").start();
    let mut clients: Vec<Client> = (0..20).map(|_| gateway.client()).collect();
    for client in &mut clients {
        client.write(b"GET /page HTTP/1.1\r\nHost: a\r\n");
    }
    is_counted(&gateway, "open", 20);
    // Half of them wait for the origin, and of the others a head has begun.
    for client in clients.iter_mut().take(10) {
        client.write(b"\r\n");
    }
    until("all are at work", || {
        let over = counted(&gateway, "over-total");
        let mut newcomer = open(gateway.address());
        newcomer.set_read_timeout(Some(Duration::from_secs(1))).expect("a limit");
        let _ = newcomer.read(&mut [0; 1]);
        (counted(&gateway, "over-total") > over).then_some(())
    });
    for client in clients.iter_mut().skip(10) {
        client.write(b"\r\n");
    }
    origin.release();
    for client in &mut clients {
        assert_eq!(client.read(false).expect("an answer").status, 200);
    }
}

#[test]
fn heads_have_a_size_and_a_number_of_fields() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .table("[limits]\nheader_size = \"8KiB\"\nheader_fields = 40")
        .start();
    let sized = |bytes: usize| get("/page").with("X-Large", "a".repeat(bytes));
    assert_eq!(gateway.send(&sized(7_000)).status, 200);
    assert_eq!(gateway.send(&sized(9_000)).status, 431);
    let numbered = |fields: usize| {
        (0..fields).fold(get("/page"), |request, field| request.with(&format!("X-{field}"), "a"))
    };
    assert_eq!(gateway.send(&numbered(35)).status, 200);
    assert_eq!(gateway.send(&numbered(45)).status, 431);
    is_counted(&gateway, "header-too-large", 2);
}

#[test]
fn a_head_of_a_mebibyte_is_not_read_to_its_end() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let before = gateway.resident();
    for _ in 0..50 {
        let mut stream = open(gateway.address());
        let _ = stream.write_all(b"GET /page HTTP/1.1\r\nHost: a\r\nX-Large: ");
        // The gateway may close while this is sent.
        let _ = stream.write_all(&vec![b'a'; 1 << 20]);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", answer.escape_ascii());
    }
    is_counted(&gateway, "header-too-large", 50);
    let grown = gateway.resident().saturating_sub(before);
    assert!(grown < 16 << 20, "grown by {grown}");
}

#[test]
fn bodies_have_a_size_whether_they_announce_it_or_not() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).table("[limits]\nbody_size = \"10KiB\"").start();
    assert_eq!(gateway.send(&request("POST", "/form").body(vec![b'a'; 10_000])).status, 200);
    assert_eq!(gateway.send(&request("POST", "/form").body(vec![b'a'; 20_000])).status, 413);
    let mut client = gateway.client();
    // At once: this origin answers without waiting for the body, and an answer that was there first would stand.
    let head = b"POST /form HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n".as_slice();
    client.write(&[head, &[b'a'; 0x4000], b"\r\n"].concat());
    assert_eq!(client.read(false).expect("an answer").status, 413);
    assert_eq!(counted(&gateway, "body-too-large"), 2);
}

#[test]
fn a_connection_carries_so_many_requests_and_says_which_is_the_last() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).table("[limits]\nrequests_per_connection = 3").start();
    let mut client = gateway.client();
    for _ in 0..2 {
        let response = client.send(&get("/page"));
        assert_ne!(response.header("Connection"), Some("close"));
    }
    assert_eq!(client.send(&get("/page")).header("Connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn what_is_no_request_is_counted_and_costs_the_others_nothing() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    for garbage in
        [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(), b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n"]
    {
        let mut stream = open(gateway.address());
        stream.write_all(garbage).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("shut");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", answer.escape_ascii());
    }
    let status = gateway.ctl(&["status", "--format", "json"]).json();
    assert_eq!((&status["totals"]["malformed"], counted(&gateway, "no-request")), (&2.into(), 1), "{status}");
    gateway.send(&get("/page")).came_from_origin();
}

#[test]
fn thousands_of_silent_connections_do_not_hold_up_a_request() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).table("[limits]\nconnections_per_address = 5000").start();
    let silent: Vec<TcpStream> = (0..3_000).map(|_| open(gateway.address())).collect();
    let mut client = gateway.client();
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let start = Instant::now();
            client.send(&get("/page").by(CHROME)).came_from_origin();
            start.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[190] < Duration::from_millis(250), "{:?}", times[190]);
    let status: Value = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert!(status["connections"]["open"].as_u64() > Some(3_000), "{status}");
    drop(silent);
}
