//! The walk over logs: one thread reads, unpacks and parses, and the caller judges, request by request in the order of the logs.

use super::entry::{LogBatch, LogEntry};
use super::pattern::LogPattern;
use super::reader::{EndOfLog, LONGEST_LINE, LogReader};
use super::source;
use crate::ctl::VerbFailure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, BufRead, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// How much is parsed at a time.
const CHUNK: usize = 1 << 18;

/// Batches that wait to be judged.
const WAITING: usize = 4;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Logs that can be read, in the order in which they were written.
pub(in crate::ctl) struct LogWalk {
    logs: Vec<(String, Box<dyn BufRead + Send>)>,
    pattern: Option<Arc<LogPattern>>,
    progress: ProgressBar,
}

impl LogWalk {
    /// Opens all logs before any of them is read: a misspelt name is an error at once. `format` is what the operator says of
    /// their lines.
    ///
    /// # Errors
    /// When one cannot be opened, or the format is none.
    pub(in crate::ctl) fn open(asked: &[PathBuf], format: Option<&str>) -> Result<Self, VerbFailure> {
        let pattern = format.map(LogPattern::named).transpose()?.map(Arc::new);
        let paths = source::in_order(asked)?;
        let progress = progress(&paths);
        let open = |path: &PathBuf| {
            let source = source::open(path, &progress);
            let source = source.map_err(|error| VerbFailure::at(path, format!("cannot be read: {error}")))?;
            Ok((path.display().to_string(), source))
        };
        let logs = paths.iter().map(open).collect::<Result<_, VerbFailure>>()?;
        Ok(Self { logs, pattern, progress })
    }

    /// Hands on each request, and says how the logs ended.
    ///
    /// # Errors
    /// What `judge` fails with.
    pub(in crate::ctl) fn each(
        self,
        mut judge: impl FnMut(&LogEntry<&[u8]>) -> Result<(), VerbFailure>,
    ) -> Result<Vec<EndOfLog>, VerbFailure> {
        let Self { logs, pattern, progress } = self;
        let (sender, batches) = sync_channel(WAITING);
        let reading = std::thread::spawn(move || {
            // Sending fails when nobody judges any more.
            let read = |(name, mut source): (String, Box<dyn BufRead + Send>)| {
                read_log(name, &mut source, pattern.as_ref(), |batch| sender.send(batch).is_ok())
            };
            logs.into_iter().map(read).collect()
        });
        for batch in batches {
            batch.entries().try_for_each(|entry| judge(&entry))?;
        }
        progress.finish_and_clear();
        reading.join().map_err(|_| io::Error::other("the thread that reads the logs has panicked").into())
    }
}

/// Reads one log to its end, or until nobody takes its requests.
pub(super) fn read_log(
    name: String,
    source: &mut impl BufRead,
    pattern: Option<&Arc<LogPattern>>,
    mut take: impl FnMut(LogBatch) -> bool,
) -> EndOfLog {
    let (mut reader, mut text) = (LogReader::of(name, pattern), Vec::new());
    while reader.end.broken.is_none() {
        let filled = fill(source, &mut text);
        if filled.is_ok() && text.is_empty() || !take(reader.batch(&text)) {
            break;
        }
        if let Err(error) = filled {
            reader.breaks_off(&error);
        }
    }
    reader.end
}

/// Reads the next lines. Of a line that is too long the beginning is kept, so that the memory is bounded whatever they are like.
fn fill(source: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<()> {
    text.clear();
    while text.len() < CHUNK && source.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', text)? > 0 {
        if !text.ends_with(b"\n") {
            source.skip_until(b'\n')?;
            text.push(b'\n');
        }
    }
    Ok(())
}

/// How far the logs have been read, for a person who waits: on a terminal only, on standard error.
fn progress(logs: &[PathBuf]) -> ProgressBar {
    let length = |path: &PathBuf| {
        std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
    };
    let total: Option<u64> = logs.iter().map(length).sum();
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(RATE));
    // The template is this program's own, and a fault in it shows as the default style.
    let style =
        ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
