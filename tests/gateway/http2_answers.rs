//! Answers over HTTP/2: when they count as given, what they wait for, and how a connection ends behind them.

use crate::reload_styles::disallowing;
use crate::support::agents::{CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::http2::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Http2, RST_STREAM, SETTINGS, WINDOW_UPDATE, field,
    fields, frame,
};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Builder, Daemon, Nginx, RawOrigin, configured, get, request, until};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn site(authority: &Authority, origin: &str) -> Builder {
    let builder = Daemon::with(ROBOTS).at(origin).table(LISTENER).in_mode("enforce");
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

fn asks(stream: u32, flags: u8, method: &str, target: &str, agent: &str) -> Vec<u8> {
    let head = [fields(method, target), field("user-agent", agent)].concat();
    frame(HEADERS, END_HEADERS | flags, stream, &head)
}

/// A client that takes whatever it is sent, as far as HTTP/2 goes.
fn open(client: &mut Http2) {
    let most = (u32::MAX >> 1).to_be_bytes();
    // SETTINGS_INITIAL_WINDOW_SIZE is 4 (RFC 9113 §6.5.2).
    let settings = frame(SETTINGS, 0, 0, &[&[0, 4][..], &most].concat());
    let more = ((u32::MAX >> 1) - 65_535).to_be_bytes();
    client.write(&[settings, frame(WINDOW_UPDATE, 0, 0, &more)].concat()).expect("sent");
}

#[test]
fn robots_txt_that_is_cancelled_on_its_way_is_no_read() {
    let authority = Authority::new();
    // More than the sockets between the two hold.
    let large = 64 << 20;
    let body = "a".repeat(large);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {large}\r\n\r\n{body}");
    let origin = RawOrigin::answering(answer.leak());
    let gateway = site(&authority, &origin.url()).with_notice("1h").set("settle = \"20ms\"").start();
    let new = format!("{ROBOTS}{}", disallowing("/new"));
    rename_over(&gateway.robots(), &new);
    until("the new file is served", || {
        (gateway.send(&get("/robots.txt").by("curl/8")).text() == new).then_some(())
    });
    let mut client = Http2::to(&authority, tls_address(&gateway));
    open(&mut client);
    client.request(1, "/large").expect("sent");
    client.find(|frame| frame.kind == DATA).expect("the answer begins");
    // Nothing is read from here on, so that the file waits behind what was not taken.
    let mut looks = Vec::new();
    until("no more fits between the two", || {
        looks.push(client.waiting());
        let last = looks.last_chunk::<40>()?;
        last.iter().all(|count| *count == last[0]).then_some(())
    });
    client.write(&asks(3, END_STREAM, "GET", "/robots.txt", GPTBOT)).expect("sent");
    client.write(&asks(5, END_STREAM, "HEAD", "/private", CLAUDEBOT)).expect("sent");
    // What was asked behind it is recorded.
    gateway.journal().event_of("/private");
    client.write(&frame(RST_STREAM, 0, 3, &[0, 0, 0, 8])).expect("sent");
    let mut taken = 0;
    client.find(|frame| {
        taken += if (frame.kind, frame.stream) == (DATA, 1) { frame.payload.len() } else { 0 };
        assert!((frame.kind, frame.stream) != (DATA, 3), "the file was not on its way");
        frame.stream == 1 && frame.flags & END_STREAM != 0
    });
    assert!(taken > large / 2, "{taken}");
    // Another crawler reads it whole, on the same connection; when that read counts, the other one would count too.
    client.write(&asks(7, END_STREAM, "GET", "/robots.txt", CLAUDEBOT)).expect("sent");
    assert!(client.is_answered(7));
    client.find(|frame| frame.stream == 7 && frame.flags & END_STREAM != 0).expect("its end");
    let status = |path, agent| gateway.send(&get(path).for_host("a.example").by(agent)).status;
    until("the whole read counts", || (status("/new/1", CLAUDEBOT) == 403).then_some(()));
    assert_eq!(status("/new/2", GPTBOT), 200);
}

#[test]
fn answers_of_the_gateway_wait_for_no_body() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let start = Instant::now();
    for (stream, target) in [(1, "/private"), (3, "/robots.txt"), (5, "/private/2")] {
        client.write(&asks(stream, 0, "POST", target, GPTBOT)).expect("sent");
        client.find(|frame| frame.kind == HEADERS && frame.stream == stream).expect("an answer");
        client.find(|frame| frame.stream == stream && frame.flags & END_STREAM != 0).expect("its end");
    }
    // What is left of a body is waited for for two seconds.
    assert!(start.elapsed() < Duration::from_millis(1_900), "{:?}", start.elapsed());
    // And is taken, as long as it comes.
    for stream in [1, 3, 5] {
        client.write(&frame(DATA, END_STREAM, stream, &[b'a'; 5_000])).expect("sent");
    }
    client.request(7, "/page").expect("sent");
    assert!(
        client.find(|frame| frame.kind == RST_STREAM || frame.stream == 7).is_some_and(|it| it.stream == 7)
    );
}

