//! Lines that were read, on their way from the thread that reads to the one that judges: numbers, and places in one text.

use super::entry::{LogEntry, LoggedUserAgent};
use std::borrow::Cow;
use std::net::IpAddr;

/// A place in the text of a batch, or in what was made beside it.
#[derive(Clone, Copy, Debug)]
struct TextPlace {
    start: u32,
    length: u32,
    is_made: bool,
}

/// A [`LogEntry`] whose texts stand in a batch.
#[derive(Debug)]
struct KeptEntry {
    at: i64,
    address: Option<IpAddr>,
    status: Option<u16>,
    size: Option<u64>,
    host: Option<TextPlace>,
    request: Option<(TextPlace, TextPlace)>,
    agent: KeptAgent,
}

/// A [`LoggedUserAgent`] likewise.
#[derive(Clone, Copy, Debug)]
enum KeptAgent {
    Sent(TextPlace),
    Absent,
    Unlogged,
}

/// What became of a line.
#[derive(Debug)]
enum KeptLine {
    Entry(KeptEntry),
    Unread { expected: &'static str, column: usize, line: TextPlace },
}

/// Some lines of a log.
#[derive(Debug, Default)]
pub(super) struct LogBatch {
    text: Vec<u8>,
    made: Vec<u8>,
    lines: KeptLines,
}

/// Lines with their numbers.
#[derive(Debug, Default)]
pub(super) struct KeptLines(Vec<(u64, KeptLine)>);

/// A line as it is judged.
#[derive(Debug)]
pub(in crate::ctl) enum WalkedLine<'a> {
    /// A request.
    Entry(LogEntry<'a>),
    /// It could not be read: what was expected, in which column, and the line.
    Unread { expected: &'static str, column: usize, line: &'a [u8] },
}

/// Fills a batch with lines of `text`.
#[derive(Debug)]
pub(super) struct BatchWriter<'t> {
    text: &'t [u8],
    made: Vec<u8>,
    lines: Vec<(u64, KeptLine)>,
}

impl<'t> BatchWriter<'t> {
    pub(super) const fn new(text: &'t [u8]) -> Self {
        Self { text, made: Vec::new(), lines: Vec::new() }
    }

    pub(super) fn entry(&mut self, number: u64, entry: &LogEntry<'_>) {
        let kept = KeptEntry {
            at: entry.at,
            address: entry.address,
            status: entry.status,
            size: entry.size,
            host: entry.host.as_ref().map(|host| self.place(host)),
            request: entry.request.as_ref().map(|(method, target)| (self.place(method), self.place(target))),
            agent: match &entry.agent {
                LoggedUserAgent::Sent(agent) => KeptAgent::Sent(self.place(agent)),
                LoggedUserAgent::Absent => KeptAgent::Absent,
                LoggedUserAgent::Unlogged => KeptAgent::Unlogged,
            },
        };
        self.lines.push((number, KeptLine::Entry(kept)));
    }

    pub(super) fn unread(&mut self, number: u64, expected: &'static str, column: usize, line: &[u8]) {
        let line = self.place(line);
        self.lines.push((number, KeptLine::Unread { expected, column, line }));
    }

    /// Where `part` stands. What is not of the text itself is copied.
    fn place(&mut self, part: &[u8]) -> TextPlace {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let start = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        let is_of_text = self.text.get(start..).is_some_and(|rest| rest.len() >= part.len());
        if is_of_text {
            return TextPlace { start: number(start), length: number(part.len()), is_made: false };
        }
        let start = number(self.made.len());
        self.made.extend_from_slice(part);
        TextPlace { start, length: number(part.len()), is_made: true }
    }

    pub(super) fn finish(self) -> (Vec<u8>, KeptLines) {
        (self.made, KeptLines(self.lines))
    }
}

impl LogBatch {
    pub(super) fn new(text: Vec<u8>, (made, lines): (Vec<u8>, KeptLines)) -> Self {
        Self { text, made, lines }
    }

    /// All lines, with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, WalkedLine<'_>)> {
        self.lines.0.iter().map(|(number, line)| (*number, self.line(line)))
    }

    fn line(&self, line: &KeptLine) -> WalkedLine<'_> {
        let kept = match line {
            KeptLine::Entry(kept) => kept,
            KeptLine::Unread { expected, column, line } => {
                return WalkedLine::Unread { expected, column: *column, line: self.at(*line) };
            }
        };
        let text = |place: TextPlace| Cow::Borrowed(self.at(place));
        WalkedLine::Entry(LogEntry {
            host: kept.host.map(text),
            address: kept.address,
            at: kept.at,
            request: kept.request.map(|(method, target)| (text(method), text(target))),
            status: kept.status,
            size: kept.size,
            agent: match kept.agent {
                KeptAgent::Sent(agent) => LoggedUserAgent::Sent(text(agent)),
                KeptAgent::Absent => LoggedUserAgent::Absent,
                KeptAgent::Unlogged => LoggedUserAgent::Unlogged,
            },
        })
    }

    fn at(&self, place: TextPlace) -> &[u8] {
        let (start, length) = (place.start as usize, place.length as usize);
        let of = if place.is_made { &self.made } else { &self.text };
        of.get(start..start + length).unwrap_or_default()
    }
}
