//! A client of HTTP/2 (RFC 9113) that writes the frames it is told to, well-behaved or not.

use super::tls::{Authority, HTTP_2, TlsStream};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The connection preface (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame (RFC 9113 §4.1).
#[derive(Clone, Debug)]
pub(crate) struct H2Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// A connection.
pub(crate) struct Http2 {
    stream: TlsStream,
    unread: Vec<u8>,
    /// Whether the server said nothing for as long as a read may take.
    is_silent: bool,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field that is put into no table and whose text is plain (RFC 7541 §6.2.2).
pub(crate) fn field(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Vec<u8> {
    [vec![0], text(name.as_ref()), text(value.as_ref())].concat()
}

fn text(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut length = text.len();
    // An integer with a prefix of seven bits (RFC 7541 §5.1).
    if length < 127 {
        bytes.push(u8::try_from(length).expect("short"));
    } else {
        bytes.push(127);
        length -= 127;
        while length >= 128 {
            bytes.push(u8::try_from(length % 128).expect("small") | 128);
            length /= 128;
        }
        bytes.push(u8::try_from(length).expect("small"));
    }
    bytes.extend(text);
    bytes
}

/// The fields of a request for `target` of `a.example`.
pub(crate) fn fields(method: &str, target: &str) -> Vec<u8> {
    let parts = [(":method", method), (":scheme", "https"), (":authority", "a.example"), (":path", target)];
    parts.iter().flat_map(|(name, value)| field(name, value)).collect()
}

impl Http2 {
    /// Connects and says hello, without waiting for the answer.
    pub(crate) fn to(authority: &Authority, address: SocketAddr) -> Self {
        Self::silent(authority, address).introduced()
    }

    /// The same; none where there is no handshake.
    pub(crate) fn try_to(authority: &Authority, address: SocketAddr) -> Option<Self> {
        let stream = authority.connect(address, "a.example", HTTP_2).ok()?;
        Some(Self { stream, unread: Vec::new(), is_silent: false }.introduced())
    }

    fn introduced(mut self) -> Self {
        let hello = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        self.write(&hello).expect("sent");
        self
    }

    /// Connects and says nothing.
    pub(crate) fn silent(authority: &Authority, address: SocketAddr) -> Self {
        let stream = authority.connect(address, "a.example", HTTP_2).expect("a handshake");
        assert_eq!(stream.conn.alpn_protocol(), Some(b"h2".as_slice()));
        Self { stream, unread: Vec::new(), is_silent: false }
    }

    /// How long a read may take from now on.
    pub(crate) fn be_patient_for(&self, patience: Duration) {
        self.stream.sock.set_read_timeout(Some(patience)).expect("a limit");
    }

    /// Whether the last read ended because nothing came, rather than with the connection.
    pub(crate) const fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// How many bytes have come that were not read.
    pub(crate) fn waiting(&self) -> usize {
        self.stream.sock.peek(&mut vec![0; 16 << 20]).unwrap_or(0)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Sends a request without a body.
    pub(crate) fn request(&mut self, stream: u32, target: &str) -> std::io::Result<()> {
        self.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields("GET", target)))
    }

    /// The next frame; `None` at the end of the connection, however it comes.
    pub(crate) fn next(&mut self) -> Option<H2Frame> {
        loop {
            if let Some(head) = self.unread.get(..9) {
                let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
                if self.unread.len() >= 9 + length {
                    let bytes: Vec<u8> = self.unread.drain(..9 + length).collect();
                    let stream = u32::from_be_bytes([bytes[5] & 0x7f, bytes[6], bytes[7], bytes[8]]);
                    let payload = bytes[9..].to_vec();
                    return Some(H2Frame { kind: bytes[3], flags: bytes[4], stream, payload });
                }
            }
            let mut bytes = [0; 16_384];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Err(error) => {
                    self.is_silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                    return None;
                }
                Ok(count) => self.unread.extend(&bytes[..count]),
            }
        }
    }

    /// The first frame that `wanted` holds for, answering pings and settings meanwhile as a client must.
    pub(crate) fn find(&mut self, mut wanted: impl FnMut(&H2Frame) -> bool) -> Option<H2Frame> {
        loop {
            let next = self.next()?;
            if wanted(&next) {
                return Some(next);
            }
            let is_settings = next.kind == SETTINGS && next.flags & 1 == 0;
            let is_ping = next.kind == PING && next.flags & 1 == 0;
            let answer = match (is_settings, is_ping) {
                (true, _) => frame(SETTINGS, 1, 0, &[]),
                (_, true) => frame(PING, 1, 0, &next.payload),
                _ => continue,
            };
            if self.write(&answer).is_err() {
                return None;
            }
        }
    }

    /// Whether stream `stream` is answered 200.
    pub(crate) fn is_answered(&mut self, stream: u32) -> bool {
        // `:status: 200` is entry 8 of the static table (RFC 7541 appendix A).
        let answer = self.find(|frame| frame.kind == HEADERS && frame.stream == stream);
        answer.is_some_and(|frame| frame.payload.first() == Some(&0x88))
    }

    /// How long it takes until the server closes the connection.
    #[track_caller]
    pub(crate) fn closes(&mut self) -> Duration {
        let start = Instant::now();
        while self.next().is_some() {
            assert!(start.elapsed() < Duration::from_secs(20), "the connection stays open");
        }
        assert!(!self.is_silent(), "the connection stays open");
        start.elapsed()
    }
}
