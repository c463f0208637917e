//! Answers, and how the head of one is written.

use bytes::Bytes;
use std::fmt::Display;

/// An answer of the gateway's own. `Content-Length` is set when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header fields as they are sent (RFC 9112 §5). Copies share them: a refusal is written once and sent often.
    fields: Bytes,
    /// The body, which the answer to HEAD is sent without.
    pub body: Bytes,
}

impl Response {
    /// An answer without header fields.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, fields: Bytes::new(), body: body.into() }
    }

    /// A short page: the status and a sentence.
    pub fn page(status: u16, sentence: impl Display) -> Self {
        let page = Self::new(status, format!("{status} {sentence}\n"));
        page.with("Content-Type", "text/plain; charset=utf-8").with("Cache-Control", "no-store")
    }

    /// The same with one more field.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let mut fields = Vec::from(self.fields);
        push_field(&mut fields, name.as_bytes(), value.as_ref());
        self.fields = fields.into();
        self
    }

    /// The header fields, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let lines = self.fields.split(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\r"));
        lines.filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            let name = std::str::from_utf8(line.get(..colon)?).ok()?;
            Some((name, line.get(colon + 1..)?.trim_ascii_start()))
        })
    }

    /// The answer as it is sent; that to HEAD has no body.
    pub fn written(&self, is_head: bool, date: &[u8], keeps_alive: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(160 + self.fields.len() + self.body.len());
        begin_head(&mut out, self.status, reason(self.status));
        out.extend_from_slice(&self.fields);
        // Neither has content. A 204 may announce none, and a 304 gains nothing by it (RFC 9110 §8.6).
        let has_content = !matches!(self.status, 204 | 304);
        if has_content {
            push_field(&mut out, b"Content-Length", itoa::Buffer::new().format(self.body.len()).as_bytes());
        }
        push_field(&mut out, b"Date", date);
        end_head(&mut out, keeps_alive);
        if !is_head && has_content {
            out.extend_from_slice(&self.body);
        }
        out
    }
}

/// Begins the head of an answer in HTTP/1.1 (RFC 9112 §4).
pub fn begin_head(out: &mut Vec<u8>, status: u16, reason: &str) {
    for part in ["HTTP/1.1 ", itoa::Buffer::new().format(status), " ", reason, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Writes a field.
pub fn push_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Ends a head, and says whether the connection goes on.
pub fn end_head(out: &mut Vec<u8>, keeps_alive: bool) {
    let end: &[u8] =
        if keeps_alive { b"Connection: keep-alive\r\n\r\n" } else { b"Connection: close\r\n\r\n" };
    out.extend_from_slice(end);
}

/// The usual words behind a status code.
fn reason(status: u16) -> &'static str {
    let status = ::http::StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(answer: &Response, is_head: bool, keeps_alive: bool) -> String {
        let written = answer.written(is_head, b"Sun, 06 Nov 1994 08:49:37 GMT", keeps_alive);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn an_answer_says_how_long_it_is_and_what_becomes_of_the_connection() {
        let page = Response::page(403, "no").with("x-a", "b");
        let head = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n\
                    x-a: b\r\nContent-Length: 7\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: ";
        assert_eq!(written(&page, false, true), format!("{head}keep-alive\r\n\r\n403 no\n"));
        assert_eq!(written(&page, true, false), format!("{head}close\r\n\r\n"));
        let fields: Vec<_> = page.fields().collect();
        assert_eq!(fields[1..], [("Cache-Control", &b"no-store"[..]), ("x-a", b"b")]);
        for status in [204, 304] {
            let text = written(&Response { status, ..page.clone() }, false, true);
            assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length"), "{text}");
        }
    }
}