#[test]
fn a_stop_does_not_wait_for_a_client_that_is_idle_and_answers_nothing() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let mut gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    client.request(1, "/page").expect("sent");
    assert!(client.is_answered(1));
    let fresh = Http2::to(&authority, tls_address(&gateway));
    let silent = Http2::silent(&authority, tls_address(&gateway));
    crate::limits::is_counted(&gateway, "open", 3);
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(5)), Some(0));
    for mut client in [client, fresh] {
        // NO_ERROR is 0 (RFC 9113 §7).
        let is_goodbye = |frame: &crate::support::http2::H2Frame| {
            frame.kind == GOAWAY && frame.payload.get(4..8) == Some(&[0; 4])
        };
        client.find(is_goodbye).expect("a goodbye");
        client.closes();
    }
    drop(silent);
}

#[test]
fn a_body_that_nobody_takes_holds_up_no_other_one() {
    let (authority, origin) = (Authority::new(), RawOrigin::holding());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    // Those of the connection, and of the first stream (RFC 9113 §6.9.2).
    let mut windows = [65_535_i64, 65_535];
    let upload = [fields("POST", "/upload"), field("content-length", "100000000")].concat();
    client.write(&frame(HEADERS, END_HEADERS, 1, &upload)).expect("sent");
    client.be_patient_for(Duration::from_millis(500));
    // The origin reads none of it; what lies between fills up at some time.
    while !client.is_silent() {
        while let Some(size @ 1..) = windows.iter().min().map(|room| (*room).min(16_384)) {
            let piece = vec![b'a'; usize::try_from(size).expect("positive")];
            client.write(&frame(DATA, 0, 1, &piece)).expect("sent");
            windows = windows.map(|room| room - size);
        }
        client.find(|frame| {
            let is_more = frame.kind == WINDOW_UPDATE && frame.stream < 2;
            if is_more {
                let more = frame.payload.first_chunk().map_or(0, |more| u32::from_be_bytes(*more));
                windows[frame.stream as usize] += i64::from(more);
            }
            is_more
        });
    }
    assert!(windows[0] >= 65_535, "{windows:?}: another stream may send its first window");
    client.be_patient_for(Duration::from_secs(20));
    client.write(&frame(HEADERS, END_HEADERS, 3, &fields("POST", "/form"))).expect("sent");
    client.write(&frame(DATA, END_STREAM, 3, &[b'a'; 10_000])).expect("sent");
    until("the other body is at the origin", || (origin.heads().len() == 2).then_some(()));
    origin.release();
    assert!(client.is_answered(3));
}

#[test]
fn an_origin_says_itself_when_it_answered() {
    let authority = Authority::new();
    let origin = RawOrigin::answering(
        "HTTP/1.1 200 OK\r\nDate: Mon, 21 Oct 2013 20:13:21 GMT\r\nContent-Length: 2\r\n\r\nhi",
    );
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    client.request(1, "/page").expect("sent");
    let head = client.find(|frame| frame.kind == HEADERS && frame.stream == 1).expect("an answer");
    // In Huffman's code (RFC 7541 §C.6.1).
    let date = [
        0xd0, 0x7a, 0xbe, 0x94, 0x10, 0x54, 0xd4, 0x44, 0xa8, 0x20, 0x05, 0x95, 0x04, 0x0b, 0x81, 0x66, 0xe0,
        0x82, 0xa6, 0x2d, 0x1b, 0xff,
    ];
    assert!(head.payload.windows(date.len()).any(|bytes| bytes == date), "{head:?}");
}

#[test]
fn a_fragment_is_refused_under_a_name_of_the_clients_own_table_too() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    let parts = [(":method", "GET"), (":scheme", "https"), (":authority", "a.example")];
    let parts: Vec<u8> = parts.iter().flat_map(|(name, value)| field(name, value)).collect();
    // A literal whose name is new and put into the table, and one whose name is its newest (RFC 7541 §6.2).
    for (stream, path) in [(1, &b"\x40\x05:path\x05/page"[..]), (3, b"\x0f\x2f\x07/page#f")] {
        let head = [&parts[..], path].concat();
        client.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).expect("sent");
        let came = client.find(|frame| frame.stream == stream).expect("an answer");
        assert_eq!(came.payload.first() == Some(&0x88), stream == 1, "{came:?}");
    }
    assert_eq!(origin.heads().len(), 1);
}

