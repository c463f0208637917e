//! The walk over logs: one thread reads, unpacks and parses, and the caller judges, line by line in the order of the logs.

use super::entry::LogEntry;
use super::pattern::LogPattern;
use super::reader::{LineRead, LogReader, SeenOfLog};
use super::source;
use crate::ctl::VerbFailure;
use crate::report::grouped;
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memchr::memrchr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// How much is read at a time.
const CHUNK: usize = 1 << 20;

/// Longer lines are no requests: servers take some tens of kilobytes of a request's head.
const LONGEST_LINE: usize = 1 << 17;

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// Batches that wait to be judged.
const WAITING: usize = 4;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Logs that can be read.
pub(in crate::ctl) struct LogWalk {
    sources: Vec<Box<dyn Read + Send>>,
    pattern: Option<Arc<LogPattern>>,
    progress: ProgressBar,
}

/// How the reading of one log ended.
#[derive(Debug)]
pub(in crate::ctl) struct EndOfLog {
    /// Which of the logs.
    pub(in crate::ctl) log: usize,
    pub(in crate::ctl) seen: SeenOfLog,
    /// How many lines were read before it could not be read on, and why.
    pub(in crate::ctl) broken: Option<(u64, String)>,
}

/// A line as it is judged.
#[derive(Debug)]
pub(in crate::ctl) enum WalkedLine {
    /// A request.
    Entry(LogEntry),
    /// It could not be read: what was expected, in which column, and the line.
    Unread { expected: &'static str, column: usize, line: Bytes },
}

/// What the thread that reads sends: lines with their numbers.
enum WalkStep {
    Batch(Vec<(u64, WalkedLine)>),
    End(EndOfLog),
}

impl LogWalk {
    /// Opens all logs before any of them is read: a misspelt name is an error at once.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub(in crate::ctl) fn open(
        logs: &[PathBuf],
        pattern: Option<Arc<LogPattern>>,
    ) -> Result<Self, VerbFailure> {
        let progress = progress(logs);
        let open = |path: &PathBuf| {
            source::open(path, &progress)
                .map_err(|error| VerbFailure(format!("{}: cannot be read: {error}", path.display())))
        };
        let sources = logs.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { sources, pattern, progress })
    }

    /// Hands on each line with the number of its log and its own.
    ///
    /// # Errors
    /// What `judge` fails with.
    pub(in crate::ctl) fn each(
        self,
        mut judge: impl FnMut((usize, u64), WalkedLine) -> io::Result<()>,
    ) -> io::Result<Vec<EndOfLog>> {
        let Self { sources, pattern, progress } = self;
        let (mut ends, mut count) = (Vec::new(), 0);
        std::thread::scope(|scope| {
            let (sender, steps) = sync_channel(WAITING);
            scope.spawn(move || {
                for (log, source) in sources.into_iter().enumerate() {
                    // Sending fails when nobody takes the batches any more. That ends the thread.
                    if read_log(log, source, pattern.as_ref(), &sender).is_none() {
                        return;
                    }
                }
            });
            for step in steps {
                match step {
                    WalkStep::Batch(batch) => {
                        for (number, line) in batch {
                            count += 1;
                            judge((ends.len(), number), line)?;
                        }
                        show_lines(&progress, count);
                    }
                    WalkStep::End(end) => ends.push(end),
                }
            }
            Ok::<_, io::Error>(())
        })?;
        progress.finish_and_clear();
        Ok(ends)
    }
}

