//! Access logs of web servers: from bytes to requests, in order.
//!
//! [`walk()`] reads logs, in one thread, and hands each request to whoever judges. The format is known by the lines. There are
//! three ways to read one: [`layout`] (words and texts in quotes, as most servers write, and tables), [`json`], and [`pattern`],
//! where the operator says what the lines look like. `formats.toml` has the names of fields and what loggers put in front, and
//! `entry` makes a request of the fields. What a server escaped is given back as the bytes that the client sent.

mod cells;
mod entry;
mod guess;
mod json;
mod layout;
mod names;
mod pattern;
mod reader;
mod time;
mod walk;

pub(super) use cells::decoded;
pub(super) use entry::{LogBatch, LogEntry};
pub(super) use reader::{BrokenLog, EndOfLog};
pub(super) use walk::walk;

/// One line of a log by itself.
pub(super) fn read_line(line: &[u8]) -> (LogBatch, EndOfLog) {
    let mut reader = reader::LogReader::of("line".to_owned(), None);
    let batch = reader.batch(&[line, b"\n"].concat());
    (batch, reader.end)
}
