//! The head of a request: request line and field lines up to the empty line (RFC 9112 §2.1).
//!
//! Read as it arrives, every line once, so that a client that sends it byte by byte costs no more than one
//! that sends it whole, and a fault is known with the line that has it.

use super::authority::{Form, check_bytes, form};
use super::field::Field;
use super::framing::Framing;
use super::request::{FieldSpans, HeadSpan, HttpVersion, RequestHead};
use super::{Body, HttpFault, is_token};
use std::ops::Range;

/// How large a head may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes in all, the request line and the empty line included.
    pub bytes: usize,
    /// Field lines.
    pub fields: usize,
}

/// How many empty lines may stand before a request line (RFC 9112 §2.2 asks for one at least).
const EMPTY_LINES: usize = 2;

/// Room for the fields of a usual request.
const USUAL_FIELDS: usize = 16;

/// The longest target. The library's type for targets of HTTP/2 holds no longer ones.
pub(super) const LONGEST_TARGET: usize = 65_534;

/// Reads one head.
#[derive(Clone, Debug)]
pub struct HeadReader {
    limits: HeadLimits,
    /// Where the line begins that is not whole yet.
    line: usize,
    /// How far that line has been searched for its end.
    searched: usize,
    request: Option<RequestLine>,
    fields: Vec<FieldSpans>,
    framing: Framing,
}

/// Where the parts of the request line lie.
#[derive(Clone, Debug)]
struct RequestLine {
    method: Range<usize>,
    target: Range<usize>,
    version: HttpVersion,
}

impl HeadReader {
    /// A reader of the next head.
    pub fn new(limits: HeadLimits) -> Self {
        let framing = Framing::default();
        Self { limits, line: 0, searched: 0, request: None, fields: Vec::new(), framing }
    }

