//! One log: which format its lines have, and each line as a request.

use super::columns::{LogColumns, pairs};
use super::entry::{FieldsOfLine, LogEntry, LoggedUserAgent, part};
use super::names::LogField;
use super::pattern::LogPattern;
use super::pieces::LogPiece;
use super::quoted::QuotedLayout;
use super::{json, prefix};
use crate::report::amount;
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

/// How many lines are looked at to find out the format.
const LOOKED_AT: usize = 200;

/// How many lines with `X-Forwarded-For`, all of a log, say that a proxy writes it.
const ENOUGH: usize = 5;

/// How the lines of a log are built, but for those that are objects of JSON.
#[derive(Clone, Debug)]
enum LogShape {
    Quoted(QuotedLayout),
    Columns(LogColumns),
    /// The operator said so.
    Pattern(Arc<LogPattern>),
}

/// Reads the lines of one log.
#[derive(Debug)]
pub(super) struct LogReader {
    shape: LogShape,
    /// Whoever connects is a proxy: it is one address, and `X-Forwarded-For` names several.
    behind_proxy: bool,
    /// The field `uri` has queries. nginx's has none, since it is a path that nginx may have rewritten.
    uri_is_target: bool,
    pieces: Vec<LogPiece>,
    spoken: Vec<u8>,
    pub(super) seen: SeenOfLog,
}

/// What the lines of a log had.
#[derive(Clone, Debug, Default)]
pub(in crate::ctl) struct SeenOfLog {
    /// Lines that are neither blank nor comments.
    pub(in crate::ctl) lines: u64,
    /// Those that were read, and of these those with a request, a `User-Agent` and an address.
    pub(in crate::ctl) read: u64,
    with_request: u64,
    pub(in crate::ctl) with_agent: u64,
    pub(in crate::ctl) with_address: u64,
    /// What the first line that could not be read lacks.
    lacking: Option<LogField>,
    /// How the log begins, for what that says of its server.
    start: Vec<u8>,
    /// It is the error log of nginx or Apache.
    is_of_errors: bool,
}

/// What a line is.
#[derive(Debug)]
pub(super) enum LineRead {
    Entry(LogEntry),
    /// A comment or a head.
    Nothing,
    /// It could not be read: what was expected, and the column, counted from 1.
    Unread(&'static str, usize),
}

impl LogReader {
    /// Reads a log that begins with `sample`. A `pattern` is the operator's word for its format.
    pub(super) fn new(sample: &[u8], pattern: Option<&Arc<LogPattern>>) -> Self {
        let whole = sample
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty() && is_text(line));
        let first = whole.clone().next().unwrap_or_default();
        let lines: Vec<Cow<'_, [u8]>> = whole.take(LOOKED_AT).map(|line| prefix::without(line).0).collect();
        let bare: Vec<&[u8]> = lines.iter().map(|line| &**line).collect();
        let head = || LogColumns::named_by(bare.first()?);
        let shape = match pattern {
            Some(pattern) => LogShape::Pattern(Arc::clone(pattern)),
            None => match head().or_else(|| LogColumns::without_head(&bare)) {
                Some(columns) => LogShape::Columns(columns),
                None => LogShape::Quoted(QuotedLayout::of(&bare)),
            },
        };
        let seen = SeenOfLog {
            start: sample.get(..sample.len().min(2_048)).unwrap_or_default().to_vec(),
            is_of_errors: is_of_errors(first),
            ..SeenOfLog::default()
        };
        let (pieces, spoken) = (Vec::new(), Vec::new());
        let mut reader = Self { shape, behind_proxy: false, uri_is_target: false, pieces, spoken, seen };
        reader.behind_proxy = reader.is_behind_proxy(&lines);
        reader
    }

    /// Whether it is known what the lines are like.
    pub(super) const fn knows_lines(&self) -> bool {
        self.seen.read > 0 || !matches!(self.shape, LogShape::Quoted(_))
    }

