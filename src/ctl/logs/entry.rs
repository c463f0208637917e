//! One request of a log, put together from the fields that a line has.

use super::guess::is_status;
use super::names::LogField;
use super::time;
use crate::request::target::origin_form;
use crate::request::{RequestFacts, Scheme, host};
use bytes::Bytes;
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use strum::EnumCount as _;

/// A method, and a target as sent.
type MethodAndTarget<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// One line of a log. Its texts are pieces of what was read, so that they go from the thread that reads to the one that judges
/// without a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ctl) struct LogEntry {
    /// The host that was asked, as the log names it; most logs are of one host and do not.
    pub(in crate::ctl) host: Option<Bytes>,
    /// The client.
    pub(in crate::ctl) address: Option<IpAddr>,
    /// When, in microseconds since 1970.
    pub(in crate::ctl) at: i64,
    /// Method and target as sent; `None` for what was no HTTP.
    pub(in crate::ctl) request: Option<(Bytes, Bytes)>,
    /// The status it was answered with.
    pub(in crate::ctl) status: Option<u16>,
    /// How many bytes the answer had; `None` where the log does not say.
    pub(in crate::ctl) size: Option<u64>,
    /// The `User-Agent` header (RFC 9110 §10.1.5).
    pub(in crate::ctl) agent: LoggedUserAgent,
}

/// What a log says of the `User-Agent` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ctl) enum LoggedUserAgent {
    /// There was one.
    Sent(Bytes),
    /// There was none, or an empty one.
    Absent,
    /// The log does not have the field.
    Unlogged,
}

impl LogEntry {
    /// The request as the stages behind see it; `None` where its target is no path.
    pub(in crate::ctl) fn facts(&self) -> Option<RequestFacts<'_>> {
        let (method, target) = self.request.as_ref()?;
        let host = std::str::from_utf8(self.host.as_deref().unwrap_or_default()).unwrap_or_default();
        let agent = match &self.agent {
            LoggedUserAgent::Sent(agent) => Some(Cow::Borrowed(&**agent)),
            LoggedUserAgent::Absent | LoggedUserAgent::Unlogged => None,
        };
        Some(RequestFacts {
            scheme: Scheme::Http,
            method: std::str::from_utf8(method).ok().filter(|method| !method.is_empty())?,
            host: host::normalise(host),
            target: origin_form(target)?,
            user_agent: agent,
            address: self.address,
        })
    }
}

