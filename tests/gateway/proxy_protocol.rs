//! The PROXY protocol (versions 1 and 2): who it is believed from, and what it changes.

use crate::limits::{counted, is_counted};
use crate::support::agents::GPTBOT;
use crate::support::tls::{Authority, HTTP_1, LISTENER, address_with, exchange, tls_address};
use crate::support::{Builder, Daemon, Nginx, RawOrigin};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const LISTENERS: &str = "[[listeners]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = true";
const LINE: &[u8] = b"PROXY TCP4 203.0.113.9 192.0.2.2 56324 443\r\n";

fn trusting(origin: &str) -> Builder {
    Daemon::with(ROBOTS).at(origin).set("trusted_proxies = [\"127.0.0.1\"]").table(LISTENERS)
}

fn listener(gateway: &Daemon) -> SocketAddr {
    address_with(gateway, "\"proxy_protocol\":true")
}

/// What comes back until the gateway closes.
fn sent(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    stream.write_all(bytes).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn request(header: &[u8], target: &str) -> Vec<u8> {
    let head =
        format!("GET {target} HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\nConnection: close\r\n\r\n");
    [header, head.as_bytes()].concat()
}

fn version_2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).expect("short").to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &[0x20 | command, family], &length, block].concat()
}

#[test]
fn the_client_it_names_is_the_client() {
    let origin = RawOrigin::start();
    let gateway = trusting(&origin.url()).start();
    let mut v6 = vec![0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    v6.extend([[0; 16].as_slice(), &[0, 1, 0, 2]].concat());
    let cases: [(&[u8], &str, &str); 5] = [
        (LINE, "/private/1", "203.0.113.9"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n", "/private/2", "2001:db8::7"),
        (
            &version_2(1, 0x11, &[198, 51, 100, 7, 1, 2, 3, 4, 0, 1, 0, 2, 0xee, 0, 0]),
            "/private/3",
            "198.51.100.7",
        ),
        (&version_2(1, 0x21, &v6), "/private/4", "2001:db8::9"),
        (b"PROXY UNKNOWN\r\n", "/private/5", "127.0.0.1"),
    ];
    for (header, target, address) in cases {
        let answer = sent(listener(&gateway), &request(header, target));
        assert!(answer.starts_with("HTTP/1.1 200"), "{target}: {answer}");
        assert_eq!(gateway.journal().event_of(target)["address"], address, "{target}");
    }
    let heads = String::from_utf8_lossy(&origin.heads().concat()).to_ascii_lowercase();
    assert!(heads.contains("x-forwarded-for: 203.0.113.9\r\n"), "{heads}");
}

#[test]
fn a_proxy_that_speaks_for_itself_is_served() {
    let origin = Nginx::start();
    let gateway = trusting(&origin.url()).start();
    let answer = sent(listener(&gateway), &request(&version_2(0, 0, &[]), "/page"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn the_client_it_names_cannot_name_another() {
    let origin = Nginx::start();
    let gateway = trusting(&origin.url()).start();
    let header = format!(
        "GET /private/x HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\nX-Forwarded-For: 192.0.2.66\r\n\
         Connection: close\r\n\r\n"
    );
    sent(listener(&gateway), &[LINE, header.as_bytes()].concat());
    assert_eq!(gateway.journal().event_of("/private/x")["address"], "203.0.113.9");
}

/// Whoever passes bytes on writes no fields. So all that come are those of whoever the header names, and that is the
/// client, wherever its address lies; and a connection without a name carries no proxy's fields either.
#[test]
fn no_fields_are_believed_behind_a_header() {
    let origin = RawOrigin::start();
    let gateway = Daemon::with(ROBOTS)
        .at(&origin.url())
        .set("trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]")
        .table(LISTENERS)
        .start();
    let cases: [(&[u8], &str, &str); 3] = [
        (b"PROXY TCP4 10.1.2.3 192.0.2.2 56324 443\r\n", "/private/named", "10.1.2.3"),
        (b"PROXY UNKNOWN\r\n", "/private/unknown", "127.0.0.1"),
        (&version_2(0, 0, &[]), "/private/local", "127.0.0.1"),
    ];
    for (header, target, address) in cases {
        sent(listener(&gateway), &[header, claiming(target).as_bytes()].concat());
        let event = gateway.journal().event_of(target);
        assert_eq!((event["address"].as_str(), event["scheme"].as_str()), (Some(address), Some("http")));
        assert_ne!(event["request_id"], "mine");
        let head = String::from_utf8_lossy(&origin.heads().pop().expect("a head")).to_ascii_lowercase();
        assert!(head.contains(&format!("x-forwarded-for: {address}\r\n")), "{head}");
        assert!(!head.contains("192.0.2.66") && !head.contains("x-real-ip"), "{head}");
    }
    // On a listener without such headers the same address is a proxy.
    sent(gateway.address(), claiming("/private/plain").as_bytes());
    assert_eq!(gateway.journal().event_of("/private/plain")["address"], "192.0.2.66");
}

#[test]
fn a_proxy_that_it_names_is_believed_where_the_operator_says_so() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]")
        .table(&format!("{LISTENERS}\nbelieve_named_proxies = true"))
        .start();
    for (header, target, address) in [
        (&b"PROXY TCP4 10.1.2.3 192.0.2.2 56324 443\r\n"[..], "/private/proxy", "192.0.2.66"),
        (LINE, "/private/client", "203.0.113.9"),
        (b"PROXY UNKNOWN\r\n", "/private/unknown", "127.0.0.1"),
    ] {
        sent(listener(&gateway), &[header, claiming(target).as_bytes()].concat());
        assert_eq!(gateway.journal().event_of(target)["address"], address, "{target}");
    }
    let plain = LISTENERS.replace("proxy_protocol", "believe_named_proxies");
    let ended = Daemon::with(ROBOTS).in_front_of(&origin).table(&plain).fails_to_start().exits(2);
    assert!(ended.stderr.contains("add `proxy_protocol = true`"), "{ended:?}");
}

/// A request whose fields say that somebody else sends it.
fn claiming(target: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: a\r\nUser-Agent: {GPTBOT}\r\nX-Forwarded-For: 192.0.2.66\r\n\
         X-Forwarded-Proto: https\r\nX-Real-IP: 192.0.2.66\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n"
    )
}

#[test]
fn without_a_good_header_there_is_no_connection() {
    let origin = Nginx::start();
    let gateway = trusting(&origin.url()).table("[timeouts]\nclient_header = \"1s\"").start();
    let address = listener(&gateway);
    let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 500], b"\r\n"].concat();
    let cases: [&[u8]; 6] = [
        b"",
        b"PROXY TCP4 203.0.113.9 1.2.3.4 1 99999\r\n",
        &long,
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0",
        b"PROXY TCP4 ",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x01",
    ];
    for (number, header) in cases.into_iter().enumerate() {
        let start = Instant::now();
        // The last two are beginnings: nothing follows, and the gateway does not wait for ever.
        let bytes = if number < 4 { request(header, "/page") } else { header.to_vec() };
        assert_eq!(sent(address, &bytes), "", "{}", header.escape_ascii());
        assert!(start.elapsed() < Duration::from_secs(4), "{number}: {:?}", start.elapsed());
    }
    assert_eq!(counted(&gateway, "proxy-header-refused"), 6);
    assert!(!origin.received().iter().any(|line| line.ends_with("/page")));
}

