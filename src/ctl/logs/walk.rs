//! The walk over logs: one thread reads, unpacks and parses, and the caller judges, line by line in the order of the logs.

use super::entry::{LogBatch, WalkedLine};
use super::pattern::LogPattern;
use super::reader::{LogReader, SeenOfLog};
use super::source;
use crate::ctl::VerbFailure;
use crate::ctl::output::escape_harmful;
use crate::report::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// How much is parsed at a time.
const CHUNK: usize = 1 << 18;

/// Longer lines are no requests: servers take some tens of kilobytes of a request's head.
const LONGEST_LINE: usize = 1 << 17;

/// Batches that wait to be judged.
const WAITING: usize = 4;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Logs that can be read, in the order in which they were written.
pub(in crate::ctl) struct LogWalk {
    names: Vec<String>,
    sources: Vec<Box<dyn BufRead + Send>>,
    pattern: Option<Arc<LogPattern>>,
    progress: ProgressBar,
}

/// How the reading of one log ended.
#[derive(Debug, Default)]
pub(in crate::ctl) struct EndOfLog {
    name: String,
    pub(in crate::ctl) seen: SeenOfLog,
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

impl EndOfLog {
    /// Why nothing of it can be judged, and what to do about it; `None` where something can.
    pub(in crate::ctl) fn fault(&self) -> Option<(String, &'static str)> {
        let (what, remedy) = self.seen.fault()?;
        Some((escape_harmful(&format!("{}: {what}", self.name)), remedy))
    }
}

/// What the thread that reads sends.
enum WalkStep {
    Batch(LogBatch),
    End(EndOfLog),
}

impl LogWalk {
    /// Opens all logs before any of them is read: a misspelt name is an error at once. `format` is what the operator says of
    /// their lines.
    ///
    /// # Errors
    /// When one cannot be opened, or the format is none.
    pub(in crate::ctl) fn open(asked: &[PathBuf], format: Option<&str>) -> Result<Self, VerbFailure> {
        let pattern = format.map(LogPattern::named).transpose()?.map(Arc::new);
        let logs = source::in_order(asked)?;
        let progress = progress(&logs);
        let names: Vec<String> = logs.iter().map(|path| path.display().to_string()).collect();
        let open = |(path, name): (&PathBuf, &String)| {
            source::open(path, &progress)
                .map_err(|error| VerbFailure(format!("{name}: cannot be read: {error}")))
        };
        let sources = logs.iter().zip(&names).map(open).collect::<Result<_, _>>()?;
        Ok(Self { names, sources, pattern, progress })
    }

    /// Hands on each line with the name of its log and its own number.
    ///
    /// # Errors
    /// What `judge` fails with.
    pub(in crate::ctl) fn each(
        self,
        mut judge: impl FnMut(&str, u64, WalkedLine<&[u8]>) -> io::Result<()>,
    ) -> io::Result<Vec<EndOfLog>> {
        let Self { names, sources, pattern, progress } = self;
        let (mut ends, mut count) = (Vec::new(), 0);
        std::thread::scope(|scope| {
            let (sender, steps) = sync_channel(WAITING);
            let mut rest = names.iter();
            let mut name = rest.next().map_or("", String::as_str);
            scope.spawn(|| {
                let sender = sender;
                for (name, mut source) in names.iter().zip(sources) {
                    // Sending fails when nobody takes the batches any more. That ends the thread.
                    if read_log(name, &mut source, pattern.as_ref(), &sender).is_none() {
                        return;
                    }
                }
            });
            for step in steps {
                match step {
                    WalkStep::Batch(batch) => {
                        for (number, line) in batch.lines() {
                            count += 1;
                            judge(name, number, line)?;
                        }
                        show_lines(&progress, count);
                    }
                    WalkStep::End(end) => {
                        ends.push(end);
                        name = rest.next().map_or("", String::as_str);
                    }
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
    name: &str,
    source: &mut impl BufRead,
    pattern: Option<&Arc<LogPattern>>,
    steps: &SyncSender<WalkStep>,
) -> Option<()> {
    let (mut reader, mut chunk, mut number, mut broken) =
        (LogReader::default(), LinesOfLog::default(), 0, None);
    while broken.is_none() {
        let filled = chunk.fill(source);
        if chunk.ends.is_empty() && matches!(filled, Ok(true)) {
            break;
        }
        reader.learn(&chunk.text, pattern);
        let mut batch = LogBatch::with_room(chunk.ends.len(), chunk.text.len());
        let mut start = 0;
        for &(end, is_whole) in &chunk.ends {
            number += 1;
            let line = chunk.text.get(start..end).unwrap_or_default();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start = end;
            if !is_whole {
                reader.unread(
                    "a line of at most 128 KiB",
                    LONGEST_LINE,
                    b"(a longer line)",
                    number,
                    &mut batch,
                );
            } else if !line.is_empty() {
                reader.read(line, number, &mut batch);
            }
        }
        steps.send(WalkStep::Batch(batch)).ok()?;
        let unfinished =
            |error: io::Error| BrokenLog { log: name.to_owned(), lines: number, error: error.to_string() };
        broken = filled.err().map(unfinished);
    }
    steps.send(WalkStep::End(EndOfLog { name: name.to_owned(), seen: reader.seen, broken })).ok()
}

/// Some lines of a log, in bounded memory whatever they are like.
#[derive(Debug, Default)]
struct LinesOfLog {
    text: Vec<u8>,
    /// Where each line ends, and whether it was kept: of one that is too long nothing is.
    ends: Vec<(usize, bool)>,
}

impl LinesOfLog {
    /// Reads the next lines; whether the log ends with them.
    fn fill(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        self.text.clear();
        self.ends.clear();
        while self.text.len() < CHUNK && self.ends.len() < CHUNK {
            let start = self.text.len();
            let most = LONGEST_LINE as u64 + 1;
            let length = source.take(most).read_until(b'\n', &mut self.text)?;
            if length == 0 {
                return Ok(true);
            }
            let is_whole = length <= LONGEST_LINE || self.text.ends_with(b"\n");
            if !is_whole {
                self.text.truncate(start);
                source.skip_until(b'\n')?;
            }
            self.ends.push((self.text.len(), is_whole));
        }
        Ok(false)
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