/// Reads one log to its end. `None` when nobody takes its lines.
fn read_log(
    log: usize,
    mut source: Box<dyn Read + Send>,
    pattern: Option<&Arc<LogPattern>>,
    steps: &SyncSender<WalkStep>,
) -> Option<()> {
    let mut lines = LinesOfLog::default();
    let mut reader: Option<LogReader> = None;
    let broken = loop {
        let mut text = std::mem::take(&mut lines.rest);
        text.reserve(CHUNK);
        let filled = source.by_ref().take(CHUNK as u64).read_to_end(&mut text);
        let is_last = matches!(filled, Ok(0)) || filled.is_err();
        lines.cut(&mut text, is_last && filled.is_ok());
        // Where the log begins with a line that is too long, or with noise, nothing says yet what its lines are like.
        if text.is_empty() && matches!(filled, Ok(1..)) {
            continue;
        }
        if !reader.as_ref().is_some_and(LogReader::knows_lines) {
            let before = reader.take().map(|reader| reader.seen);
            let mut new = LogReader::new(&text, pattern);
            new.seen = before.unwrap_or(new.seen);
            reader = Some(new);
        }
        let Some(reader) = &mut reader else { continue };
        let batch = lines.batch(text, reader);
        steps.send(WalkStep::Batch(batch)).ok()?;
        match filled {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some((lines.number, error.to_string())),
        }
    };
    let seen = reader.map(|reader| reader.seen).unwrap_or_default();
    steps.send(WalkStep::End(EndOfLog { log, seen, broken })).ok()
}

/// Where the reading of a log has come to.
#[derive(Debug, Default)]
struct LinesOfLog {
    /// The start of a line whose end has not been read.
    rest: Vec<u8>,
    /// Lines so far, blank ones too.
    number: u64,
    /// A line that is too long is being passed over.
    is_skipping: bool,
    /// Lines that were too long since the last batch.
    overlong: u64,
}

impl LinesOfLog {
    /// Leaves whole lines in `text`, in bounded memory whatever the lines are like.
    fn cut(&mut self, text: &mut Vec<u8>, is_end: bool) {
        if self.is_skipping {
            match memchr::memchr(b'\n', text) {
                Some(end) => drop(text.drain(..=end)),
                None => text.clear(),
            }
            self.is_skipping = text.is_empty() && !is_end;
        }
        if is_end {
            return;
        }
        self.rest = text.split_off(memrchr(b'\n', text).map_or(0, |end| end + 1));
        if self.rest.len() > LONGEST_LINE {
            self.rest = Vec::new();
            self.is_skipping = true;
            self.overlong += 1;
        }
    }

    fn batch(&mut self, text: Vec<u8>, reader: &mut LogReader) -> Vec<(u64, WalkedLine)> {
        let text = Bytes::from(text);
        let (mut from, mut batch) = (0, Vec::with_capacity(text.len() / 128));
        for end in memchr::memchr_iter(b'\n', &text).chain(std::iter::once(text.len())) {
            let line = text.get(from..end).unwrap_or_default();
            self.number += u64::from(from < text.len());
            let line =
                text.slice(from.min(end)..from.min(end) + line.strip_suffix(b"\r").unwrap_or(line).len());
            from = end + 1;
            if line.is_empty() {
                continue;
            }
            match reader.read(&line) {
                LineRead::Entry(entry) => batch.push((self.number, WalkedLine::Entry(entry))),
                LineRead::Nothing => {}
                LineRead::Unread(expected, column) => {
                    let line = line.slice(..line.len().min(SHOWN));
                    batch.push((self.number, WalkedLine::Unread { expected, column, line }));
                }
            }
        }
        for _ in 0..std::mem::take(&mut self.overlong) {
            self.number += 1;
            reader.seen.lines += 1;
            let (expected, line) = ("a line of at most 128 KiB", Bytes::from_static(b"(a longer line)"));
            batch.push((self.number, WalkedLine::Unread { expected, column: LONGEST_LINE, line }));
        }
        batch
    }
}

/// How far the logs have been read, for a person who waits: on a terminal only, on standard error. With the time left,
/// or the rate alone of what has no known length.
fn progress(logs: &[PathBuf]) -> ProgressBar {
    let length = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        file.filter(|_| path != Path::new("-")).map(|file| file.len())
    };
    let total: Option<u64> = logs.iter().map(length).sum();
    let template = match total {
        Some(_) => "{wide_bar} {percent:>3} %  {msg}  {eta} left",
        None => "{spinner} {msg}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(RATE));
    // The template is this program's own, and a fault in it shows as the default style.
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// So many lines have been judged.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is no larger than a count"
)]
fn show_lines(progress: &ProgressBar, lines: u64) {
    if !progress.is_hidden() {
        let rate = (lines as f64 / progress.elapsed().as_secs_f64().max(0.001)) as u64;
        progress.set_message(format!("{} lines, {} a second", grouped(lines), grouped(rate)));
    }
}
