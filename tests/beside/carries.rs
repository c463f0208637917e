//! That a proxy which asks carries everything that it carries without asking: bodies of every size and kind, every method,
//! answers that take long or are large, `WebSockets`, HTTP/2 and gRPC.

use crate::scene::ask;
use crate::site::{LARGE, SLOW};
use crate::support::agents::{CHROME, GPTBOT};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// More than any default limit of a proxy's.
const BODY: usize = 3 << 20;

const METHODS: [&str; 7] = ["PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "MKCOL"];

/// A file with a body, for curl.
fn body() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), vec![b'a'; BODY]).expect("written");
    file
}

/// What is carried over HTTP/1.1 or, with `version` as an option of curl's, another one.
pub(crate) fn carries_bodies_and_methods(port: u16, host: &str, version: &[&str]) {
    let file = body();
    let data = format!("@{}", file.path().display());
    // HTTP/2 has no chunks (RFC 9113 §8.2.2).
    let is_http1 = version == ["--http1.1"];
    for field in
        [Some("Expect:"), Some("Expect: 100-continue"), is_http1.then_some("Transfer-Encoding: chunked")]
    {
        let Some(field) = field else { continue };
        let upload = [version, &["-X", "POST", "--data-binary", &data, "-H", field]].concat();
        let answer = ask(port, host, "/private/upload", &[&upload[..], &["-A", CHROME]].concat());
        let whole = answer.text.contains(&format!("body: {BODY}\n"));
        assert!(answer.status == 200 && whole, "{version:?} {field}: {answer:?}");
        // Over HTTP/2 an answer before the whole body ends the stream, which curl takes for a fault.
        if is_http1 {
            let refused = ask(port, host, "/private/upload", &[&upload[..], &["-A", GPTBOT]].concat());
            assert_eq!(refused.status, 403, "{field}: {refused:?}");
        }
    }
    for method in METHODS {
        let by = |agent| ask(port, host, "/private/page", &[version, &["-X", method, "-A", agent]].concat());
        let answer = by(CHROME);
        let told = answer.text.contains(&format!("origin: {method} /private/page\n"));
        assert!(answer.status == 200 && told, "{version:?} {method}: {answer:?}");
        assert_eq!(by(GPTBOT).status, 403, "{version:?} {method}");
    }
    let head = |agent| ask(port, host, "/private/page", &[version, &["-I", "-A", agent]].concat()).status;
    assert_eq!((head(CHROME), head(GPTBOT)), (200, 403), "{version:?} HEAD");
    let page = |target| ask(port, host, target, &[version, &["-A", CHROME]].concat());
    assert_eq!(page("/private/slow").status, 200, "{version:?} slow");
    assert!(page("/private/large").text.len() > LARGE, "{version:?} large");
}

/// Opens a WebSocket that stays, be it silent for longer than the proxy waits for the gateway.
pub(crate) fn carries_websockets(port: u16, host: &str) {
    let open = |agent: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let head = format!(
            "GET /private/socket HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error} after {answer:?}"));
            answer.extend(byte);
        }
        (stream, String::from_utf8_lossy(&answer).into_owned())
    };
    assert!(open(GPTBOT).1.starts_with("HTTP/1.1 403 "));
    let (mut stream, answer) = open(CHROME);
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    for _ in 0..2 {
        let sent = vec![b'a'; 64 << 10];
        let mut writer = stream.try_clone().expect("a copy");
        let copy = sent.clone();
        let writing = thread::spawn(move || writer.write_all(&copy));
        let mut echoed = vec![0; sent.len()];
        stream.read_exact(&mut echoed).expect("the echo");
        writing.join().expect("no panic").expect("sent");
        assert_eq!(echoed, sent);
        thread::sleep(SLOW);
    }
}

/// A call of gRPC comes back with its message and its trailers; a crawler's is refused.
pub(crate) fn carries_grpc(port: u16, host: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), b"\0\0\0\0\x05hello").expect("written");
    let data = format!("@{}", file.path().display());
    let by = |agent| {
        let call = ["--http2-prior-knowledge", "-H", "Content-Type: application/grpc", "-H", "TE: trailers"];
        ask(
            port,
            host,
            "/private.Service/Call",
            &[&call[..], &["--data-binary", &data, "-A", agent]].concat(),
        )
    };
    let answer = by("grpc-go/1.60.0");
    let whole = answer.text.contains("hello") && answer.text.contains("grpc-status: 0");
    assert!(answer.status == 200 && whole, "{answer:?}");
    // Envoy says it as gRPC does: PERMISSION_DENIED.
    let refused = by(GPTBOT);
    let says_so = refused.status == 403 || refused.text.contains("grpc-status: 7");
    assert!(says_so && !refused.text.contains("hello"), "{refused:?}");
}
