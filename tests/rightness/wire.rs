//! Bytes to the gateway, and bytes back.

use crate::support::tls::{Authority, HTTP_1};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.set_write_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

/// Sends bytes and reads until the gateway closes; a reset counts as the end.
#[track_caller]
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    // The gateway may close before it has taken everything.
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

/// The same over TLS, which both sides agree to speak HTTP/1.1 over (RFC 7301).
#[track_caller]
pub(crate) fn exchange_over_tls(authority: &Authority, address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = authority.connect(address, "a.example", HTTP_1).expect("a handshake");
    assert_eq!(stream.conn.alpn_protocol(), Some(b"http/1.1".as_slice()));
    let _ = stream.write_all(bytes).and_then(|()| stream.flush());
    rest(&mut stream)
}

/// Everything that still comes.
#[track_caller]
pub(crate) fn rest(stream: &mut impl Read) -> Vec<u8> {
    let (mut answer, mut bytes) = (Vec::new(), [0; 16_384]);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return answer,
            Ok(count) => answer.extend(&bytes[..count]),
            // Over TLS the end may come without a goodbye.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof) => {
                return answer;
            }
            Err(error) => panic!("{error}; so far: {}", answer.escape_ascii()),
        }
    }
}

/// The statuses of all answers in `bytes`, as far as status lines can be told.
pub(crate) fn statuses(bytes: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.match_indices("HTTP/1.1 ")
        .filter_map(|(at, mark)| text.get(at + mark.len()..)?.get(..3)?.parse().ok())
        .collect()
}

/// Bytes up to and with `end`.
#[track_caller]
pub(crate) fn read_until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end) {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => bytes.push(byte[0]),
            other => panic!("{other:?} instead of {}; so far: {}", end.escape_ascii(), bytes.escape_ascii()),
        }
    }
    bytes
}