/// As nginx does: the client hears what it would have got, and then that it does not get it.
#[test]
fn an_answer_that_the_origin_cuts_short_keeps_its_head() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\nno size\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
    ] {
        let authority = Authority::new();
        let gateway = site(&authority, &once(answer)).start();
        let mut client = Http2::to(&authority, tls_address(&gateway));
        client.request(1, "/page").expect("sent");
        assert!(client.is_answered(1), "{answer}");
        let mut taken = Vec::new();
        let end = client.find(|frame| {
            taken.extend_from_slice(if frame.kind == DATA { &frame.payload } else { &[] });
            assert!(frame.stream == 0 || frame.flags & END_STREAM == 0, "it is not whole: {frame:?}");
            frame.stream == 1 && frame.kind == RST_STREAM
        });
        assert!(end.is_some(), "{answer}");
        assert!(
            b"hello".starts_with(&taken) && (answer.ends_with("\r\n\r\n") || !taken.is_empty()),
            "{taken:?}"
        );
    }
}

/// The address of an origin that says so much and hangs up.
fn once(answer: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4_096];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

/// gRPC needs trailers from the origin to the client, and has a word for a server that does not serve it.
#[test]
fn grpc_is_told_that_it_is_not_served_here() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut client = Http2::to(&authority, tls_address(&gateway));
    for (stream, kind) in
        [(1, "application/grpc"), (3, "application/grpc+proto"), (5, "Application/gRPC; x=y")]
    {
        let head =
            [fields("POST", "/a.Service/Method"), field("content-type", kind), field("te", "trailers")];
        client.write(&frame(HEADERS, END_HEADERS, stream, &head.concat())).expect("sent");
        let answer = client.find(|frame| frame.kind == HEADERS && frame.stream == stream).expect("an answer");
        assert!(answer.flags & END_STREAM != 0, "trailers alone: {answer:?}");
        assert_eq!(answer.payload.first(), Some(&0x88), "200: {answer:?}");
        client.write(&frame(DATA, END_STREAM, stream, &[0; 5])).expect("sent");
    }
    let post =
        |kind: &str| gateway.send(&request("POST", "/x").for_host("a.example").with("Content-Type", kind));
    let answer = post("application/grpc");
    assert_eq!((answer.status, answer.header("grpc-status")), (200, Some("12")));
    assert!(answer.header("grpc-message").is_some_and(|text| text.contains("HTTP/1.1")), "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/grpc"));
    // It is made for what passes trailers on as part of the body.
    post("application/grpc-web+proto").came_from_origin();
    assert!(!origin.received().iter().any(|line| line.contains("Method")));
}

#[test]
fn an_origin_that_speaks_only_http2_is_told_of_as_such() {
    let authority = Authority::new();
    // What servers of HTTP/2 begin with, whatever they are sent: SETTINGS (RFC 9113 §3.4).
    let plain = once("\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d");
    let (plain, encrypted) = (
        format!("\"{plain}\""),
        format!("{{ servers = [\"https://{}\"], ca = \"ca.pem\" }}", only_http2(&authority)),
    );
    for origin in [plain, encrypted] {
        let config = format!("[[sites]]\norigin = {origin}\nrobots = \"robots.txt\"");
        let gateway = configured(&config).file("robots.txt", ROBOTS).file("ca.pem", authority.pem()).start();
        assert_eq!(gateway.send(&get("/page")).status, 502);
        let line = gateway.log.line_with(&["only HTTP/2"]);
        assert!(line.contains("an origin that speaks only HTTP/2"), "{line}");
    }
}

/// The address of an origin that agrees to HTTP/2 alone in its handshakes (RFC 7301 §3.2).
fn only_http2(authority: &Authority) -> String {
    let (chain, key) = authority.pair(&["127.0.0.1"]);
    let chain =
        CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<Vec<_>, _>>().expect("a chain");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider);
    let server = server.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
    let mut server = server.with_single_cert(chain, key).expect("a server");
    server.alpn_protocols = vec![b"h2".to_vec()];
    let server = std::sync::Arc::new(server);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut tls = rustls::ServerConnection::new(std::sync::Arc::clone(&server)).expect("a server");
            while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
            let _ = tls.write_tls(&mut stream);
        }
    });
    address.to_string()
}
