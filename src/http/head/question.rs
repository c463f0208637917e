//! The head of another proxy's question at a door of `[authorize]`.
//!
//! Such a head carries fields of the proxy's client, as far as that proxy took them. A fault in one of them must not keep
//! the question from being answered, since a request that nobody answers for passes. So this reader keeps the fields of a
//! closed list, whatever bytes they hold, and leaves out all others before anything is counted or compared.

use super::request::ConnectionOptions;
use super::{Body, CompleteHead, HeadProgress, HttpFault, HttpVersion, RequestHead, trimmed};
use std::borrow::Cow;
use std::ops::Range;

/// The most bytes of a head. Proxies take heads of up to 1 MiB from their clients (Go's default), and add their own fields.
const LARGEST: usize = 2 * 1024 * 1024;

/// Reads one head of a question.
#[derive(Clone, Debug)]
pub struct QuestionReader {
    /// Whether the field of this name is read.
    is_read: fn(&[u8]) -> bool,
    /// Where the line begins that is not whole yet.
    line: usize,
    /// How far that line has been searched for its end.
    searched: usize,
    skipped: usize,
    request: Option<QuestionLine>,
    /// Names and values of the fields that are read.
    fields: Vec<[Range<usize>; 2]>,
    /// Whether the last line was such a field: then a folded line continues it.
    continues: bool,
    length: Option<u64>,
    is_chunked: bool,
    /// Whether it is uncertain where the body ends.
    has_no_end: bool,
    options: ConnectionOptions,
}

/// Where the parts of the request line lie.
#[derive(Clone, Debug)]
struct QuestionLine {
    method: Range<usize>,
    target: Range<usize>,
    is_1_0: bool,
}

impl QuestionReader {
    /// A reader of the next head, which keeps the fields whose names `is_read` admits.
    #[must_use]
    pub fn new(is_read: fn(&[u8]) -> bool) -> Self {
        Self {
            is_read,
            line: 0,
            searched: 0,
            skipped: 0,
            request: None,
            fields: Vec::new(),
            continues: false,
            length: None,
            is_chunked: false,
            has_no_end: false,
            options: ConnectionOptions::default(),
        }
    }

    /// Reads on. `bytes` are all bytes since reading began, those of earlier calls included.
    ///
    /// # Errors
    /// When there is no request line, or no end of the head within 2 MiB.
    pub fn read(&mut self, bytes: &[u8]) -> Result<HeadProgress, HttpFault> {
        while let Some(found) = bytes.get(self.searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let end = self.searched + found + 1;
            self.searched = end;
            // A line feed alone ends no line: it may be a byte of the client's.
            let Some(line) = bytes.get(self.line..end).and_then(|line| line.strip_suffix(b"\r\n")) else {
                continue;
            };
            let start = std::mem::replace(&mut self.line, end);
            match &self.request {
                None if line.is_empty() => self.skipped = end,
                None => self.request = Some(QuestionLine::read(line, start)?),
                Some(_) if line.is_empty() => {
                    let head = CompleteHead { skipped: self.skipped, end, body: self.body() };
                    return Ok(HeadProgress::Whole(head));
                }
                Some(_) => self.field(line, start),
            }
        }
        self.searched = bytes.len();
        if bytes.len() > LARGEST { Err(HttpFault::HeadSize) } else { Ok(HeadProgress::More) }
    }

    /// Takes a field line that begins at byte `start`.
    fn field(&mut self, line: &[u8], start: usize) {
        if let [b' ' | b'\t', ..] = line {
            // RFC 9112 §5.2: it continues the line before it.
            if let Some([_, value]) = self.fields.last_mut().filter(|_| self.continues) {
                value.end = start + line.len();
            }
            return;
        }
        self.continues = false;
        let Some(colon) = memchr::memchr(b':', line) else { return };
        let (name, rest) = line.split_at_checked(colon).unwrap_or_default();
        let rest = rest.get(1..).unwrap_or_default();
        let value = trimmed(rest);
        self.frame(name, value);
        if (self.is_read)(name) {
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let at = start + colon + 1 + blanks;
            self.fields.push([start..start + colon, at..at + value.len()]);
            self.continues = true;
        }
    }

    /// Takes note of fields that say where the message ends (RFC 9112 §6), and whether another one follows.
    fn frame(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"content-length") {
            let is_number = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
            self.has_no_end |= !is_number || self.length.is_some();
            self.length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.has_no_end |= self.is_chunked || !value.eq_ignore_ascii_case(b"chunked");
            self.is_chunked = true;
        } else if name.eq_ignore_ascii_case(b"connection") {
            value.split(|byte| *byte == b',').for_each(|option| self.options.note(trimmed(option)));
        }
    }

    /// Nobody reads the body of a question. Where its end is uncertain, the connection ends with the answer.
    fn body(&mut self) -> Body {
        self.has_no_end |= self.is_chunked && self.length.is_some();
        self.options.close |= self.has_no_end;
        match self.length {
            _ if self.has_no_end || self.is_chunked => Body::UnknownLength,
            Some(0) | None => Body::None,
            Some(length) => Body::Length(length),
        }
    }

    /// The head that was found whole in `bytes`.
    #[must_use]
    pub fn into_head(self, bytes: &[u8], head: CompleteHead) -> RequestHead {
        let request = self.request.unwrap_or(QuestionLine { method: 0..0, target: 0..0, is_1_0: false });
        let part = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
        let version = if request.is_1_0 { HttpVersion::Http10 } else { HttpVersion::Http11 };
        let fields: Vec<_> =
            self.fields.iter().map(|[name, value]| (part(name), on_one_line(part(value)))).collect();
        let fields = fields.iter().map(|(name, value)| (*name, &**value));
        let line = [part(&request.method), part(&request.target)];
        let mut whole = RequestHead::from_parts(line, None, version, head.body, fields);
        whole.options = self.options;
        whole
    }
}