#[test]
fn it_comes_in_pieces_and_is_asked_for_only_where_it_was_wanted() {
    let origin = Nginx::start();
    let gateway = trusting(&origin.url()).start();
    let mut stream = TcpStream::connect(listener(&gateway)).expect("connected");
    stream.set_nodelay(true).expect("no delay");
    for byte in request(LINE, "/private/slow") {
        stream.write_all(&[byte]).expect("sent");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(gateway.journal().event_of("/private/slow")["address"], "203.0.113.9");
    // On the plain listener it is no part of the language.
    assert!(!sent(gateway.address(), &request(LINE, "/page")).starts_with("HTTP/1.1 2"));
    assert!(sent(gateway.address(), &request(b"", "/page")).starts_with("HTTP/1.1 200"));
}

#[test]
fn only_trusted_proxies_are_listened_to() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .set("trusted_proxies = [\"192.0.2.1\"]")
        .table(LISTENERS)
        .start();
    assert_eq!(sent(listener(&gateway), &request(LINE, "/page")), "");
    is_counted(&gateway, "proxy-header-refused", 1);
    let without = Daemon::with(ROBOTS).in_front_of(&origin).table(LISTENERS);
    let ended = without.fails_to_start().exits(2);
    assert!(ended.stderr.contains("name the proxy's address in `trusted_proxies`"), "{ended:?}");
}

#[test]
fn limits_are_those_of_the_client_it_names() {
    let origin = Nginx::start();
    let gateway = trusting(&origin.url()).table("[limits]\nconnections_per_address = 2").start();
    let held: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(listener(&gateway)).expect("connected");
            stream.write_all(LINE).expect("sent");
            stream.write_all(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
            // With an answer under way it has been counted.
            stream.read_exact(&mut [0; 1]).expect("an answer");
            stream
        })
        .collect();
    assert_eq!(sent(listener(&gateway), &request(LINE, "/page")), "");
    is_counted(&gateway, "over-address", 1);
    let other = b"PROXY TCP4 203.0.113.10 192.0.2.2 56324 443\r\n";
    assert!(sent(listener(&gateway), &request(other, "/page")).starts_with("HTTP/1.1 200"));
    drop(held);
}

#[test]
fn it_stands_before_tls() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let tls = LISTENER.replace("tls = true", "tls = true\nproxy_protocol = true");
    let builder =
        Daemon::with(ROBOTS).in_front_of(&origin).set("trusted_proxies = [\"127.0.0.1\"]").table(&tls);
    authority.save(builder.folder(), "site", &["a.example"]);
    let gateway = builder.start();
    let socket = TcpStream::connect(tls_address(&gateway)).expect("connected");
    (&socket).write_all(LINE).expect("sent");
    let mut stream = authority.over(socket, "a.example", HTTP_1).expect("a handshake");
    let request = format!("GET /private HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {GPTBOT}\r\n\r\n");
    exchange(&mut stream, &request).expect("an answer");
    let event = gateway.journal().event_of("/private");
    assert_eq!((&event["address"], &event["scheme"]), (&"203.0.113.9".into(), &"https".into()));
}