    /// Reads on. `bytes` are all bytes since reading began, those of earlier calls included. The head, once it is whole:
    /// then only what follows it is left in `bytes`.
    ///
    /// # Errors
    /// The first fault of the head.
    pub fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<RequestHead>, HttpFault> {
        while let Some(found) = bytes.get(self.searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let end = self.searched + found + 1;
            let start = std::mem::replace(&mut self.line, end);
            self.searched = end;
            self.check_size(end)?;
            let line = bytes.get(start..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r\n").ok_or(HttpFault::LineEnd)?;
            let body = self.line(bytes, line, start, end).map_err(|fault| {
                // A CR alone may stand nowhere, so that each line that has one has a fault.
                if memchr::memchr(b'\r', line).is_some() { HttpFault::LineEnd } else { fault }
            })?;
            if let Some(body) = body
                && let Some(RequestLine { method, target, version }) = self.request.take()
            {
                // Whichever is longer stays where it is: a request is not to hold memory for what followed its head.
                let bytes = if bytes.len() > 2 * end {
                    bytes.drain(..end).collect()
                } else {
                    let next = bytes.split_off(end);
                    std::mem::replace(bytes, next)
                };
                let (fields, parts) = (std::mem::take(&mut self.fields), [method, target].map(HeadSpan::new));
                return Ok(Some(RequestHead::of_spans(bytes, parts, fields, version, body, self.framing)));
            }
        }
        self.searched = bytes.len();
        self.check_size(bytes.len())?;
        Ok(None)
    }

    /// RFC 9112 §3 has a status of its own for a request line that is too long.
    const fn check_size(&self, bytes: usize) -> Result<(), HttpFault> {
        match (bytes > self.limits.bytes, &self.request) {
            (false, _) => Ok(()),
            (true, None) => Err(HttpFault::LineSize),
            (true, Some(_)) => Err(HttpFault::HeadSize),
        }
    }

    /// Takes a whole line; what follows the head where it was the last.
    fn line(
        &mut self,
        bytes: &[u8],
        line: &[u8],
        start: usize,
        end: usize,
    ) -> Result<Option<Body>, HttpFault> {
        let Some(request) = &self.request else {
            if line.is_empty() {
                return if end > 2 * EMPTY_LINES { Err(HttpFault::EmptyLines) } else { Ok(None) };
            }
            self.request = Some(RequestLine::read(line, start)?);
            self.fields = Vec::with_capacity(USUAL_FIELDS);
            return Ok(None);
        };
        if line.is_empty() {
            let part = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
            let form = form(part(&request.method), part(&request.target))?;
            let host = self.framing.host.and_then(|(start, end)| bytes.get(start..end));
            return self.framing.body(form, request.version == HttpVersion::Http10, host).map(Some);
        }
        if self.fields.len() >= self.limits.fields {
            return Err(HttpFault::HeadFields);
        }
        let field = Field::read(line)?;
        // Behind the colon only blanks were cut off.
        let behind = line.get(field.name.len() + 1..).unwrap_or_default();
        let value = start + line.len() - behind.trim_ascii_start().len();
        self.framing.note(&field, value)?;
        self.fields.push(FieldSpans::of(&field, start, value));
        Ok(None)
    }
}

/// Takes `method SP request-target SP HTTP-version` apart (RFC 9112 §3).
pub(super) fn split_line(line: &[u8]) -> Result<[&[u8]; 3], HttpFault> {
    let first = memchr::memchr(b' ', line).ok_or(HttpFault::RequestLine)?;
    let last = memchr::memrchr(b' ', line).filter(|last| *last > first).ok_or(HttpFault::RequestLine)?;
    Ok([0..first, first + 1..last, last + 1..line.len()].map(|part| line.get(part).unwrap_or_default()))
}

/// The version that a request line names.
pub(super) fn version(name: &[u8]) -> Result<HttpVersion, HttpFault> {
    match name {
        b"HTTP/1.1" => Ok(HttpVersion::Http11),
        b"HTTP/1.0" => Ok(HttpVersion::Http10),
        name if name.starts_with(b"HTTP/") => Err(HttpFault::Version),
        _ => Err(HttpFault::RequestLine),
    }
}

impl RequestLine {
    /// Reads a line that begins at byte `at`.
    fn read(line: &[u8], at: usize) -> Result<Self, HttpFault> {
        let [method, target, version_name] = split_line(line)?;
        if !is_token(method) {
            return Err(HttpFault::Method);
        }
        let version = version(version_name)?;
        if method == b"CONNECT" {
            return Err(HttpFault::Connect);
        }
        if target.is_empty() {
            return Err(HttpFault::RequestLine);
        }
        check_bytes(target)?;
        if target.len() > LONGEST_TARGET {
            return Err(HttpFault::LineSize);
        }
        // The form is known to be right before the rest of the head is waited for.
        let _: Form<'_> = form(method, target)?;
        let behind = at + method.len() + 1;
        Ok(Self { method: at..at + method.len(), target: behind..behind + target.len(), version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Body;

    const LIMITS: HeadLimits = HeadLimits { bytes: 1_000, fields: 5 };

    /// The body that a head announces, and where the head ends.
    type Found = Result<Option<(Body, usize)>, HttpFault>;

    fn more(reader: &mut HeadReader, bytes: &[u8]) -> Found {
        let mut left = bytes.to_vec();
        let head = reader.read(&mut left)?;
        assert!(bytes.ends_with(&left) && (head.is_some() || left.len() == bytes.len()));
        Ok(head.map(|head| (head.body, bytes.len() - left.len())))
    }

    fn read(bytes: &[u8]) -> Found {
        more(&mut HeadReader::new(LIMITS), bytes)
    }

    fn body(fields: &str) -> Result<Body, HttpFault> {
        match read(format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").as_bytes())? {
            Some((body, _)) => Ok(body),
            None => panic!("{fields}"),
        }
    }

    #[test]
    fn ends_where_the_empty_line_ends() {
        let bytes = b"\r\nGET /a HTTP/1.1\r\nHost: \t a \r\nX: y\r\n\r\nGET /b";
        assert_eq!(read(bytes), Ok(Some((Body::None, bytes.len() - 6))));
        for end in 0..bytes.len() - 6 {
            assert_eq!(read(bytes.get(..end).unwrap()), Ok(None), "{end}");
        }
    }

    #[test]
    fn byte_by_byte_is_the_same() {
        let bytes = b"OPTIONS * HTTP/1.1\r\nHost: a:80\r\nContent-Length: 12\r\n\r\n";
        let mut reader = HeadReader::new(LIMITS);
        for end in 0..bytes.len() {
            assert_eq!(more(&mut reader, bytes.get(..end).unwrap()), Ok(None));
        }
        assert_eq!(more(&mut reader, bytes), Ok(Some((Body::Length(12), bytes.len()))));
    }

    #[test]
    fn the_body_is_framed_in_one_way_or_not_at_all() {
        assert_eq!(body(""), Ok(Body::None));
        assert_eq!(body("Content-Length: 0\r\n"), Ok(Body::None));
        assert_eq!(body("content-length:7\r\n"), Ok(Body::Length(7)));
        assert_eq!(body("Transfer-Encoding: Chunked\r\n"), Ok(Body::UnknownLength));
        for bad in ["", "+5", "-1", "5,5", "0x5", "5 5", "1e3", "99999999999999999999", "\u{663}"] {
            assert_eq!(body(&format!("Content-Length: {bad}\r\n")), Err(HttpFault::ContentLength), "{bad}");
        }
        for bad in ["", "gzip", "gzip, chunked", "chunked, chunked", "chunked;q=1", "xchunked", "\"chunked\""]
        {
            assert_eq!(
                body(&format!("Transfer-Encoding: {bad}\r\n")),
                Err(HttpFault::TransferEncoding),
                "{bad}"
            );
        }
        let twice = "Content-Length: 5\r\nContent-Length: 5\r\n";
        assert_eq!(body(twice), Err(HttpFault::ContentLength));
        let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(body(twice), Err(HttpFault::TransferEncoding));
        for spelled in
            ["Content_Length: 5", "CONTENT.LENGTH: 0", "Transfer_Encoding: chunked", "transfer~encoding: x"]
        {
            assert_eq!(body(&format!("{spelled}\r\n")), Err(HttpFault::Spelling), "{spelled}");
        }
        let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(body(both), Err(HttpFault::TwoLengths));
        let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(old), Err(HttpFault::TransferEncoding));
    }

    #[test]
    fn one_host_and_the_same_as_in_the_target() {
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n"), Err(HttpFault::Host));
        assert!(matches!(read(b"GET / HTTP/1.0\r\n\r\n"), Ok(Some(_))));
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Err(HttpFault::Host));
        assert!(matches!(read(b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(Some(_))));
        assert_eq!(read(b"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"), Err(HttpFault::Authority));
    }

    #[test]
    fn request_lines_have_three_parts_and_one_space_between() {
        let fault = |line: &str| read(format!("{line}\r\nHost: a\r\n\r\n").as_bytes()).unwrap_err();
        assert_eq!(fault("GET /"), HttpFault::RequestLine);
        assert_eq!(fault("GET"), HttpFault::RequestLine);
        assert_eq!(fault("GET  / HTTP/1.1"), HttpFault::TargetBytes);
        assert_eq!(fault("GET /  HTTP/1.1"), HttpFault::TargetBytes);
        assert_eq!(fault(" GET / HTTP/1.1"), HttpFault::Method);
        assert_eq!(fault("GET\t/ HTTP/1.1"), HttpFault::RequestLine);
        assert_eq!(fault("GET / HTTP/1.1 "), HttpFault::RequestLine);
        assert_eq!(fault("GET / HTTP/2.0"), HttpFault::Version);
        assert_eq!(fault("GET / http/1.1"), HttpFault::RequestLine);
        assert_eq!(fault("G@T / HTTP/1.1"), HttpFault::Method);
        assert_eq!(fault("GET * HTTP/1.1"), HttpFault::Target);
        assert_eq!(fault("CONNECT a:80 HTTP/1.1"), HttpFault::Connect);
    }

    #[test]
    fn lines_end_in_cr_lf() {
        assert_eq!(read(b"GET / HTTP/1.1\nHost: a\r\n\r\n"), Err(HttpFault::LineEnd));
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"), Err(HttpFault::LineEnd));
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"), Err(HttpFault::LineEnd));
        assert_eq!(read(b"\n"), Err(HttpFault::LineEnd));
        assert_eq!(read(b"\r\n\r\n\r\n"), Err(HttpFault::EmptyLines));
    }

    #[test]
    fn heads_are_bounded() {
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(1_000));
        assert_eq!(read(long.as_bytes()), Err(HttpFault::LineSize));
        assert_eq!(read(&long.as_bytes()[..1_001]), Err(HttpFault::LineSize));
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "X: y\r\n".repeat(5));
        assert_eq!(read(many.as_bytes()), Err(HttpFault::HeadFields));
    }

    #[test]
    fn connection_names_options_of_this_connection() {
        assert_eq!(body("Connection: keep-alive, upgrade, , X-Mine\r\n"), Ok(Body::None));
        for bad in ["Host", "content-length", "User-Agent", "a b", "\"x\"", "X-Robots-Proof", "a@b"] {
            assert_eq!(body(&format!("Connection: close, {bad}\r\n")), Err(HttpFault::Connection), "{bad}");
        }
        let many = ["x"; 10].join(",");
        assert_eq!(body(&format!("Connection: {many}\r\n")), Err(HttpFault::Connection));
    }
}