    /// Whoever connects is a proxy where it is one address for several clients, or where every request came with the header.
    fn is_behind_proxy(&mut self, lines: &[Cow<'_, [u8]>]) -> bool {
        let (mut peers, mut clients, mut read) = (Vec::new(), Vec::new(), 0);
        for line in lines {
            let lossy = String::from_utf8_lossy(line);
            let fields = match line.first() {
                Some(b'{') => json::read(&lossy, &mut self.spoken).ok(),
                _ => self.fields(line).ok().flatten(),
            };
            let Some(fields) = fields else { continue };
            read += 1;
            self.uri_is_target |= fields.has_query_in_uri();
            if let (Some(peer), Some(client)) = fields.addresses() {
                peers.push(peer);
                clients.push(client);
            }
        }
        let has_all = read >= ENOUGH && clients.len() == read;
        peers.dedup();
        clients.dedup();
        clients.len() > 1 && (peers.len() == 1 || has_all)
    }

    /// The fields of a line that is no JSON; `None` of a head.
    fn fields<'a>(&mut self, line: &'a [u8]) -> Result<Option<FieldsOfLine<'a>>, (LogField, usize)> {
        if line.starts_with(b"#") {
            if let Some(columns) = LogColumns::named_by(line) {
                self.shape = LogShape::Columns(columns);
            }
            return Ok(None);
        }
        match &self.shape {
            LogShape::Columns(_) if LogColumns::named_by(line).is_some() => Ok(None),
            LogShape::Columns(columns) => Ok(Some(columns.read(line))),
            LogShape::Pattern(pattern) => {
                pattern.read(line).map(Some).map_err(|at| (LogField::RequestLine, at))
            }
            LogShape::Quoted(layout) => match layout.read(line, &mut self.pieces) {
                Ok(fields) => Ok(Some(fields)),
                Err(error) => pairs(line).map(Some).ok_or(error),
            },
        }
    }

    /// Reads a line, without its end.
    pub(super) fn read(&mut self, line: &Bytes) -> LineRead {
        let (bare, fallback) = prefix::without(line);
        let is_json = bare.starts_with(b"{") && !matches!(self.shape, LogShape::Pattern(_));
        let line = part(line, if is_json { as_json(bare) } else { bare });
        let fields = if is_json {
            let text = std::str::from_utf8(&line).unwrap_or_default();
            json::read(text, &mut self.spoken).map(Some).map_err(|error| (None, error.column()))
        } else {
            self.fields(&line).map_err(|(field, column)| (Some(field), column))
        };
        match fields {
            Ok(None) => LineRead::Nothing,
            Ok(Some(fields)) => self.entry(&line, fields, fallback),
            Err((field, column)) => {
                self.seen.lines += 1;
                self.seen.lacking = self.seen.lacking.or(field);
                LineRead::Unread(field.map_or("JSON", expected), column + 1)
            }
        }
    }

    fn entry(&mut self, line: &Bytes, mut fields: FieldsOfLine<'_>, fallback: Option<i64>) -> LineRead {
        self.seen.lines += 1;
        if self.uri_is_target {
            fields.take_uri_for_target();
        }
        match fields.entry(line, self.behind_proxy, fallback) {
            Ok(entry) => {
                self.seen.read += 1;
                self.seen.with_request += u64::from(entry.request.is_some());
                self.seen.with_agent += u64::from(matches!(entry.agent, LoggedUserAgent::Sent(_)));
                self.seen.with_address += u64::from(entry.address.is_some());
                LineRead::Entry(entry)
            }
            Err(field) => {
                self.seen.lacking = self.seen.lacking.or(Some(field));
                LineRead::Unread(expected(field), 1)
            }
        }
    }
}

/// Whether a line is no noise: servers write what controls a terminal as escapes.
fn is_text(line: &[u8]) -> bool {
    line.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\r' | 0x1B))
}

