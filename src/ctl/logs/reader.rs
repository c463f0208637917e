//! One log: which format its lines have, and each line as a request.

use super::entry::{LineFields, LogBatch};
use super::json;
use super::layout::LogLayout;
use super::names::{LogField, remedy, without_prefix};
use super::pattern::LogPattern;
use crate::ctl::output::escape_harmful;
use crate::record::printable;
use crate::report::{amount, grouped};
use bstr::ByteSlice as _;
use serde::Serialize;
use std::borrow::Cow;
use std::io;
use std::net::IpAddr;

/// How many lines are looked at to find out the format.
const LOOKED_AT: usize = 200;

/// How many lines with `X-Forwarded-For`, all of a log, say that a proxy writes it.
const ENOUGH: usize = 5;

/// How much of a log's beginning is kept, for what that says of its server.
const REMEMBERED: usize = 2_048;

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// Longer lines are no requests: servers take some tens of kilobytes of a request's head.
pub(super) const LONGEST_LINE: usize = 1 << 17;

const LOG_THE_AGENT: &str = "nginx: `access_log PATH combined`; Apache: `CustomLog PATH combined`; others: switch on a field with the \
                             request's User-Agent";

const LOG_THE_PATH: &str = "log the path as the client sent it, with its query; for nginx that is $request_uri or $request, not $uri";

const SAY_THE_FORMAT: &str =
    "say what the lines look like with --log-format, as in nginx's log_format or Apache's LogFormat";

/// What a line lacks, and in which column.
pub(super) type LineFault = (LogField, usize);

/// Reads the lines of one log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    /// How the lines are built, but for those that are objects of JSON.
    layout: LogLayout,
    /// The operator said so.
    pattern: Option<LogPattern>,
    /// Loggers have put something in front of the lines.
    has_prefix: bool,
    /// Whoever connects is a proxy: it is one address, and `X-Forwarded-For` names several.
    behind_proxy: bool,
    /// The field `uri` has queries. nginx's has none, since it is a path that nginx may have rewritten.
    uri_is_target: bool,
    /// How many lines were looked at, blank ones too.
    number: u64,
    pub(super) end: EndOfLog,
}

/// What the lines of a log had, and how its reading ended.
#[derive(Clone, Debug, Default)]
pub(in crate::ctl) struct EndOfLog {
    name: String,
    /// Lines that were read, and of these those with a request, with a `User-Agent`, and without an address.
    pub(in crate::ctl) read: u64,
    with_request: u64,
    with_agent: u64,
    pub(in crate::ctl) without_address: u64,
    /// Lines that could not be, and the first of them: where, and what was expected.
    pub(in crate::ctl) unread: u64,
    pub(in crate::ctl) example: Option<String>,
    /// What it lacks.
    lacking: Option<LogField>,
    /// How the log begins, for what that says of its server.
    start: Vec<u8>,
    pub(in crate::ctl) broken: Option<BrokenLog>,
}

/// A log that could not be read to its end; field names are public API.
#[derive(Clone, Debug, Serialize, thiserror::Error)]
#[error("{}: cannot be read on after {} lines: {}", escape_harmful(.log), grouped(*.lines), escape_harmful(.error))]
pub(in crate::ctl) struct BrokenLog {
    log: String,
    /// Lines that were read of it.
    lines: u64,
    error: String,
}

/// A line without what loggers put around it.
enum BareLine<'a> {
    Text(Cow<'a, [u8]>),
    Object(json::ReadObject),
}

impl LogReader {
    pub(super) fn of(name: String, pattern: Option<&LogPattern>) -> Self {
        let end = EndOfLog { name, ..EndOfLog::default() };
        Self { end, pattern: pattern.cloned(), ..Self::default() }
    }

