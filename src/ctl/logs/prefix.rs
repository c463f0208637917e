//! What stands in front of a server's line once a logger or a container has passed it on.

use super::time;
use std::borrow::Cow;

/// How many loggers may have passed on a line.
const MOST: usize = 3;

/// Under which keys loggers put the line of a server: docker and fluentd, filebeat and logstash, journald, Loki, Google, Splunk
/// and Graylog.
const LINES: [&str; 8] =
    ["log", "message", "MESSAGE", "line", "textPayload", "_raw", "event", "short_message"];

/// Under which keys they put its time.
const TIMES: [&str; 3] = ["time", "@timestamp", "timestamp"];

/// The line that the server wrote, and the time that stands in front of it, if one does.
pub(super) fn without(line: &[u8]) -> (Cow<'_, [u8]>, Option<i64>) {
    let (mut line, mut at) = (Cow::Borrowed(line), None);
    for _ in 0..MOST {
        let Some((rest, time)) = without_one(&line) else { break };
        at = time.or(at);
        line = match (&line, rest) {
            (_, Cow::Owned(rest)) => Cow::Owned(rest),
            (Cow::Borrowed(line), Cow::Borrowed(rest)) => {
                let start = rest.as_ptr().addr() - line.as_ptr().addr();
                Cow::Borrowed(line.get(start..start + rest.len()).unwrap_or_default())
            }
            (Cow::Owned(_), Cow::Borrowed(rest)) => Cow::Owned(rest.to_vec()),
        };
    }
    (line, at)
}

fn without_one(line: &[u8]) -> Option<(Cow<'_, [u8]>, Option<i64>)> {
    let borrowed = |(rest, time)| (Cow::Borrowed(rest), time);
    match line.first()? {
        b'{' => wrapped(line),
        b'<' => syslog(line).map(borrowed),
        b'"' => in_quotes(line).map(|line| borrowed((line, None))),
        b'A'..=b'Z' => old_syslog(line).map(borrowed),
        b'[' => kubectl(line).map(borrowed),
        b'0'..=b'9' => console(line).or_else(|| container(line)).or_else(|| dated_syslog(line)).map(borrowed),
        b'a'..=b'z' => compose(line).map(borrowed),
        _ => None,
    }
}

/// `{"log":"…\n","stream":"stdout","time":"…"}`
fn wrapped(line: &[u8]) -> Option<(Cow<'_, [u8]>, Option<i64>)> {
    LINES.iter().find(|key| memchr::memmem::find(line, format!("\"{key}\":").as_bytes()).is_some())?;
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line).ok()?;
    let text = LINES.iter().filter_map(|key| object.get(*key)?.as_str()).find(|text| is_of_server(text))?;
    let at = TIMES.iter().find_map(|key| time::any(object.get(*key)?.as_str()?));
    Some((Cow::Owned(text.trim_end().as_bytes().to_vec()), at))
}

/// Whether a text is a line of an access log, and not a sentence about a request.
fn is_of_server(text: &str) -> bool {
    text.starts_with('{') || text.contains(" HTTP/")
}

/// `<134>1 time host program pid id [data] …` (RFC 5424 §6), or `<134>` in front of the older form.
fn syslog(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let end = memchr::memchr(b'>', line.get(..6)?)?;
    let rest = line.get(end + 1..)?;
    let Some(rest) = rest.strip_prefix(b"1 ") else { return old_syslog(rest).or_else(|| dated_syslog(rest)) };
    let (time, mut rest) = word(rest)?;
    let at = std::str::from_utf8(time).ok().and_then(time::any);
    for _ in 0..4 {
        rest = word(rest)?.1;
    }
    // Structured data, or a hyphen.
    while let Some(data) = rest.strip_prefix(b"[") {
        let end = memchr::memmem::find(data, b"]")?;
        rest = data.get(end + 1..)?;
    }
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    Some((rest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(rest), at))
}

