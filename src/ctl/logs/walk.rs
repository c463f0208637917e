//! The walk over logs: one thread reads, unpacks and parses, and the caller judges, request by request in the order of the logs.

use super::entry::{LogBatch, LogEntry};
use super::pattern::LogPattern;
use super::reader::{EndOfLog, LONGEST_LINE, LogReader};
use crate::ctl::VerbFailure;
use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

/// How much of a file is looked at to find its first time.
const PEEK: u64 = 64 * 1024;

/// How much is read and parsed at a time.
const CHUNK: usize = 1 << 18;

/// Batches that wait to be judged.
const WAITING: usize = 4;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// A log that is being read, unpacked.
type OpenLog = Box<dyn BufRead + Send>;

/// Hands on each request of the logs, and says how they ended. `format` is what the operator says of their lines. All logs
/// are opened before any of them is read: a misspelt name is an error at once.
///
/// # Errors
/// When one cannot be opened, or the format is none; and what `judge` fails with.
pub(in crate::ctl) fn walk(
    asked: &[PathBuf],
    format: Option<&str>,
    mut judge: impl FnMut(&LogEntry<&[u8]>) -> Result<(), VerbFailure>,
) -> Result<Vec<EndOfLog>, VerbFailure> {
    let pattern = format.map(LogPattern::named).transpose()?;
    // In the order in which they were written, so that a read of robots.txt in one counts in the next. Logs without a time stay
    // where they are named, behind the others.
    let mut paths = asked.to_vec();
    paths.sort_by_cached_key(|path| first_time(path).unwrap_or(i64::MAX));
    let progress = progress(&paths);
    let open = |path: &PathBuf| {
        let log = open(path, &progress);
        let log = log.map_err(|error| VerbFailure::at(path, format!("cannot be read: {error}")))?;
        Ok((path.display().to_string(), log))
    };
    let logs: Vec<(String, OpenLog)> = paths.iter().map(open).collect::<Result<_, VerbFailure>>()?;
    let (sender, batches) = sync_channel(WAITING);
    let reading = std::thread::spawn(move || {
        // Sending fails when nobody judges any more.
        let read = |(name, log): (String, OpenLog)| {
            let reader = LogReader::of(name, pattern.clone());
            read_log(reader, log, |batch| sender.send(batch).is_ok())
        };
        logs.into_iter().map(read).collect()
    });
    for batch in batches {
        batch.entries().try_for_each(|entry| judge(&entry))?;
    }
    progress.finish_and_clear();
    reading.join().map_err(|_| VerbFailure("the thread that reads the logs has panicked".to_owned()))
}

/// Opens a log; `-` is standard input. `progress` goes on by what is read of it, compressed as it may be.
fn open(path: &Path, progress: &ProgressBar) -> io::Result<OpenLog> {
    let whole: Box<dyn Read + Send> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut whole = BufReader::with_capacity(CHUNK, progress.wrap_read(whole));
    // By its first bytes, whatever the file is called (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
    let unpacked: Box<dyn Read + Send> = match *whole.fill_buf()? {
        [0x1F, 0x8B, ..] => Box::new(MultiGzDecoder::new(whole)),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
        _ => return Ok(Box::new(whole)),
    };
    Ok(Box::new(BufReader::with_capacity(CHUNK, unpacked)))
}

/// The time of the first line that has one.
fn first_time(path: &Path) -> Option<i64> {
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return None;
    }
    let start = open(path, &ProgressBar::hidden()).ok()?.take(PEEK);
    let mut first = None;
    read_log(LogReader::default(), start, |batch| {
        first = batch.entries().map(|entry| entry.at).next();
        first.is_none()
    });
    first
}

/// Reads one log to its end, or until nobody takes its requests.
fn read_log(
    mut reader: LogReader,
    mut log: impl BufRead,
    mut take: impl FnMut(LogBatch) -> bool,
) -> EndOfLog {
    let mut text = Vec::new();
    while reader.end.broken.is_none() {
        let filled = fill(&mut log, &mut text);
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
fn fill(log: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<()> {
    text.clear();
    while text.len() < CHUNK && log.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', text)? > 0 {
        if !text.ends_with(b"\n") {
            log.skip_until(b'\n')?;
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
