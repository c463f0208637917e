//! One log: which format its lines have, and each line as a request.

use super::cells::LogCell;
use super::entry::{LineFields, LogBatch, WalkedLine};
use super::json;
use super::layout::LogLayout;
use super::names::{LogField, remedy, without_prefix};
use super::pattern::LogPattern;
use crate::report::amount;
use std::sync::Arc;

/// How many lines are looked at to find out the format.
const LOOKED_AT: usize = 200;

/// How many lines with `X-Forwarded-For`, all of a log, say that a proxy writes it.
const ENOUGH: usize = 5;

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// What a line lacks, or `None` where it is no JSON, and in which column.
type LineFault = (Option<LogField>, usize);

/// Reads the lines of one log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    /// How the lines are built, but for those that are objects of JSON.
    layout: LogLayout,
    /// The operator said so.
    pattern: Option<Arc<LogPattern>>,
    /// Loggers have put something in front of the lines.
    has_prefix: bool,
    /// Whoever connects is a proxy: it is one address, and `X-Forwarded-For` names several.
    behind_proxy: bool,
    /// The field `uri` has queries. nginx's has none, since it is a path that nginx may have rewritten.
    uri_is_target: bool,
    cells: Vec<LogCell>,
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
    with_agent: u64,
    pub(in crate::ctl) with_address: u64,
    /// What the first line that could not be read lacks.
    lacking: Option<LogField>,
    /// How the log begins, for what that says of its server.
    start: Vec<u8>,
}

impl LogReader {
    /// Learns what lines the log has from how it begins, unless it is known by lines before. A `pattern` is the operator's word.
    pub(super) fn learn(&mut self, sample: &[u8], pattern: Option<&Arc<LogPattern>>) {
        if self.seen.read > 0 || self.layout.is_known || self.pattern.is_some() {
            return;
        }
        let lines = sample.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        // Servers write what controls a terminal as escapes: the rest is noise.
        let is_text = |line: &[u8]| line.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | 0x1B));
        let lines = lines.filter(|line| !line.is_empty() && is_text(line)).take(LOOKED_AT);
        let lines: Vec<&[u8]> = lines.collect();
        let bare: Vec<Vec<u8>> = lines.iter().map(|line| bare(line)).collect();
        self.has_prefix = lines.iter().any(|line| without_prefix(line).0 != *line);
        self.pattern = pattern.cloned();
        self.layout = LogLayout::of(&bare.iter().map(Vec::as_slice).collect::<Vec<_>>());
        if self.seen.start.is_empty() {
            self.seen.start = sample.get(..sample.len().min(2_048)).unwrap_or_default().to_vec();
        }
        // Whoever connects is a proxy where it is one address for several clients, or where every request came with the header.
        let (mut peers, mut clients, mut read) = (Vec::new(), Vec::new(), 0);
        for line in bare {
            self.fields(&line, None, |reader, fields, _| {
                let Ok(Some(fields)) = fields else { return };
                read += 1;
                reader.uri_is_target |= fields.has_query_in_uri();
                if let (Some(peer), Some(client)) = fields.addresses() {
                    peers.push(peer);
                    clients.push(client);
                }
            });
        }
        let has_all = read >= ENOUGH && clients.len() == read;
        peers.dedup();
        clients.dedup();
        self.behind_proxy = clients.len() > 1 && (peers.len() == 1 || has_all);
    }

    /// Hands on the fields of a line without what loggers put around it, with the time that they gave it; `None` of a head.
    fn fields<R>(
        &mut self,
        line: &[u8],
        before: Option<i64>,
        then: impl FnOnce(&mut Self, Result<Option<&mut LineFields<'_>>, LineFault>, Option<i64>) -> R,
    ) -> R {
        let (line, at) = if self.has_prefix { without_prefix(line) } else { (line, None) };
        let at = at.or(before);
        if line.starts_with(b"{") && self.pattern.is_none() {
            return match json::parse(line) {
                Err(error) => then(self, Err((None, error.column())), at),
                Ok(object) => match json::wrapped(&object) {
                    Some((inner, time)) => {
                        // What stands in front of it is not to be seen in the lines of the log.
                        let (inner, own) = without_prefix(&inner);
                        self.fields(inner, own.or(time).or(at), then)
                    }
                    None => then(self, Ok(Some(&mut json::fields(&object))), at),
                },
            };
        }
        if line.starts_with(b"#") || self.layout.is_head(line) {
            self.layout = LogLayout::named_by(line).unwrap_or_else(|| std::mem::take(&mut self.layout));
            return then(self, Ok(None), at);
        }
        let mut fields = LineFields::default();
        let read = match &self.pattern {
            Some(pattern) => pattern.read(line, &mut fields).map_err(|at| (LogField::RequestLine, at)),
            None => self.layout.read(line, &mut self.cells, &mut fields),
        };
        let read = read.map(|()| Some(&mut fields)).map_err(|(field, column)| (Some(field), column));
        then(self, read, at)
    }

    /// Reads a line, without its end, into a batch.
    pub(super) fn read(&mut self, line: &[u8], number: u64, batch: &mut LogBatch) {
        let fault = self.fields(line, None, |reader, fields, at| {
            let Some(fields) = fields? else { return Ok(()) };
            if reader.uri_is_target {
                fields.take_uri_for_target();
            }
            let entry = fields.entry(reader.behind_proxy, at, batch).map_err(|field| (Some(field), 0))?;
            let seen = &mut reader.seen;
            seen.lines += 1;
            seen.read += 1;
            seen.with_request += u64::from(entry.request.is_some());
            seen.with_agent += u64::from(entry.agent.as_ref().is_some_and(|agent| !agent.is_empty()));
            seen.with_address += u64::from(entry.address.is_some());
            batch.push(number, WalkedLine::Entry(entry));
            Ok(())
        });
        let Err((field, column)) = fault else { return };
        self.seen.lacking = self.seen.lacking.or(field);
        self.unread(field.map_or("JSON", expected), column + 1, line, number, batch);
    }

    /// Notes a line that cannot be read.
    pub(super) fn unread(
        &mut self,
        expected: &'static str,
        column: usize,
        line: &[u8],
        number: u64,
        batch: &mut LogBatch,
    ) {
        self.seen.lines += 1;
        let line = batch.keep(&[line.get(..SHOWN).unwrap_or(line)]);
        batch.push(number, WalkedLine::Unread { expected, column, line });
    }
}

