//! The head of a request as every later stage reads it, whatever version of HTTP it came in.

use super::field::Field;
use super::framing::Framing;
use super::{Body, SIGNATURE_INPUT, is_same, trimmed};
use std::borrow::Cow;
use std::ops::Range;

/// The version of HTTP that a message was sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

impl HttpVersion {
    /// As access logs write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
        }
    }
}

/// A part of a head's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadSpan {
    start: u32,
    end: u32,
}

impl HeadSpan {
    pub(super) fn new(range: Range<usize>) -> Self {
        // A head is at most 1 MiB long.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: place(range.start), end: place(range.end) }
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Where a field's name and value lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSpans {
    pub(super) name: HeadSpan,
    pub(super) value: HeadSpan,
}

/// What `Connection` says (RFC 9110 §7.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct ConnectionOptions {
    /// The sender wants no further message on this connection.
    pub close: bool,
    /// The sender of HTTP/1.0 wants to go on.
    pub keep_alive: bool,
    /// The message offers another protocol.
    pub upgrade: bool,
    /// It names other fields, which go no further.
    pub names_fields: bool,
}

/// A whole head that holds no fault.
#[derive(Clone, Debug)]
pub struct RequestHead {
    bytes: Vec<u8>,
    method: HeadSpan,
    target: HeadSpan,
    fields: Vec<FieldSpans>,
    scheme: Option<HeadSpan>,
    /// The version it was sent in.
    pub version: HttpVersion,
    /// What follows it.
    pub body: Body,
    /// What it says of its connection.
    pub options: ConnectionOptions,
    /// Whether its sender says what was signed of it (RFC 9421).
    pub is_signed: bool,
}

impl RequestHead {
    pub(super) const fn of_spans(
        bytes: Vec<u8>,
        [method, target]: [HeadSpan; 2],
        fields: Vec<FieldSpans>,
        version: HttpVersion,
        body: Body,
        framing: Framing,
    ) -> Self {
        let Framing { options, is_signed, .. } = framing;
        Self { bytes, method, target, scheme: None, fields, version, body, options, is_signed }
    }

    /// A head that did not come as text, as of HTTP/2.
    pub fn from_parts<'a>(
        [method, target]: [&[u8]; 2],
        scheme: Option<&[u8]>,
        version: HttpVersion,
        body: Body,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(512);
        let mut put = |part: &[u8]| {
            let start = bytes.len();
            bytes.extend_from_slice(part);
            HeadSpan::new(start..bytes.len())
        };
        let (method, target, scheme) = (put(method), put(target), scheme.map(&mut put));
        let mut is_signed = false;
        let fields = fields.map(|(name, value)| {
            is_signed |= is_same(name, SIGNATURE_INPUT);
            FieldSpans { name: put(name), value: put(trimmed(value)) }
        });
        let fields = fields.collect();
        let options = ConnectionOptions::default();
        Self { bytes, method, target, fields, scheme, version, body, options, is_signed }
    }

    /// Its bytes: of a head that came as text, all of it as it was sent.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The method, which is a token (RFC 9110 §9.1).
    pub fn method(&self) -> &str {
        std::str::from_utf8(self.method.of(&self.bytes)).unwrap_or_default()
    }

    /// Whether that is its method, which compares with case.
    pub fn has_method(&self, method: &str) -> bool {
        self.method.of(&self.bytes) == method.as_bytes()
    }

    /// Whether the answer is sent without its body (RFC 9110 §9.3.2).
    pub fn is_head(&self) -> bool {
        self.has_method("HEAD")
    }

    /// The target as sent (RFC 9112 §3.2).
    pub fn target(&self) -> &[u8] {
        self.target.of(&self.bytes)
    }

    /// The scheme, which only HTTP/2 says.
    pub fn scheme(&self) -> Option<&[u8]> {
        self.scheme.map(|scheme| scheme.of(&self.bytes))
    }

    /// All fields in order, names as sent.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| (field.name.of(&self.bytes), field.value.of(&self.bytes)))
    }

    /// How many field lines there are.
    pub const fn field_count(&self) -> usize {
        self.fields.len()
    }

    /// The values of a field, line by line.
    pub fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
        let is_same = move |field: &&FieldSpans| is_same(field.name.of(&self.bytes), name);
        self.fields.iter().filter(is_same).map(|field| field.value.of(&self.bytes))
    }

    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value of a field, where it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// All lines of a field with `between` between them; borrowed where there is one line, as nearly always.
    pub fn joined(&self, name: &str, between: &[u8]) -> Option<Cow<'_, [u8]>> {
        let mut lines = self.all(name);
        let (first, second) = (lines.next()?, lines.next());
        let Some(second) = second else { return Some(Cow::Borrowed(first)) };
        let all: Vec<&[u8]> = [first, second].into_iter().chain(lines).collect();
        Some(Cow::Owned(all.join(between)))
    }

    /// Whether its sender waits to be asked for the body (RFC 9110 §10.1.1).
    pub fn expects_to_be_asked(&self) -> bool {
        self.version != HttpVersion::Http10
            && self.get("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
    }

    /// Whether its sender offers to speak WebSocket from here on, in a form in which nobody can take the request for
    /// anything else (RFC 6455 §4.1, RFC 9110 §7.8). A protocol that the gateway cannot read would carry requests
    /// that nobody judges.
    pub fn is_websocket_handshake(&self) -> bool {
        self.options.upgrade
            && self.version == HttpVersion::Http11
            && self.has_method("GET")
            && self.body == Body::None
            && self.all("upgrade").all(|protocol| protocol.eq_ignore_ascii_case(b"websocket"))
            && self.all("upgrade").count() == 1
    }
}

