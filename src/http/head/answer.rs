//! The head of an origin's answer (RFC 9112 §4), and what of it concerns the connection to the origin alone.

use super::request::{ConnectionOptions, HttpVersion};
use super::{Body, is_hop_by_hop, is_token, number, trimmed};
use std::time::Duration;

/// More fields than an answer may have.
const MOST_FIELDS: usize = 2_048;

/// Room for the fields of a usual answer.
const USUAL_FIELDS: usize = 16;

/// More interim answers than one request has use for, and more bytes of them.
const MOST_INTERIM: usize = 32;
const MOST_INTERIM_BYTES: usize = 64 * 1024;

/// How large the head of an answer may be, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// The head is none: what an origin answered is passed on to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerError;

/// A whole head of an answer.
#[derive(Clone, Debug)]
pub struct AnswerHead<'a> {
    /// Its length in bytes.
    pub length: usize,
    /// The status code.
    pub status: u16,
    /// The words behind the status code.
    pub reason: &'a str,
    /// The version that the origin answered in.
    pub version: HttpVersion,
    fields: Vec<(&'a [u8], &'a [u8])>,
    /// What it says of its connection.
    pub options: ConnectionOptions,
    /// The length that it declares, which the answer to HEAD does not have.
    pub content_length: Option<u64>,
    is_chunked: bool,
    /// Whether it names the coding that is none.
    is_identity: bool,
}

/// What has come of interim answers before an answer. An origin that sends them without end answers nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterimAnswers {
    count: usize,
    bytes: usize,
}

impl InterimAnswers {
    /// Takes note of one.
    ///
    /// # Errors
    /// When they are more, or more bytes, than one request has use for.
    pub const fn note(&mut self, head: &AnswerHead<'_>) -> Result<(), AnswerError> {
        self.count += 1;
        self.bytes += head.length;
        if self.count > MOST_INTERIM || self.bytes > MOST_INTERIM_BYTES { Err(AnswerError) } else { Ok(()) }
    }
}