    /// Learns what lines the log has from how it begins, unless it is known by lines before.
    fn learn(&mut self, sample: &[u8]) {
        if self.end.read > 0 || self.layout.is_known {
            return;
        }
        let lines = sample.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        // Servers write what controls a terminal as escapes: the rest is noise.
        let is_text = |line: &[u8]| line.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | 0x1B));
        let lines = lines.filter(|line| !line.is_empty() && is_text(line)).take(LOOKED_AT);
        let lines: Vec<&[u8]> = lines.collect();
        self.has_prefix = lines.iter().any(|line| line.starts_with(b"{") || without_prefix(line).0 != *line);
        let bare: Vec<BareLine<'_>> = lines.iter().filter_map(|line| Some(self.bare(line).ok()?.0)).collect();
        let texts = bare.iter().filter_map(|line| match line {
            BareLine::Text(text) => Some(&**text),
            BareLine::Object(_) => None,
        });
        self.layout = LogLayout::of(&texts.collect::<Vec<_>>());
        if self.end.start.is_empty() {
            self.end.start = sample.iter().take(REMEMBERED).copied().collect();
        }
        let read = |line| {
            let mut fields = LineFields::default();
            matches!(self.fields(line, &mut fields), Ok(true)).then_some(fields)
        };
        let read: Vec<LineFields<'_>> = bare.iter().filter_map(read).collect();
        self.uri_is_target |= read.iter().any(LineFields::has_query_in_uri);
        // Whoever connects is a proxy where it is one address for several clients, or where every request came with the header.
        let both = read.iter().map(LineFields::addresses).filter_map(|(peer, client)| peer.zip(client));
        let (mut peers, mut clients): (Vec<IpAddr>, Vec<IpAddr>) = both.unzip();
        let has_all = read.len() >= ENOUGH && clients.len() == read.len();
        peers.dedup();
        clients.dedup();
        self.behind_proxy = clients.len() > 1 && (peers.len() == 1 || has_all);
    }

    /// The line that the server wrote, with the time that a logger gave it.
    fn bare<'l>(&self, line: &'l [u8]) -> Result<(BareLine<'l>, Option<i64>), LineFault> {
        let may_have_prefix = self.has_prefix && !line.starts_with(b"{");
        let (line, at) = if may_have_prefix { without_prefix(line) } else { (line, None) };
        if !line.starts_with(b"{") || self.pattern.is_some() {
            return Ok((BareLine::Text(Cow::Borrowed(line)), at));
        }
        let object = json::parse(line).map_err(|error| (LogField::Json, error.column()))?;
        let Some((inner, time)) = json::wrapped(&object) else { return Ok((BareLine::Object(object), at)) };
        let (inner, own) = self.bare(&inner)?;
        let inner = match inner {
            BareLine::Text(text) => BareLine::Text(Cow::Owned(text.into_owned())),
            BareLine::Object(object) => BareLine::Object(object),
        };
        Ok((inner, own.or(time).or(at)))
    }

    /// Reads the fields of a line, unless it is a head; whether it did.
    fn fields<'l>(&mut self, line: &'l BareLine<'_>, fields: &mut LineFields<'l>) -> Result<bool, LineFault> {
        let line = match line {
            BareLine::Object(object) => {
                json::fields(object, fields);
                return Ok(true);
            }
            BareLine::Text(text) => &**text,
        };
        if let Some(pattern) = &self.pattern {
            pattern.read(line, fields)?;
        } else if line.starts_with(b"#") || self.layout.is_head(line) {
            self.layout = LogLayout::named_by(line).unwrap_or_else(|| std::mem::take(&mut self.layout));
            return Ok(false);
        } else {
            self.layout.read(line, fields)?;
        }
        Ok(true)
    }

    /// The requests of some lines.
    pub(super) fn batch(&mut self, text: &[u8]) -> LogBatch {
        self.learn(text);
        let mut batch = LogBatch::with_room(text.len());
        for line in text.lines() {
            self.number += 1;
            if line.len() > LONGEST_LINE {
                self.unread("a line of at most 128 KiB", LONGEST_LINE, line);
            } else if !line.is_empty()
                && let Err((field, column)) = self.line(line, &mut batch)
            {
                self.end.lacking = self.end.lacking.or(Some(field));
                self.unread(expected(field), column + 1, line);
            }
        }
        batch
    }

    fn line(&mut self, line: &[u8], batch: &mut LogBatch) -> Result<(), LineFault> {
        let (line, before) = self.bare(line)?;
        let mut fields = LineFields::default();
        if !self.fields(&line, &mut fields)? {
            return Ok(());
        }
        if self.uri_is_target {
            fields.take_uri_for_target();
        }
        let at = fields.at.or_else(|| fields.time()).or(before);
        let entry = fields.keep(self.behind_proxy, at, batch).map_err(|field| (field, 0))?;
        let end = &mut self.end;
        end.read += 1;
        end.with_request += u64::from(entry.request.is_some());
        end.with_agent += u64::from(entry.agent.as_ref().is_some_and(|agent| !agent.is_empty()));
        end.without_address += u64::from(entry.address.is_none());
        batch.entries.push(entry);
        Ok(())
    }

    /// Notes why the log cannot be read on.
    pub(super) fn breaks_off(&mut self, error: &io::Error) {
        let (log, lines, error) = (self.end.name.clone(), self.number, error.to_string());
        self.end.broken = Some(BrokenLog { log, lines, error });
    }

    /// Notes a line that cannot be read.
    fn unread(&mut self, expected: &str, column: usize, line: &[u8]) {
        self.end.unread += 1;
        let (name, number, line) = (&self.end.name, self.number, line.get(..SHOWN).unwrap_or(line));
        let told = || format!("{name}:{number}:{column}: expected {expected}: {}", printable(line));
        self.end.example.get_or_insert_with(told);
    }
}

