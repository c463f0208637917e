//! One request of a log, put together from the fields that a line has.

use super::names::{LogField, NamedField};
use super::time;
use crate::ctl::explain::facts;
use crate::request::address::is_near;
use crate::request::{RequestFacts, host};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use strum::EnumCount as _;

/// One request of a log. Its texts stand one behind the other in a [`LogBatch`], so that they go from the thread that reads to
/// the one that judges without an allocation for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ctl) struct LogEntry<T> {
    /// The host that was asked, as the log names it; most logs are of one host and do not.
    pub(in crate::ctl) host: Option<T>,
    /// The client.
    pub(in crate::ctl) address: Option<IpAddr>,
    /// When, in microseconds since 1970.
    pub(in crate::ctl) at: i64,
    /// Method and target as sent; `None` for what was no HTTP.
    pub(in crate::ctl) request: Option<(T, T)>,
    /// The status it was answered with.
    pub(in crate::ctl) status: Option<u16>,
    /// How many bytes the answer had; `None` where the log does not say.
    pub(in crate::ctl) size: Option<u64>,
    /// The `User-Agent` header (RFC 9110 §10.1.5), empty where there was none; `None` where the log does not have the field.
    pub(in crate::ctl) agent: Option<T>,
}

/// Few lines of a log are shorter.
const SHORTEST: usize = 64;

/// Requests, and their texts.
#[derive(Debug, Default)]
pub(in crate::ctl) struct LogBatch {
    text: Vec<u8>,
    pub(super) entries: Vec<LogEntry<Range<usize>>>,
}

impl LogBatch {
    /// A batch of so many bytes.
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes), entries: Vec::with_capacity(bytes / SHORTEST) }
    }

    /// Keeps a text that is in pieces.
    fn keep(&mut self, pieces: &[&[u8]]) -> Range<usize> {
        let start = self.text.len();
        for piece in pieces {
            self.text.extend_from_slice(piece);
        }
        start..self.text.len()
    }

    pub(in crate::ctl) fn entries(&self) -> impl Iterator<Item = LogEntry<&[u8]>> {
        let text = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        self.entries.iter().map(move |entry| {
            let &LogEntry { address, at, status, size, .. } = entry;
            let request = entry.request.as_ref().map(|(method, target)| (text(method), text(target)));
            let (host, agent) = (entry.host.as_ref().map(text), entry.agent.as_ref().map(text));
            LogEntry { host, address, at, request, status, size, agent }
        })
    }
}

impl LogEntry<&[u8]> {
    /// The request as the stages behind see it; `None` where its target is no path.
    pub(in crate::ctl) fn facts(&self) -> Option<RequestFacts<'_>> {
        let (method, target) = self.request?;
        let agent = self.agent.filter(|agent| !agent.is_empty());
        Some(RequestFacts {
            method: std::str::from_utf8(method).ok().filter(|method| !method.is_empty())?,
            host: host::normalise(std::str::from_utf8(self.host.unwrap_or_default()).unwrap_or_default()),
            ..facts("", target, agent, self.address).ok()?
        })
    }
}

