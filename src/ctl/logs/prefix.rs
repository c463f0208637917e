//! What stands in front of a server's line once a logger or a container has passed it on.

use super::time;
use serde::Deserialize;
use std::borrow::Cow;

/// How many loggers may have passed on a line.
const MOST: usize = 3;

/// A line of docker's `json-file` driver.
#[derive(Deserialize)]
struct DockerLine<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    #[expect(dead_code, reason = "a line of docker's has it")]
    stream: Cow<'a, str>,
}

/// The line that the server wrote, and the time that stands in front of it, if one does.
pub(super) fn without(line: &[u8]) -> (Cow<'_, [u8]>, Option<i64>) {
    let (mut line, mut at) = (Cow::Borrowed(line), None);
    for _ in 0..MOST {
        let Some((rest, time)) = without_one(&line) else { break };
        at = time.or(at);
        line = match (&line, rest) {
            (_, Cow::Owned(rest)) => Cow::Owned(rest),
            (Cow::Borrowed(line), Cow::Borrowed(rest)) => {
                Cow::Borrowed(line.get(line.len() - rest.len()..).unwrap_or_default())
            }
            (Cow::Owned(_), Cow::Borrowed(rest)) => Cow::Owned(rest.to_vec()),
        };
    }
    (line, at)
}

fn without_one(line: &[u8]) -> Option<(Cow<'_, [u8]>, Option<i64>)> {
    let borrowed = |(rest, time)| (Cow::Borrowed(rest), time);
    match line.first()? {
        b'{' => docker(line),
        b'<' => syslog(line).map(borrowed),
        b'A'..=b'Z' => old_syslog(line).map(borrowed),
        b'[' => kubectl(line).map(borrowed),
        b'0'..=b'9' => container(line).or_else(|| dated_syslog(line)).map(borrowed),
        b'a'..=b'z' => compose(line).map(borrowed),
        _ => None,
    }
}

/// `{"log":"…\n","stream":"stdout","time":"…"}`
fn docker(line: &[u8]) -> Option<(Cow<'_, [u8]>, Option<i64>)> {
    memchr::memmem::find(line.get(..16)?, b"\"log\"")?;
    let parsed: DockerLine<'_> = serde_json::from_slice(line).ok()?;
    let time = time::any(&parsed.time);
    Some((Cow::Owned(parsed.log.trim_end().as_bytes().to_vec()), time))
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

/// What stands behind `program[123]: `.
fn after_program(line: &[u8]) -> Option<&[u8]> {
    let (program, rest) = word(line)?;
    let is_program = program.strip_suffix(b":").is_some_and(|name| {
        !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./[]@".contains(byte))
    });
    is_program.then_some(rest)
}

/// `2026-11-01T00:00:01.123456789Z stdout F …`, as Kubernetes' container runtimes write it.
fn container(line: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let (time, rest) = word(line)?;
    let rest = rest.strip_prefix(b"stdout ").or_else(|| rest.strip_prefix(b"stderr "))?;
    let rest = rest.strip_prefix(b"F ").or_else(|| rest.strip_prefix(b"P "))?;
    Some((rest, Some(time::any(std::str::from_utf8(time).ok()?)?)))
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
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    is_name.then(|| line.get(bar + 3..)).flatten().map(|rest| (rest, None))
}

fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', line)?;
    Some((line.get(..end)?, line.get(end + 1..)?.trim_ascii_start()))
}