impl<'a> AnswerHead<'a> {
    /// Reads a head at the beginning of `bytes`; `None` where more bytes are needed. It is read as nginx reads it, who
    /// takes what leaves no doubt about where lines and messages end.
    ///
    /// # Errors
    /// When there is no head, or one that recipients could frame in two ways.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>, AnswerError> {
        if !bytes.starts_with(b"HTTP/") && !b"HTTP/".starts_with(bytes) {
            return Err(AnswerError);
        }
        let mut lines = AnswerLines { bytes, at: 0, returns: 0 };
        let Some(line) = lines.next()? else { return lines.more() };
        let (version, status, reason) = status_line(line).ok_or(AnswerError)?;
        let mut fields = Vec::with_capacity(USUAL_FIELDS);
        loop {
            let Some(line) = lines.next()? else { return lines.more() };
            if line.is_empty() {
                break;
            }
            if fields.len() >= MOST_FIELDS {
                return Err(AnswerError);
            }
            fields.push(field(line).ok_or(AnswerError)?);
        }
        lines.check()?;
        let mut head = Self {
            length: lines.at,
            status,
            reason,
            version,
            fields,
            options: ConnectionOptions::default(),
            content_length: None,
            is_chunked: false,
            is_identity: false,
        };
        head.note_framing()?;
        Ok(Some(head))
    }

    fn note_framing(&mut self) -> Result<(), AnswerError> {
        let (mut length, mut is_chunked) = (None, false);
        for (name, value) in &self.fields {
            match name.len() {
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    for option in value.split(|byte| *byte == b',').map(trimmed) {
                        if is_token(option) {
                            self.options.note(option);
                        }
                    }
                }
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    // RFC 9112 §6.3: the same number twice is one.
                    for digits in value.split(|byte| *byte == b',').map(trimmed) {
                        let number = number(digits).ok_or(AnswerError)?;
                        if length.replace(number).is_some_and(|before| before != number) {
                            return Err(AnswerError);
                        }
                    }
                }
                17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                    let is_second = is_chunked || self.is_identity;
                    is_chunked = value.eq_ignore_ascii_case(b"chunked");
                    // RFC 2616 §3.6: no coding at all.
                    self.is_identity = value.eq_ignore_ascii_case(b"identity");
                    if is_second || !(is_chunked || self.is_identity) {
                        return Err(AnswerError);
                    }
                }
                _ => {}
            }
        }
        // RFC 9112 §6.1: HTTP/1.0 knows no transfer codings. §6.3: both are an attempt at smuggling.
        if is_chunked && (self.version == HttpVersion::Http10 || length.is_some()) {
            return Err(AnswerError);
        }
        (self.content_length, self.is_chunked) = (length, is_chunked);
        Ok(())
    }

    /// Whether another answer follows this one (RFC 9110 §15.2).
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// The body that follows in answer to `method` (RFC 9112 §6.3).
    pub fn body(&self, method: &str) -> Body {
        match (self.status, self.is_chunked, self.content_length) {
            (100..=199 | 204 | 304, ..) => Body::None,
            _ if method == "HEAD" => Body::None,
            (_, true, _) => Body::UnknownLength,
            (_, false, Some(length)) => Body::Length(length),
            (_, false, None) => Body::UntilClose,
        }
    }

    /// Whether the origin takes a next request on the connection (RFC 9112 §9.3).
    pub const fn keeps_alive(&self) -> bool {
        match self.version {
            HttpVersion::Http10 => self.options.keep_alive && !self.options.close,
            // Who is told of a coding that is none may have meant another end.
            _ => !self.options.close && !self.is_identity,
        }
    }

    /// For how long a connection may be used again that the origin keeps for a time which it names (RFC 2068 §19.7.1.1): a
    /// fifth less, since it counts from another moment.
    pub fn keep_alive_timeout(&self) -> Option<Duration> {
        let parameters = std::str::from_utf8(self.get("keep-alive")?).ok()?.split(',');
        let mut seconds = parameters.filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("timeout").then(|| value.trim().parse::<u32>().ok())?
        });
        seconds.next().map(|seconds| Duration::from_secs(seconds.into()) * 4 / 5)
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        let mut fields = self.fields.iter();
        fields.find(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| *value)
    }

    /// The fields that concern the page: all but those of the connection, of which [`Self::body`] tells the rest.
    pub fn page_fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.fields
            .iter()
            .copied()
            .filter(|(name, _)| !(is_hop_by_hop(name) || self.options.names_fields && self.is_named(name)))
    }

    /// Whether `Connection` names a field.
    fn is_named(&self, name: &[u8]) -> bool {
        let lines = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(b"connection"));
        lines
            .flat_map(|(_, value)| value.split(|byte| *byte == b','))
            .any(|option| trimmed(option).eq_ignore_ascii_case(name))
    }
}

/// The lines of a head, each ended by LF, and CR before it or not (RFC 9112 §2.2).
struct AnswerLines<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many of them CR LF has ended.
    returns: usize,
}

impl<'a> AnswerLines<'a> {
    /// The next line without its end; `None` where it is not whole.
    #[inline]
    fn next(&mut self) -> Result<Option<&'a [u8]>, AnswerError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else { return Ok(None) };
        self.at += end + 1;
        let line = rest.get(..end).unwrap_or_default();
        if self.at > MOST_BYTES {
            return Err(AnswerError);
        }
        let Some(line) = line.strip_suffix(b"\r") else { return Ok(Some(line)) };
        self.returns += 1;
        Ok(Some(line))
    }

    /// Looks for NUL and CR within the lines that were read: recipients disagree on what they mean. One look at all lines
    /// costs a fifth of one at each.
    fn check(&self) -> Result<(), AnswerError> {
        let head = self.bytes.get(..self.at).unwrap_or_default();
        let returns = memchr::memchr_iter(b'\r', head).count();
        if returns == self.returns && memchr::memchr(b'\0', head).is_none() {
            Ok(())
        } else {
            Err(AnswerError)
        }
    }

    /// More is needed, unless there is too much already.
    const fn more<T>(&self) -> Result<Option<T>, AnswerError> {
        if self.bytes.len() < MOST_BYTES { Ok(None) } else { Err(AnswerError) }
    }
}