/// A line of JSON in a form that a parser takes: bytes that are not UTF-8 become U+FFFD, and `\x22`, which some log formats write
/// for a quote, becomes `\u0022`.
fn as_json(line: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if memchr::memmem::find(&line, b"\\x").is_none() && std::str::from_utf8(&line).is_ok() {
        return line;
    }
    Cow::Owned(String::from_utf8_lossy(&line).replace("\\x", "\\u00").into_bytes())
}

const fn expected(field: LogField) -> &'static str {
    match field {
        LogField::Time => "a time",
        LogField::Target | LogField::Path => "a path with its query",
        _ => "a request such as \"GET / HTTP/1.1\"",
    }
}

impl SeenOfLog {
    /// Why nothing of this log can be judged, and what to do about it; `None` where something can.
    pub(in crate::ctl) fn fault(&self) -> Option<(String, &'static str)> {
        if self.is_of_errors {
            let remedy = "name the access log, which `access_log` (nginx) or `CustomLog` (Apache) names in the configuration";
            return Some(("it is an error log, which has no User-Agents".to_owned(), remedy));
        }
        if self.lines == 0 || self.with_agent > 0 && self.with_request > 0 {
            return None;
        }
        let (what, field) = match self.lacking {
            _ if self.with_request > 0 => {
                ("none of them has a User-Agent, so no request can be judged", LogField::UserAgent)
            }
            Some(LogField::Time) => ("no time was found in any of them", LogField::Time),
            Some(LogField::Target) => {
                ("none of them has the path that the client asked for", LogField::Target)
            }
            _ => ("none of them looks like a line of an access log", LogField::RequestLine),
        };
        Some((format!("{}: {what}", amount(self.lines, "line", "lines")), self.remedy(field)))
    }

    /// How to have the server log what is missing.
    fn remedy(&self, field: LogField) -> &'static str {
        let has = |mark: &str| memchr::memmem::find(&self.start, mark.as_bytes()).is_some();
        // One value over several lines, or all in one.
        let is_document = [&b"{\n"[..], b"[\n", b"[{"].iter().any(|mark| self.start.starts_with(mark));
        let known = REMEDIES.iter().find(|(marks, _)| marks.iter().all(|mark| has(mark)));
        let known = known.map(|(_, remedy)| *remedy);
        let of_server = if is_document { Some(LINES_OF_JSON) } else { known };
        match field {
            LogField::Target if has("\"uri\"") => {
                "`uri` is what nginx made of the path; log $request_uri or $request as well"
            }
            LogField::Target => "log the path as the client sent it, with its query",
            LogField::UserAgent => of_server.unwrap_or(
                "nginx: `access_log PATH combined`; Apache: `CustomLog PATH combined`; others: switch on a field with the \
                 request's User-Agent",
            ),
            _ => of_server.unwrap_or(
                "say what the lines look like with --log-format, as in nginx's log_format or Apache's LogFormat",
            ),
        }
    }
}

/// Whether a line is of nginx's error log, `2025/12/19 13:40:30 [error] 7#7: …`, or of Apache's, `[Fri Dec 19 … 2025] [core:error] …`.
fn is_of_errors(line: &[u8]) -> bool {
    let has = |mark: &str| memchr::memmem::find(line, mark.as_bytes()).is_some();
    let is_nginx = line.get(19..21) == Some(b" [") && line.get(4) == Some(&b'/') && has("#");
    is_nginx || (line.starts_with(b"[") && (has("] [pid ") || has("] [client ")))
}

const HAPROXY: &str = "HAProxy: `capture request header Host len 64` and `capture request header User-Agent len 256` in the frontend";
const TRAEFIK: &str =
    "Traefik: use the json format, and set accessLog.fields.headers.names.User-Agent = \"keep\"";
const LINES_OF_JSON: &str = "write one object a line: `jq -c '.[]' FILE | gatewayctl replay -`";
const IIS: &str = "IIS: tick cs(User-Agent) among the fields of the W3C log";