impl ConnectionOptions {
    /// Takes note of one option.
    pub(super) fn note(&mut self, option: &[u8]) {
        match option.len() {
            5 if option.eq_ignore_ascii_case(b"close") => self.close = true,
            7 if option.eq_ignore_ascii_case(b"upgrade") => self.upgrade = true,
            10 if option.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
            _ => self.names_fields = true,
        }
    }
}

impl FieldSpans {
    /// Of a field whose line begins at `start`.
    pub(super) fn of(field: &Field<'_>, start: usize, value: usize) -> Self {
        let name = HeadSpan::new(start..start + field.name.len());
        Self { name, value: HeadSpan::new(value..value + field.value.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HeadLimits, HeadReader};
    use super::*;

    fn read(text: &str) -> RequestHead {
        let mut reader = HeadReader::new(HeadLimits { bytes: 10_000, fields: 50 });
        let Ok(Some(head)) = reader.read(&mut text.into()) else { panic!("{text}") };
        head
    }

    #[test]
    fn fields_are_found_whatever_their_case() {
        let head =
            read("\r\nPOST /a?b HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two:\t2 \r\nContent-Length: 3\r\n\r\n");
        assert_eq!((head.method(), head.target(), head.version), ("POST", &b"/a?b"[..], HttpVersion::Http11));
        assert_eq!(
            (head.get("HOST"), head.text("x-Two"), head.get("x-three")),
            (Some(&b"a"[..]), Some("1"), None)
        );
        assert_eq!(head.all("x-two").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(head.joined("x-two", b", ").as_deref(), Some(&b"1, 2"[..]));
        assert_eq!((head.body, head.field_count()), (Body::Length(3), 4));
    }

    #[test]
    fn a_head_in_parts_is_the_same_as_one_in_text() {
        let fields = [(&b"host"[..], &b"a"[..]), (b"cookie", b"x")];
        let sent = [(&b"host"[..], &b"a"[..]), (b"cookie", b"x \t")];
        let parts = [&b"GET"[..], b"/"];
        let head =
            RequestHead::from_parts(parts, Some(b"https"), HttpVersion::Http2, Body::None, sent.into_iter());
        assert_eq!((head.method(), head.target(), head.scheme()), ("GET", &b"/"[..], Some(&b"https"[..])));
        assert_eq!(head.fields().collect::<Vec<_>>(), fields);
    }

    #[test]
    fn connection_options_say_what_follows() {
        let options =
            |line: &str| read(&format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: {line}\r\n\r\n")).options;
        assert!(options("Close").close && options("keep-alive, x").keep_alive && options("x").names_fields);
        assert!(!options("close, keep-alive").names_fields);
    }

    #[test]
    fn only_a_websocket_handshake_is_one() {
        let is = |line: &str, fields: &str| {
            read(&format!("{line}\r\nHost: a\r\n{fields}\r\n")).is_websocket_handshake()
        };
        let get = "GET / HTTP/1.1";
        assert!(is(get, "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"));
        for (line, fields) in [
            (get, "Upgrade: websocket\r\n"),
            (get, "Connection: Upgrade\r\n"),
            (get, "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
            (get, "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n"),
            (get, "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"),
            ("POST / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            ("GET / HTTP/1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        ] {
            assert!(!is(line, fields), "{line} {fields}");
        }
    }
}