/// The fields of one line, each with the trust that its name has.
#[derive(Debug, Default)]
pub(super) struct LineFields<'a> {
    found: [Option<(usize, Cow<'a, [u8]>)>; LogField::COUNT],
    /// The time, where it has been read already.
    pub(super) at: Option<i64>,
}

impl<'a> LineFields<'a> {
    /// Notes a field, unless the line has it under a better name already. A hyphen means that there was none.
    pub(super) fn put(&mut self, (field, trust): NamedField, value: Cow<'a, [u8]>) {
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

    pub(super) fn get(&self, field: LogField) -> Option<&[u8]> {
        self.found.get(field as usize)?.as_ref().map(|(_, value)| &**value)
    }

    /// Whether these are a time, a path and a status, as the names of columns say.
    pub(super) fn is_of_columns(&self) -> bool {
        let target = self.get(LogField::Path).or_else(|| self.get(LogField::Target));
        self.time().is_some()
            && target.is_some_and(|target| target.starts_with(b"/") || is_url(target))
            && self.get(LogField::Status).and_then(status).is_some()
    }

    /// Whether a query stands in what is called `uri`. nginx's variable of that name has none.
    pub(super) fn has_query_in_uri(&self) -> bool {
        self.get(LogField::Rewritten).is_some_and(|uri| uri.contains(&b'?'))
    }

    /// What is called `uri` is what the client asked for, where nothing else is.
    pub(super) fn take_uri_for_target(&mut self) {
        if let Some((_, uri)) = self.found.get_mut(LogField::Rewritten as usize).and_then(Option::take) {
            self.put((LogField::Target, usize::MAX), uri);
        }
    }

    /// Who connected, and who is said to have sent the request on. Labelled logs call the client `host`, and the one that was
    /// asked `vhost`.
    pub(super) fn addresses(&self) -> (Option<IpAddr>, Option<IpAddr>) {
        let first = |field| self.get(field).and_then(first_address);
        (first(LogField::Address).or_else(|| self.client_as_host()), first(LogField::ForwardedFor))
    }

    fn client_as_host(&self) -> Option<IpAddr> {
        let is_free = self.get(LogField::Address).is_none();
        self.get(LogField::PlainHost).filter(|_| is_free).and_then(address)
    }

    pub(super) fn time(&self) -> Option<i64> {
        let (day, time) = (self.get(LogField::Day), self.get(LogField::Time));
        let apart = day.zip(time).and_then(|(day, clock)| time::any(&[day, b"T", clock, b"Z"].concat()));
        apart.or_else(|| time.and_then(time::any)).or_else(|| day.and_then(time::any))
    }

    /// Puts the request, of the time `at`, into a batch. `behind_proxy`: whoever connected is a proxy.
    ///
    /// # Errors
    /// Which field is missing.
    pub(super) fn keep(
        &self,
        behind_proxy: bool,
        at: Option<i64>,
        batch: &mut LogBatch,
    ) -> Result<LogEntry<Range<usize>>, LogField> {
        let at = at.ok_or(LogField::Time)?;
        let (peer, forwarded) = self.addresses();
        let is_proxy = behind_proxy || peer.is_none_or(is_private);
        let has = |field| self.get(field).is_some();
        let targets = [LogField::RequestLine, LogField::Target, LogField::Path];
        if has(LogField::Method) && !targets.into_iter().any(has) {
            return Err(LogField::Target);
        }
        let asked = self.request();
        let named = asked.and_then(|(_, target, _)| host::of_target(target)).map(str::as_bytes);
        let host = named.filter(|host| !host.is_empty()).or_else(|| self.host());
        let agent = self.get(LogField::UserAgent).map(|agent| if agent == b"-" { b"" } else { agent });
        Ok(LogEntry {
            host: host.map(|host| batch.keep(&[host])),
            address: if is_proxy { forwarded.or(peer) } else { peer },
            at,
            request: asked.map(|(method, target, query)| {
                // The key of an object in a bucket has no slash.
                let is_key =
                    self.get(LogField::Path) == Some(target) && !target.starts_with(b"/") && !is_url(target);
                let slash: &[u8] = if is_key { b"/" } else { b"" };
                let mark: &[u8] = if query.is_empty() { b"" } else { b"?" };
                (batch.keep(&[method]), batch.keep(&[slash, target, mark, query]))
            }),
            status: self.get(LogField::Status).and_then(status),
            size: self.get(LogField::Size).and_then(time::number),
            agent: agent.map(|agent| batch.keep(&[agent])),
        })
    }

    /// The host that was asked. What writes for logstash calls the machine of the log `host`.
    fn host(&self) -> Option<&[u8]> {
        let plain = self.get(LogField::PlainHost).filter(|host| match self.get(LogField::Logstash) {
            None => self.client_as_host().is_none(),
            Some(key) => key == b"@timestamp" && host.contains(&b'.') && address(host).is_none(),
        });
        self.get(LogField::Host).or(plain)
    }

    /// Method, target and query. Who logs no method is taken to have answered GET.
    fn request(&self) -> Option<(&[u8], &[u8], &[u8])> {
        let (line, method) = (self.get(LogField::RequestLine), self.get(LogField::Method));
        let whole = line.and_then(request_line).map(|(method, target)| (method, target, &b""[..]));
        if whole.is_some() || (line.is_some() && method.is_none()) {
            return whole;
        }
        // The line may be the target alone.
        let line = line.filter(|line| matches!(line, [b'/' | b'h', ..]));
        let target = self.get(LogField::Target).or(line).or_else(|| self.get(LogField::Path))?;
        let query = self.get(LogField::Query).filter(|_| !target.contains(&b'?')).unwrap_or_default();
        let method = method.or_else(|| self.get(LogField::Status).map(|_| &b"GET"[..]))?;
        let query = query.strip_prefix(b"?").unwrap_or(query);
        (is_method(method) && !target.contains(&b' ')).then_some((method, target, query))
    }
}

/// Method and target of a request line (RFC 9112 §3). `None` for what is none, such as a TLS greeting at a plain port. A request of
/// HTTP/0.9, which has no version, is not read; content networks leave the version out behind a whole URL.
pub(super) fn request_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (method, rest) = line.split_at_checked(memchr::memchr(b' ', line)?)?;
    let rest = rest.get(1..)?;
    let (target, behind) = rest.split_at_checked(memchr::memchr(b' ', rest).unwrap_or(rest.len()))?;
    let is_http = behind.starts_with(b" HTTP/") || behind.is_empty() && is_url(rest);
    (is_http && !target.is_empty() && is_method(method)).then_some((method, target))
}

fn is_url(text: &[u8]) -> bool {
    text.starts_with(b"http://") || text.starts_with(b"https://")
}

fn is_method(method: &[u8]) -> bool {
    !method.is_empty() && method.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
}

fn status(text: &[u8]) -> Option<u16> {
    let number = time::number(text).filter(|_| text.len() == 3)?;
    u16::try_from(number).ok().filter(|status| (100..600).contains(status))
}

/// The first address of a list, whatever port stands behind it.
pub(super) fn first_address(list: &[u8]) -> Option<IpAddr> {
    list.split(|byte| matches!(byte, b',' | b' ')).filter(|one| !one.is_empty()).find_map(address)
}

/// An address, perhaps with a port.
fn address(text: &[u8]) -> Option<IpAddr> {
    // What begins with no digit, colon, bracket or letter of a hexadecimal number need not be tried.
    text.first().filter(|first| first.is_ascii_hexdigit() || matches!(first, b':' | b'[' | b'('))?;
    let text = std::str::from_utf8(text).ok()?;
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bare = text.trim_matches(['[', ']', '(', ')']);
    // HAProxy puts no brackets around an IPv6 address.
    let behind_colon = || text.rsplit_once(':').and_then(|(address, _)| address.parse().ok());
    bare.parse().ok().or_else(with_port).or_else(behind_colon).map(|address: IpAddr| address.to_canonical())
}

/// Whether an address is of no use on the Internet (RFC 6890): then it is a proxy's, if the log names another.
fn is_private(address: IpAddr) -> bool {
    is_near(address) || matches!(address, IpAddr::V4(v4) if matches!(v4.octets(), [100, 64..128, ..]))
}