/// `HTTP-version SP status-code SP reason-phrase` (RFC 9112 §4). Any version counts: the origin answers what was asked in
/// HTTP/1.1. Words that are no plain text are left out.
fn status_line(line: &[u8]) -> Option<(HttpVersion, u16, &str)> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let (version, rest) = rest.split_at_checked(memchr::memchr(b' ', rest)?)?;
    let version = match version {
        b"1.0" | b"0.9" => HttpVersion::Http10,
        [major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => HttpVersion::Http11,
        _ => return None,
    };
    let (digits, reason) = trimmed(rest).split_at_checked(3)?;
    if !digits.iter().all(u8::is_ascii_digit) || !matches!(reason, [] | [b' ', ..]) {
        return None;
    }
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(*digit - b'0'));
    let reason = std::str::from_utf8(trimmed(reason)).unwrap_or_default();
    let reason = if reason.contains(char::is_control) { "" } else { reason };
    (status >= 100).then_some((version, status, reason))
}

/// A field line (RFC 9112 §5). A name is what stands before the colon, without blanks and control bytes; a value is what
/// stands behind it.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| matches!(byte, 0..=b' ' | b':' | 0x7f)).filter(|end| *end > 0)?;
    let (name, value) = line.split_at_checked(end)?;
    Some((name, trimmed(value.strip_prefix(b":")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> AnswerHead<'_> {
        AnswerHead::read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_body_follows_from_status_method_and_fields() {
        let head = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!((head.length, head.status, head.reason), (38, 200, "OK"));
        assert_eq!((head.body("GET"), head.body("HEAD")), (Body::Length(5), Body::None));
        assert_eq!(head.content_length, Some(5));
        assert_eq!(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n").body("GET"), Body::None);
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").body("GET"),
            Body::UnknownLength
        );
        assert_eq!(read("HTTP/1.0 200 OK\r\n\r\n").body("GET"), Body::UntilClose);
        assert_eq!(read("HTTP/2.0 200 OK\r\nContent-Length: 2, 2\r\n\r\n").body("GET"), Body::Length(2));
        let head = read("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n");
        assert_eq!((head.body("GET"), head.keeps_alive()), (Body::Length(2), false));
    }

    #[test]
    fn an_origin_says_for_how_long_it_keeps_a_connection() {
        let said = |value: &str| {
            read(&format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n")).keep_alive_timeout()
        };
        assert_eq!(said("timeout=5"), Some(Duration::from_secs(4)));
        assert_eq!(said("max=100, Timeout = 2"), Some(Duration::from_millis(1_600)));
        assert_eq!((said("timeout=x"), said("5"), said("timeout=-1")), (None, None, None));
    }

    #[test]
    fn answers_that_can_be_framed_in_two_ways_are_none() {
        for fields in [
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: +5",
            "Content-Length: 5, 6",
            "Content-Length: 5,",
            "Content-Length: 5\0",
            "A: b\0c",
            "A: b\rc",
            " A: b",
            "A\x01: b",
            "no colon",
            "Transfer-Encoding: identity, chunked",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "A b: c",
            ": c",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
            assert_eq!(AnswerHead::read(text.as_bytes()).unwrap_err(), AnswerError, "{fields}");
        }
        let old = b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(AnswerHead::read(old).unwrap_err(), AnswerError);
        assert_eq!(AnswerHead::read(b"SSH-2.0-x\r\n").unwrap_err(), AnswerError);
        assert!(AnswerHead::read(b"HTTP/1.1 200 OK\r\nA: b\r\n").unwrap().is_none());
    }

    #[test]
    fn fields_of_the_connection_go_no_further() {
        let head = read(
            "HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nServer: x\r\n\
             Content-Length: 0\r\nTrailer: a\r\n\r\n",
        );
        assert!(!head.keeps_alive());
        let fields: Vec<_> = head.page_fields().collect();
        assert_eq!(fields, [(&b"Server"[..], &b"x"[..])]);
    }
}
