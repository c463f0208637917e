//! The head of an origin's answer (RFC 9112 §4), and what of it concerns the connection to the origin alone.

use super::request::{ConnectionOptions, HttpVersion};
use super::{Body, is_hop_by_hop, is_token, trimmed};
use std::mem::MaybeUninit;

/// More fields than an answer may have.
const MOST_FIELDS: usize = 256;

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
    content_length: Option<u64>,
    is_chunked: bool,
}

impl<'a> AnswerHead<'a> {
    /// Reads a head at the beginning of `bytes`; `None` where more bytes are needed.
    ///
    /// # Errors
    /// When there is no head, or one that recipients could frame in two ways.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>, AnswerError> {
        let mut room = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; MOST_FIELDS];
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let status = config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut room);
        let length = match status.map_err(|_| AnswerError)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial if bytes.len() < MOST_BYTES => return Ok(None),
            httparse::Status::Partial => return Err(AnswerError),
        };
        let mut head = Self {
            length,
            status: parsed.code.filter(|status| (100..=999).contains(status)).ok_or(AnswerError)?,
            reason: parsed.reason.unwrap_or_default(),
            version: if parsed.version == Some(0) { HttpVersion::Http10 } else { HttpVersion::Http11 },
            fields: parsed.headers.iter().map(|field| (field.name.as_bytes(), field.value)).collect(),
            options: ConnectionOptions::default(),
            content_length: None,
            is_chunked: false,
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
                    let number = number(value).ok_or(AnswerError)?;
                    // RFC 9112 §6.3: the same number twice is one.
                    if length.replace(number).is_some_and(|before| before != number) {
                        return Err(AnswerError);
                    }
                }
                17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                    if is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                        return Err(AnswerError);
                    }
                    is_chunked = true;
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
    #[must_use]
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// The length that the head declares, which the answer to HEAD does not have.
    #[must_use]
    pub const fn declared_length(&self) -> Option<u64> {
        self.content_length
    }

    /// The body that follows in answer to `method` (RFC 9112 §6.3).
    #[must_use]
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
    #[must_use]
    pub const fn keeps_alive(&self) -> bool {
        match self.version {
            HttpVersion::Http10 => self.options.keep_alive && !self.options.close,
            _ => !self.options.close,
        }
    }

    /// The protocol that the origin switches to.
    #[must_use]
    pub fn upgrade(&self) -> Option<&'a [u8]> {
        self.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"upgrade")).map(|(_, value)| *value)
    }

    /// The value of a field, where it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.fields.iter();
        let (_, value) = fields.find(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))?;
        std::str::from_utf8(trimmed(value)).ok()
    }

    /// Whether there is such a field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))
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

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit - b'0')))
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
        assert_eq!(head.declared_length(), Some(5));
        assert_eq!(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n").body("GET"), Body::None);
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").body("GET"),
            Body::UnknownLength
        );
        assert_eq!(read("HTTP/1.0 200 OK\r\n\r\n").body("GET"), Body::UntilClose);
    }

    #[test]
    fn answers_that_can_be_framed_in_two_ways_are_none() {
        for fields in [
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: +5",
            "Content-Length: 5, 5",
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