/// `Nov  1 00:00:01 host program[123]: …` (RFC 3164 §4.1). It has no year, so the time is the server's.
fn old_syslog(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let head = line.get(..16)?;
    let is_time = head.get(3) == Some(&b' ')
        && [9, 12].iter().all(|at| head.get(*at) == Some(&b':'))
        && head.get(15) == Some(&b' ')
        && head.get(..3)?.iter().all(u8::is_ascii_alphabetic);
    let (_host, rest) = word(line.get(16..).filter(|_| is_time)?)?;
    Some((after_program(rest)?, None))
}

/// `2026-11-01T00:00:01+00:00 host program[123]: …`
fn dated_syslog(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let (time, rest) = word(line)?;
    let at =
        time::any(std::str::from_utf8(time).ok().filter(|time| time.contains('T') && time.len() >= 20)?)?;
    // Some name no host.
    let rest = after_program(rest).or_else(|| after_program(word(rest)?.1))?;
    Some((rest, Some(at)))
}

/// `"203.0.113.7 - - [time] "GET / HTTP/1.1" … "agent""`, as `OpenLiteSpeed` writes it. A first text in quotes of its own ends in
/// front of a blank, and not behind one.
fn in_quotes(line: &[u8]) -> Option<&[u8]> {
    let inside = line.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let next = memchr::memchr(b'"', inside)?;
    inside.get(..next)?.ends_with(b" ").then_some(inside)
}

/// What stands behind `program[123]: `.
fn after_program(line: &[u8]) -> Option<&[u8]> {
    let (program, rest) = word(line)?;
    let is_program = program.strip_suffix(b":").is_some_and(|name| {
        !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./[]@".contains(byte))
    });
    is_program.then_some(rest)
}

/// `2026-11-01T00:00:01.123456789Z stdout F …`, as Kubernetes' container runtimes write it; a time in front of an object, or of
/// `{app="web"} …`, as Loki writes it.
fn container(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let (time, rest) = word(line)?;
    let of_stream = rest.strip_prefix(b"stdout ").or_else(|| rest.strip_prefix(b"stderr "));
    let rest = of_stream
        .and_then(|rest| rest.strip_prefix(b"F ").or_else(|| rest.strip_prefix(b"P ")))
        .or_else(|| Some(rest).filter(|rest| rest.starts_with(b"{")))?;
    let labels = rest.strip_prefix(b"{").filter(|rest| rest.first().is_some_and(u8::is_ascii_alphabetic));
    let end = labels.and_then(|labels| Some((labels, memchr::memmem::find(labels, b"\"} ")?)));
    let rest = end.and_then(|(labels, end)| labels.get(end + 3..)).unwrap_or(rest);
    Some((rest, Some(time::any(std::str::from_utf8(time).ok()?)?)))
}

/// `time<tab>INFO<tab>http.log.access<tab>handled request<tab>{…}`, as Caddy writes it to a console.
fn console(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let start =
        memchr::memmem::find(line.get(4..).filter(|rest| rest.starts_with(b"/"))?, b"\thandled request\t{")?
            + 4;
    let time = line.get(..memchr::memchr(b'\t', line)?)?;
    Some((line.get(start + 17..)?, std::str::from_utf8(time).ok().and_then(time::any)))
}

/// `[pod/name/container] …`, as `kubectl logs --prefix` writes it.
fn kubectl(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let name = line.strip_prefix(b"[pod/")?;
    let end = memchr::memmem::find(name, b"] ")?;
    Some((name.get(end + 2..)?, None))
}

/// `web-1  | …`, as docker compose writes it.
fn compose(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let bar = memchr::memmem::find(line.get(..line.len().min(64))?, b" | ")?;
    let name = line.get(..bar)?.trim_ascii_end();
    let rest = line.get(bar + 3..)?;
    // A log whose cells are separated by bars has more of them.
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    (is_name && !rest.contains(&b'|')).then_some((rest, None))
}

fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', line)?;
    Some((line.get(..end)?, line.get(end + 1..)?.trim_ascii_start()))
}