const fn expected(field: LogField) -> &'static str {
    match field {
        LogField::Json => "JSON",
        LogField::Time => "a time",
        LogField::Target | LogField::Path => "a path with its query",
        _ => "a request such as \"GET / HTTP/1.1\"",
    }
}

impl EndOfLog {
    /// Why nothing of this log can be judged, and what to do about it; `None` where something can.
    pub(in crate::ctl) fn fault(&self) -> Option<(String, &'static str)> {
        let known = remedy(&self.start);
        let (is_other, lines) = (known.is_some_and(|known| known.is_other), self.read + self.unread);
        if !is_other && (lines == 0 || self.with_agent > 0 && self.with_request > 0) {
            return None;
        }
        let known = known.map(|known| &*known.remedy);
        let (what, remedy) = match self.lacking {
            _ if is_other || self.with_request > 0 => {
                ("none of them has a User-Agent, so no request can be judged", known.unwrap_or(LOG_THE_AGENT))
            }
            Some(LogField::Target) => ("none of them has the path that the client asked for", LOG_THE_PATH),
            Some(LogField::Time) => ("no time was found in any of them", known.unwrap_or(SAY_THE_FORMAT)),
            _ => ("none of them looks like a line of an access log", known.unwrap_or(SAY_THE_FORMAT)),
        };
        let lines = amount(lines, "line", "lines");
        Some((format!("{}: {lines}: {what}", escape_harmful(&self.name)), remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::LogEntry;
    use super::*;

    /// Reads a log; of each request `address host target status agent`.
    fn shown(log: &str) -> Vec<String> {
        let (mut reader, log) = (LogReader::default(), format!("{log}\n"));
        let batch = reader.batch(log.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown = |entry: LogEntry<&[u8]>| {
            let agent = entry.agent.map_or_else(|| "not logged".to_owned(), text);
            let target = entry.request.map_or_else(|| "none".to_owned(), |request| text(request.1));
            let host = entry.host.map_or_else(|| "-".to_owned(), text);
            let address = entry.address.map_or_else(|| "-".to_owned(), |address| address.to_string());
            format!("{address} {host} {target} {} {agent}", entry.status.unwrap_or_default())
        };
        batch.entries().map(shown).chain(reader.end.example).collect()
    }

    /// What stands in front says nothing of it.
    #[test]
    fn a_log_behind_lines_of_something_else_is_of_the_combined_format() {
        let good = r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "curl/8.5.0""#;
        for noise in
            ["x {a|curl/8.5.0} \"y\" z", "\"a\" \"b\" \"c\" \"d\" \"curl/8.5.0 (x; y)\"", "curl/8.5.0"]
        {
            let log = format!("{}{good}", format!("{noise}\n").repeat(LOOKED_AT));
            assert_eq!(shown(&log)[0], "192.0.2.1 - / 200 curl/8.5.0", "{noise}");
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
            assert!(shown(line)[0].contains(": expected "), "{line}: {:?}", shown(line));
        }
    }
}
