//! What the gateway does when the origin is down, or a client writes what is no HTTP.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::origin::free_port;
use crate::support::{Client, Daemon, Nginx, get, until};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

#[test]
fn a_dead_origin_is_502_at_once_and_the_gateway_stays() {
    let mut gateway =
        Daemon::with(ROBOTS).in_mode("enforce").at(&format!("http://127.0.0.1:{}", free_port())).start();
    let mut client = gateway.client();
    for _ in 0..5 {
        let start = Instant::now();
        let response = client.send(&get("/").by(CHROME));
        assert_eq!(response.status, 502);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(!response.text().contains("127.0.0.1"), "the origin's address leaks: {}", response.text());
        client = gateway.client();
    }
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
    assert_eq!(gateway.send(&get("/robots.txt").by(GPTBOT)).text(), ROBOTS);
    gateway.is_running();
}

#[test]
fn an_origin_that_comes_back_is_found_again() {
    let port = free_port();
    let gateway = Daemon::with(ROBOTS).at(&format!("http://127.0.0.1:{port}")).start();
    assert_eq!(gateway.send(&get("/").by(CHROME)).status, 502);
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is still free");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    until("the origin answers", || (gateway.send(&get("/").by(CHROME)).status == 200).then_some(()));
}

#[test]
fn an_origin_that_talks_garbage_or_hangs_up_is_502() {
    for answer in [&b"this is no HTTP\r\n\r\n"[..], b"", b"HTTP/1.1 200 OK\r\nContent-Le"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = [0; 4096];
                let _ = stream.read(&mut bytes);
                let _ = stream.write_all(answer);
            }
        });
        let mut gateway = Daemon::with(ROBOTS).at(&url).start();
        let response = gateway.send(&get("/").by(CHROME));
        assert_eq!(response.status, 502, "after {:?}", String::from_utf8_lossy(answer));
        gateway.is_running();
        assert_eq!(gateway.send(&get("/robots.txt")).status, 200);
    }
}

#[test]
fn what_is_no_http_is_refused_and_others_are_served() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /private HTTP/9.9\r\n\r\n",
        b"GET private HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET \\robots.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /private HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: \xff\xfe\x80 GPTBot/1.2 \x01\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut client = gateway.client();
        client.write(bytes);
        client.write(b"\r\n\r\n");
        // An error, or the end of the connection; never a success for what nobody can read.
        if let Ok(response) = client.read(false) {
            let shown = String::from_utf8_lossy(bytes).into_owned();
            assert!(response.status >= 400, "{shown:?}: {response:?}");
        }
        gateway.is_running();
        gateway.send(&get("/").by(CHROME)).came_from_origin();
    }
}

#[test]
fn requests_written_at_once_are_answered_in_their_order_or_the_connection_ends() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    let mut client = gateway.client();
    let both = format!(
        "GET /1 HTTP/1.1\r\nHost: a\r\nUser-Agent: {CHROME}\r\n\r\nGET /private HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\n\r\n"
    );
    client.write(both.as_bytes());
    client.read(false).expect("the first response").came_from_origin();
    if let Ok(second) = client.read(false) {
        assert_eq!(second.status, 403);
    }
    assert_eq!(origin.received(), ["GET /1"]);
}

#[test]
fn a_client_that_leaves_early_disturbs_nobody() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    for bytes in
        [&b"GET /private HTTP/1.1\r\n"[..], b"GET /private HTTP/1.1\r\nHost: a\r\nUser-Agent: GPTBot\r\n\r\n"]
    {
        for _ in 0..20 {
            let mut client = Client::to(gateway.address());
            client.write(bytes);
        }
    }
    gateway.send(&get("/").by(CHROME)).came_from_origin();
    gateway.is_running();
}