/// The line that the server wrote.
fn bare(line: &[u8]) -> Vec<u8> {
    let line = without_prefix(line).0;
    let object = json::parse(line).ok().filter(|_| line.starts_with(b"{"));
    let inner = object.as_ref().and_then(json::wrapped);
    inner.map_or_else(|| line.to_vec(), |(inner, _)| bare(&inner))
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
        if is_of_errors(&self.start) {
            let remedy = "name the access log, which `access_log` (nginx) or `CustomLog` (Apache) names in the configuration";
            return Some(("it is an error log, which has no User-Agents".to_owned(), remedy));
        }
        if self.lines == 0 || self.with_agent > 0 && self.with_request > 0 {
            return None;
        }
        let has = |mark: &str| memchr::memmem::find(&self.start, mark.as_bytes()).is_some();
        // One value over several lines, or all in one.
        let is_document = [&b"{\n"[..], b"[\n", b"[{"].iter().any(|mark| self.start.starts_with(mark));
        let of_server = if is_document {
            Some("write one object a line: `jq -c '.[]' FILE | gatewayctl replay -`")
        } else {
            remedy(&self.start)
        };
        let format = of_server.unwrap_or(
            "say what the lines look like with --log-format, as in nginx's log_format or Apache's LogFormat",
        );
        let (what, remedy) = match self.lacking {
            _ if self.with_request > 0 => (
                "none of them has a User-Agent, so no request can be judged",
                of_server.unwrap_or(
                    "nginx: `access_log PATH combined`; Apache: `CustomLog PATH combined`; others: switch on a field with the \
                     request's User-Agent",
                ),
            ),
            Some(LogField::Time) => ("no time was found in any of them", format),
            Some(LogField::Target) if has("\"uri\"") => (
                "none of them has the path that the client asked for",
                "`uri` is what nginx made of the path; log $request_uri or $request as well",
            ),
            Some(LogField::Target) => (
                "none of them has the path that the client asked for",
                "log the path as the client sent it, with its query",
            ),
            _ => ("none of them looks like a line of an access log", format),
        };
        Some((format!("{}: {what}", amount(self.lines, "line", "lines")), remedy))
    }
}

/// Whether a log begins with a line of nginx's error log, `2025/12/19 13:40:30 [error] 7#7: …`, or of Apache's, `[Fri Dec 19 …
/// 2025] [core:error] …`.
fn is_of_errors(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |mark: &str| memchr::memmem::find(line, mark.as_bytes()).is_some();
    let is_nginx = line.get(19..21) == Some(b" [") && line.get(4) == Some(&b'/') && has("#");
    is_nginx || (line.starts_with(b"[") && (has("] [pid ") || has("] [client ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log; of each line `address host target status agent`.
    fn shown(log: &str) -> Vec<String> {
        let (mut reader, mut batch) = (LogReader::default(), LogBatch::default());
        reader.learn(log.as_bytes(), None);
        log.lines().for_each(|line| reader.read(line.as_bytes(), 1, &mut batch));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown = |(_, line): (u64, WalkedLine<&[u8]>)| {
            let entry = match line {
                WalkedLine::Entry(entry) => entry,
                WalkedLine::Unread { expected, column, .. } => return format!("{column}: {expected}"),
            };
            let agent = entry.agent.map_or_else(|| "not logged".to_owned(), text);
            let target = entry.request.map_or_else(|| "none".to_owned(), |request| text(request.1));
            let host = entry.host.map_or_else(|| "-".to_owned(), text);
            let address = entry.address.map_or_else(|| "-".to_owned(), |address| address.to_string());
            format!("{address} {host} {target} {} {agent}", entry.status.unwrap_or_default())
        };
        batch.lines().map(shown).collect()
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