/// The fields of one line, each with the trust that its name has.
#[derive(Debug, Default)]
pub(super) struct FieldsOfLine<'a> {
    /// The time, where it was read already.
    at: Option<i64>,
    found: [Option<(usize, Cow<'a, [u8]>)>; LogField::COUNT],
}

impl<'a> FieldsOfLine<'a> {
    /// The fields of a line of that time, where it is known already.
    pub(super) fn at(time: Option<i64>) -> Self {
        Self { at: time, ..Self::default() }
    }

    /// Notes a field, unless the line has it under a better name already. A hyphen means that there was none.
    pub(super) fn put(&mut self, (field, trust): (LogField, usize), value: Cow<'a, [u8]>) {
        let is_empty = value.is_empty() || *value == *b"-";
        if is_empty && field != LogField::UserAgent {
            return;
        }
        if let Some(place) = self.found.get_mut(field as usize)
            && place.as_ref().is_none_or(|(known, _)| trust < *known)
        {
            *place = Some((trust, value));
        }
    }

    /// Whether these are a time, a path and a status, as the names of columns say.
    pub(super) fn is_of_columns(&self) -> bool {
        let target = self.get(LogField::Path).or_else(|| self.get(LogField::Target));
        self.time().is_some()
            && target.is_some_and(|target| target.starts_with(b"/") || is_url(target))
            && self.get(LogField::Status).is_some_and(is_status)
    }

    fn get(&self, field: LogField) -> Option<&[u8]> {
        self.found.get(field as usize)?.as_ref().map(|(_, value)| &**value)
    }

    fn take(&mut self, field: LogField) -> Option<Cow<'a, [u8]>> {
        self.found.get_mut(field as usize)?.take().map(|(_, value)| value)
    }

    /// Whether a query stands in what is called `uri`. nginx's variable of that name has none.
    pub(super) fn has_query_in_uri(&self) -> bool {
        self.get(LogField::Rewritten).is_some_and(|uri| uri.contains(&b'?'))
    }

    /// What is called `uri` is what the client asked for, where nothing else is.
    pub(super) fn take_uri_for_target(&mut self) {
        if let Some(uri) = self.take(LogField::Rewritten) {
            self.put((LogField::Target, usize::MAX), uri);
        }
    }

    /// Who connected, and who is said to have sent the request on.
    pub(super) fn addresses(&self) -> (Option<IpAddr>, Option<IpAddr>) {
        let first = |field| self.get(field).and_then(first_address);
        (first(LogField::Address), first(LogField::ForwardedFor))
    }

    /// The request in `line`. `behind_proxy`: whoever connected is a proxy. `fallback` is the time in front of the line, if any.
    ///
    /// # Errors
    /// Which field is missing, or cannot be read.
    pub(super) fn entry(
        mut self,
        line: &Bytes,
        behind_proxy: bool,
        fallback: Option<i64>,
    ) -> Result<LogEntry, LogField> {
        let at = self.at.or_else(|| self.time()).or(fallback).ok_or(LogField::Time)?;
        let (mut peer, forwarded) = self.addresses();
        if peer.is_none() {
            // Labelled logs call the client `host`, and the one that was asked `vhost`.
            peer = self.get(LogField::PlainHost).and_then(address);
            if peer.is_some() {
                self.take(LogField::PlainHost);
            }
        }
        let is_proxy = behind_proxy || peer.is_none_or(is_private);
        let address = if is_proxy { forwarded.or(peer) } else { peer };
        let status =
            self.get(LogField::Status).and_then(number).and_then(|status| u16::try_from(status).ok());
        let size = self.get(LogField::Size).and_then(number);
        let agent = match self.take(LogField::UserAgent) {
            Some(agent) if agent.is_empty() || *agent == *b"-" => LoggedUserAgent::Absent,
            Some(agent) => LoggedUserAgent::Sent(part(line, agent)),
            None => LoggedUserAgent::Unlogged,
        };
        let host = self.host();
        let request = self.request();
        if request.is_none()
            && self.get(LogField::RequestLine).is_none()
            && self.get(LogField::Method).is_some()
        {
            return Err(LogField::Target);
        }
        let (request, named) = request.map_or((None, None), |(method, target)| {
            let (host, target) = split_url(target);
            (Some((part(line, method), part(line, target))), host)
        });
        let host = named.or(host).map(|host| part(line, host));
        Ok(LogEntry { host, address, at, request, status, size, agent })
    }

    fn time(&self) -> Option<i64> {
        let text = |field| self.get(field).and_then(|text| std::str::from_utf8(text).ok());
        let (day, time) = (text(LogField::Day), text(LogField::Time));
        let apart = day.zip(time).and_then(|(day, clock)| time::day_and_clock(day, clock));
        apart.or_else(|| time.and_then(time::any)).or_else(|| day.and_then(time::any))
    }

    /// The host that was asked. What writes for logstash calls the machine of the log `host`.
    fn host(&mut self) -> Option<Cow<'a, [u8]>> {
        let plain = self.take(LogField::PlainHost);
        let plain = plain.filter(|host| match self.get(LogField::Logstash) {
            None => true,
            Some(key) => key == b"@timestamp" && host.contains(&b'.') && address(host).is_none(),
        });
        self.take(LogField::Host).or(plain)
    }

    /// Method and target, which may be a whole URL. Who logs no method is taken to have answered GET.
    fn request(&mut self) -> Option<MethodAndTarget<'a>> {
        let line = self.take(LogField::RequestLine);
        let line = match line {
            Some(line) if self.get(LogField::Method).is_none() => return request_line(line),
            line => line.filter(|line| matches!(**line, [b'/' | b'h', ..])),
        };
        let (path, query) = (self.take(LogField::Path), self.take(LogField::Query));
        let path = path.map(|path| {
            if path.starts_with(b"/") || is_url(&path) { path } else { Cow::Owned([b"/", &*path].concat()) }
        });
        let target = self.take(LogField::Target).or(line).or(path)?;
        let target = match query {
            Some(query) if !target.contains(&b'?') => {
                let query = query.strip_prefix(b"?").unwrap_or(&query);
                Cow::Owned([&*target, query].join(&b'?'))
            }
            _ => target,
        };
        let is_answered = self.get(LogField::Status).is_some();
        let method = self.take(LogField::Method).or_else(|| is_answered.then_some(Cow::Borrowed(b"GET")))?;
        (is_method(&method) && !target.contains(&b' ')).then_some((method, target))
    }
}