/// A value without ends of lines in it: a blank takes the place of each (RFC 9112 §5.2).
fn on_one_line(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\r', b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let blank = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    Cow::Owned(value.iter().map(blank).collect())
}

impl QuestionLine {
    /// Reads `method SP request-target SP HTTP-version` (RFC 9112 §3) that begins at byte `at`.
    fn read(line: &[u8], at: usize) -> Result<Self, HttpFault> {
        let first = memchr::memchr(b' ', line).ok_or(HttpFault::RequestLine)?;
        let last = memchr::memrchr(b' ', line).filter(|last| *last > first).ok_or(HttpFault::RequestLine)?;
        let is_1_0 = match line.get(last + 1..) {
            Some(b"HTTP/1.1") => false,
            Some(b"HTTP/1.0") => true,
            _ => return Err(HttpFault::Version),
        };
        Ok(Self { method: at..at + first, target: at + first + 1..at + last, is_1_0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(name: &[u8]) -> bool {
        [&b"user-agent"[..], b"host"].iter().any(|own| name.eq_ignore_ascii_case(own))
    }

    fn read(fields: &[u8]) -> RequestHead {
        let bytes = [b"\r\nGET /a \xff HTTP/1.1\r\n", fields, b"\r\nGET /next"].concat();
        let mut reader = QuestionReader::new(is_read);
        for end in 0..bytes.len() - 9 {
            assert_eq!(reader.read(&bytes[..end]), Ok(HeadProgress::More), "{end}");
        }
        let Ok(HeadProgress::Whole(head)) = reader.read(&bytes) else { panic!("{bytes:?}") };
        assert_eq!((head.skipped, head.end), (2, bytes.len() - 9));
        reader.into_head(&bytes, head)
    }

    #[test]
    fn fields_of_the_list_are_read_whatever_bytes_they_hold_and_others_are_left_out() {
        for byte in 0..=u8::MAX {
            let own = [b"User-Agent: \t a", &[byte][..], b"b \r\nX: ", &[byte], b"\r\n", &[byte], b": c\r\n"];
            let head = read(&own.concat());
            let value = if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
            assert_eq!(head.get("user-agent"), Some(&[b'a', value, b'b'][..]), "{byte}");
            assert_eq!((head.target(), head.field_count()), (&b"/a \xff"[..], 1), "{byte}");
        }
    }

    #[test]
    fn every_line_of_a_field_is_read_and_folded_ones_belong_to_it() {
        let head = read(
            b"USER-AGENT: a\r\nX: y\r\n z\r\nuser-agent:b\r\n\tc\r\nno colon\r\n d\r\nUser-Agent : e\r\n",
        );
        assert_eq!(head.all("user-agent").collect::<Vec<_>>(), [&b"a"[..], b"b  \tc"]);
    }

    #[test]
    fn a_connection_goes_on_only_where_the_end_of_the_body_is_certain() {
        let of = |fields: &str| {
            let head = read(fields.as_bytes());
            (head.body, head.options.close)
        };
        assert_eq!(of(""), (Body::None, false));
        assert_eq!(of("Content-Length: 5\r\n"), (Body::Length(5), false));
        assert_eq!(of("Content_Length: 5\r\nTransfer.Encoding: x\r\n"), (Body::None, false));
        assert_eq!(of("Transfer-Encoding: chunked\r\n"), (Body::UnknownLength, false));
        assert_eq!(of("Connection: x, close\r\n"), (Body::None, true));
        for odd in [
            "Content-Length: 5\r\n".repeat(2).as_str(),
            "Content-Length: +5\r\n",
            "Content-Length:\r\n 5\r\n",
        ] {
            assert_eq!(of(odd), (Body::UnknownLength, true), "{odd}");
        }
        for odd in ["Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"] {
            assert_eq!(of(odd), (Body::UnknownLength, true), "{odd}");
        }
    }

    #[test]
    fn a_head_has_a_request_line_and_an_end() {
        let fault = |bytes: &[u8]| QuestionReader::new(is_read).read(bytes).unwrap_err();
        assert_eq!(fault(b"GET /\r\n"), HttpFault::RequestLine);
        assert_eq!(fault(b"GET / HTTP/2.0\r\n"), HttpFault::Version);
        let start = b"GET / HTTP/1.1\r\nX: ".to_vec();
        let long = |size: usize| [&start[..], &vec![b'a'; size - start.len()]].concat();
        assert_eq!(QuestionReader::new(is_read).read(&long(LARGEST)), Ok(HeadProgress::More));
        assert_eq!(fault(&long(LARGEST + 1)), HttpFault::HeadSize);
    }
}
