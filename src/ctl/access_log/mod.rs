//! Access logs of web servers: from bytes to requests.
//!
//! Two shapes, told apart line by line: the common and combined formats of Apache and nginx, with or without
//! the name of a host in front; and one JSON object a line, as nginx is configured to write or Caddy writes by
//! itself. What a server escaped is given back as the bytes that the client sent.

mod chunks;
mod combined;
mod json;
mod source;
mod time;

pub(super) use chunks::{Chunk, LogChunks};
pub(super) use source::{LogSource, sorted_by_time};

use crate::request::target::origin_form;
use crate::request::{RequestFacts, Scheme, host};
use std::borrow::Cow;
use std::net::IpAddr;

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogEntry<'a> {
    /// The host that was asked, as the log names it; most logs are of one host and do not.
    pub(super) host: Option<Cow<'a, str>>,
    /// The client.
    pub(super) address: Option<IpAddr>,
    /// When, in microseconds since 1970.
    pub(super) at: i64,
    /// The request line in its parts; `None` for what was no HTTP.
    pub(super) request: Option<LoggedRequest<'a>>,
    /// The status it was answered with.
    pub(super) status: Option<u16>,
    /// How many bytes the body of the answer had; `None` where the log does not say.
    pub(super) size: Option<u64>,
    /// Whether the answer had a content coding (RFC 9110 §8.4); `None` where the log does not say.
    pub(super) is_encoded: Option<bool>,
    /// Who it said it was.
    pub(super) agent: LoggedUserAgent<'a>,
}

/// Method and target as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedRequest<'a> {
    pub(super) method: Cow<'a, [u8]>,
    pub(super) target: Cow<'a, [u8]>,
}

/// What a log tells of the `User-Agent` header (RFC 9110 §10.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoggedUserAgent<'a> {
    /// There was one.
    Sent(Cow<'a, [u8]>),
    /// There was none, or an empty one.
    Absent,
    /// The log does not say. Nobody may be taken for nameless on the strength of that.
    Unlogged,
}

impl<'a> LogEntry<'a> {
    /// The request as the stages behind see it; `None` where its target is no path.
    pub(super) fn facts<'e>(
        &'e self,
        request: &'e LoggedRequest<'a>,
        method: &'e str,
    ) -> Option<RequestFacts<'e>> {
        Some(RequestFacts {
            scheme: Scheme::Http,
            method,
            host: host::normalise(self.host.as_deref().unwrap_or_default()),
            target: origin_form(&request.target)?,
            user_agent: self.agent.header().filter(|header| !header.is_empty()).map(Cow::Borrowed),
            address: self.address,
        })
    }
}

impl<'a> LoggedUserAgent<'a> {
    /// The header, empty where none was sent; `None` where the log does not tell.
    pub(super) fn header(&self) -> Option<&[u8]> {
        match self {
            Self::Sent(header) => Some(header),
            Self::Absent => Some(b""),
            Self::Unlogged => None,
        }
    }

    fn of(bytes: Cow<'a, [u8]>) -> Self {
        if bytes.is_empty() || *bytes == *b"-" { Self::Absent } else { Self::Sent(bytes) }
    }
}

impl<'a> LoggedRequest<'a> {
    /// Reads a request line (RFC 9112 §3). `None` for what is none, such as a TLS greeting at a plain port.
    fn parse(line: Cow<'a, [u8]>) -> Option<Self> {
        match line {
            Cow::Borrowed(line) => split(line).map(|(method, target)| Self {
                method: Cow::Borrowed(method),
                target: Cow::Borrowed(target),
            }),
            Cow::Owned(line) => split(&line).map(|(method, target)| Self {
                method: Cow::Owned(method.to_vec()),
                target: Cow::Owned(target.to_vec()),
            }),
        }
    }
}

/// Method and target. HTTP/0.9 has no version, and is no longer answered.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', line).filter(|end| *end > 0)?;
    let (method, rest) = (line.get(..end)?, line.get(end + 1..)?);
    let end = memchr::memchr(b' ', rest).filter(|end| *end > 0)?;
    let (target, version) = (rest.get(..end)?, rest.get(end + 1..)?);
    let is_method = method.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-' || *byte == b'_');
    (is_method && version.starts_with(b"HTTP/")).then_some((method, target))
}

/// Reads one line, without its end. `None` for what has no known shape. A line that is not UTF-8 may be read from `lossy`.
pub(super) fn parse<'a>(line: &'a [u8], lossy: &'a mut String) -> Option<LogEntry<'a>> {
    match line {
        [b'{', ..] => json::parse(line, lossy),
        _ => combined::parse(line),
    }
}