/// A text of a line, as a piece of it where it is one.
pub(super) fn part(line: &Bytes, text: Cow<'_, [u8]>) -> Bytes {
    let start = text.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
    match text {
        Cow::Borrowed(text) if start.saturating_add(text.len()) <= line.len() => {
            line.slice(start..start + text.len())
        }
        text => Bytes::from(text.into_owned()),
    }
}

/// Reads a request line (RFC 9112 §3). `None` for what is none, such as a TLS greeting at a plain port.
fn request_line(line: Cow<'_, [u8]>) -> Option<MethodAndTarget<'_>> {
    let (method, target) = parts_of_request(&line)?;
    Some(match line {
        Cow::Borrowed(line) => {
            (Cow::Borrowed(line.get(..method)?), Cow::Borrowed(line.get(method + 1..target)?))
        }
        Cow::Owned(line) => {
            (Cow::Owned(line.get(..method)?.to_vec()), Cow::Owned(line.get(method + 1..target)?.to_vec()))
        }
    })
}

/// Where the method and the target of a request line end. A request of HTTP/0.9, which has no version, is not read; content
/// networks leave the version out behind a whole URL.
pub(super) fn parts_of_request(line: &[u8]) -> Option<(usize, usize)> {
    let method = memchr::memchr(b' ', line)?;
    let rest = line.get(method + 1..)?;
    let length = memchr::memchr(b' ', rest).unwrap_or(rest.len());
    let behind = rest.get(length..)?;
    let is_http = length > 0 && (behind.starts_with(b" HTTP/") || behind.is_empty() && is_url(rest));
    (is_http && is_method(line.get(..method)?)).then_some((method, method + 1 + length))
}

fn is_url(text: &[u8]) -> bool {
    text.starts_with(b"http://") || text.starts_with(b"https://")
}

fn is_method(method: &[u8]) -> bool {
    !method.is_empty() && method.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
}

/// The host of a whole URL, and what is asked of it. A path stays as it is.
fn split_url(target: Cow<'_, [u8]>) -> (Option<Cow<'_, [u8]>>, Cow<'_, [u8]>) {
    let start = if target.starts_with(b"http://") {
        7
    } else if target.starts_with(b"https://") {
        8
    } else {
        return (None, target);
    };
    let rest = target.get(start..).unwrap_or_default();
    let end = start + rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let cut = |range: std::ops::Range<usize>| match &target {
        Cow::Borrowed(target) => Cow::Borrowed(target.get(range).unwrap_or_default()),
        Cow::Owned(target) => Cow::Owned(target.get(range).unwrap_or_default().to_vec()),
    };
    let path = cut(end..target.len());
    let path = if path.starts_with(b"/") { path } else { Cow::Owned([b"/", &*path].concat()) };
    (Some(cut(start..end)).filter(|host| !host.is_empty()), path)
}

/// The first address of a list, whatever port stands behind it.
pub(super) fn first_address(list: &[u8]) -> Option<IpAddr> {
    list.split(|byte| matches!(byte, b',' | b' ')).filter(|one| !one.is_empty()).find_map(address)
}

/// An address, perhaps with a port.
pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    // What begins with no digit, colon, bracket or letter of a hexadecimal number need not be tried.
    text.first().filter(|first| first.is_ascii_hexdigit() || matches!(first, b':' | b'['))?;
    let text = std::str::from_utf8(text).ok()?;
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    // HAProxy puts no brackets around an IPv6 address.
    let behind_colon = || text.rsplit_once(':').and_then(|(address, _)| address.parse().ok());
    bare.parse().ok().or_else(with_port).or_else(behind_colon).map(|address: IpAddr| address.to_canonical())
}

/// Whether an address is of no use on the Internet (RFC 6890): then it is a proxy's, if the log names another.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}
