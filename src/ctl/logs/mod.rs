//! Access logs of web servers: from bytes to requests, in order.
//!
//! [`LogWalk`] reads logs, in one thread, and hands each line to whoever judges. The format is known by the lines. There are
//! four ways to read one: [`quoted`] (words and texts in quotes, as most servers write), [`columns`] (named in a head, or
//! `key=value`), [`json`], and [`pattern`], where the operator says what the lines look like. `names` has the names of fields,
//! `prefix` takes off what loggers and containers put in front, and `entry` makes a request of the fields. What a server
//! escaped is given back as the bytes that the client sent.

mod columns;
mod entry;
mod guess;
mod json;
mod names;
mod pattern;
mod pieces;
mod prefix;
mod quoted;
mod reader;
mod source;
mod time;
mod walk;

pub(super) use entry::{LogEntry, LoggedUserAgent};
pub(super) use pattern::LogPattern;
pub(super) use source::in_order;
pub(super) use walk::{EndOfLog, LogWalk, WalkedLine};

/// The request in one line of a log by itself, or what was expected of it.
pub(super) fn read_line(line: &bytes::Bytes) -> Result<LogEntry, &'static str> {
    match reader::LogReader::new(line, None).read(line) {
        reader::LineRead::Entry(entry) => Ok(entry),
        reader::LineRead::Unread(expected, _) => Err(expected),
        reader::LineRead::Nothing => Err("a request"),
    }
}