/// By what the lines of a server are known that does not log the header, and how it is switched on.
const REMEDIES: [(&[&str], &str); 13] = [
    (
        &["dyno=", "method="],
        "Heroku's router does not log it: have the application write an access log, and replay that",
    ),
    (&["\"RouterName\""], TRAEFIK),
    (&["@docker\""], TRAEFIK),
    (&["@file\""], TRAEFIK),
    (&["@kubernetes\""], TRAEFIK),
    (&[" haproxy["], HAPROXY),
    // How a session ended, whatever the format.
    (&[" ---- "], HAPROXY),
    (&["--NI "], HAPROXY),
    (&["--VN "], HAPROXY),
    (&["#Fields:"], IIS),
    (&[" W3SVC"], IIS),
    (&[" TCP_"], "Squid: use `access_log … logformat=combined`"),
    (&["\"request_uri\""], "nginx: add \"http_user_agent\":\"$http_user_agent\" to the log_format"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log; of each line `address host target status agent`.
    fn shown(log: &str) -> Vec<String> {
        let mut reader = LogReader::new(log.as_bytes(), None);
        let mut all = Vec::new();
        for line in log.lines() {
            let entry = match reader.read(&Bytes::copy_from_slice(line.as_bytes())) {
                LineRead::Entry(entry) => entry,
                LineRead::Nothing => continue,
                LineRead::Unread(expected, column) => {
                    all.push(format!("{column}: {expected}"));
                    continue;
                }
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let agent = match &entry.agent {
                LoggedUserAgent::Sent(agent) => text(agent),
                other => format!("{other:?}"),
            };
            let target = entry.request.as_ref().map_or_else(|| "none".to_owned(), |request| text(&request.1));
            let host = entry.host.as_deref().map_or_else(|| "-".to_owned(), text);
            let address = entry.address.map_or_else(|| "-".to_owned(), |address| address.to_string());
            all.push(format!("{address} {host} {target} {} {agent}", entry.status.unwrap_or_default()));
        }
        all
    }

    /// What stands in front says nothing of it.
    #[test]
    fn a_log_behind_lines_of_something_else_is_of_the_combined_format() {
        let good = r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "curl/8.5.0""#;
        for noise in
            ["x {a|curl/8.5.0} \"y\" z", "\"a\" \"b\" \"c\" \"d\" \"curl/8.5.0 (x; y)\"", "curl/8.5.0"]
        {
            let log = format!("{}{good}", format!("{noise}\n").repeat(LOOKED_AT));
            assert_eq!(
                shown(&log).last().map(String::as_str),
                Some("192.0.2.1 - / 200 curl/8.5.0"),
                "{noise}"
            );
        }
    }

    #[test]
    fn what_was_no_http_is_read_and_names_no_request() {
        let good = r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "curl/8.5.0""#;
        for request in ["-", "", "\\x16\\x03\\x01", "GET /", "GET  HTTP/1.1", "GET /a b HTTP/1.1"] {
            let bad = format!("192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"{request}\" 400 0 \"-\" \"x/1\"");
            assert_eq!(shown(&format!("{good}\n{bad}"))[1], "192.0.2.1 - none 400 x/1", "{request}");
        }
    }

    #[test]
    fn what_was_escaped_is_as_it_was_sent() {
        let line = r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /%22\x22\"\\ HTTP/1.1" 200 1 "a\"b" "x \"y\" \x5Cn\x3""#;
        assert_eq!(shown(line), ["192.0.2.1 - /%22\"\"\\ 200 x \"y\" \\nx3"]);
    }

    #[test]
    fn names_of_hosts_are_no_addresses_and_no_hosts() {
        let line =
            r#"crawl-1.bot.example - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 1 "-" "x/1""#;
        assert_eq!(shown(line), ["- - /a 200 x/1"]);
    }

    #[test]
    fn other_lines_are_not_read() {
        for line in [
            "hello",
            "[",
            "{\"a\":",
            "192.0.2.1 - - [yesterday] \"GET / HTTP/1.1\" 200 1",
            "{\"time\":\"soon\"}",
        ] {
            assert!(shown(line)[0].contains(": "), "{line}: {:?}", shown(line));
        }
    }
}
