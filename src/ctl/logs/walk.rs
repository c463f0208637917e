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

/// How much is read, and parsed, at a time.
const CHUNK: usize = 1 << 18;

/// Batches that wait to be judged.
const WAITING: usize = 4;

/// How much of a file is looked at to find its first time.
const PEEK: u64 = 64 * 1024;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Hands on each request of the logs in the order in which they were written, and says how they ended. `format` is what the
/// operator says of their lines.
///
/// # Errors
/// When a log cannot be opened, when the format is none, and what `judge` fails with.
pub(in crate::ctl) fn walk(
    named: &[PathBuf],
    format: Option<&str>,
    mut judge: impl FnMut(&LogEntry<&[u8]>) -> Result<(), VerbFailure>,
) -> Result<Vec<EndOfLog>, VerbFailure> {
    let pattern = format.map(LogPattern::named).transpose()?;
    let paths = in_order(named)?;
    let progress = progress(&paths);
    // All are opened before any of them is read: a misspelt name is an error at once.
    let opened = |path: &PathBuf| match open(path, &progress) {
        Ok(source) => Ok((path.display().to_string(), source)),
        Err(error) => Err(VerbFailure::at(path, format!("cannot be read: {error}"))),
    };
    let logs: Vec<_> = paths.iter().map(opened).collect::<Result<_, VerbFailure>>()?;
    let (sender, batches) = sync_channel(WAITING);
    let reading = std::thread::spawn(move || {
        // Sending fails when nobody judges any more.
        let read = |(name, mut source)| {
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

/// The logs that are named, in the order in which they were written, so that a read of robots.txt in one counts in the
/// next. A name with `*` stands for all files that match it, unless one has that very name. Logs without a time stay where
/// they are named, behind the others.
fn in_order(named: &[PathBuf]) -> Result<Vec<PathBuf>, VerbFailure> {
    let mut paths = Vec::new();
    for path in named {
        let text = path.to_string_lossy();
        if path.exists() || !text.contains(['*', '?', '[']) {
            paths.push(path.clone());
            continue;
        }
        let found = glob::glob(&text).map_err(|error| VerbFailure(format!("{text}: {error}")))?;
        let mut found = found.filter_map(Result::ok).peekable();
        found.peek().ok_or_else(|| VerbFailure(format!("{text}: no file matches")))?;
        paths.extend(found);
    }
    paths.sort_by_cached_key(|path| first_time(path).unwrap_or(i64::MAX));
    Ok(paths)
}

/// The time of the first line that has one.
fn first_time(path: &Path) -> Option<i64> {
    // What can be read once only is not looked at.
    length(path)?;
    let mut start = open(path, &ProgressBar::hidden()).ok()?.take(PEEK);
    let mut first = None;
    read_log(String::new(), &mut start, None, |batch| {
        first = batch.entries().map(|entry| entry.at).next();
        first.is_none()
    });
    first
}

/// How long a file is; `None` of what is none.
fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
}

/// Opens a log, which may be compressed; `-` is standard input. `progress` goes on by what is read of it, compressed as it may be.
fn open(path: &Path, progress: &ProgressBar) -> io::Result<Box<dyn BufRead + Send>> {
    let whole: Box<dyn Read + Send> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ if path.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        _ => Box::new(File::open(path)?),
    };
    let mut whole = BufReader::with_capacity(CHUNK, progress.wrap_read(whole));
    // By its first bytes, whatever the file is called (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
    let unpacked: Box<dyn Read + Send> = match *whole.fill_buf()? {
        [0x1F, 0x8B, ..] => Box::new(MultiGzDecoder::new(whole)),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
        _ => return Ok(Box::new(whole)),
    };
    Ok(Box::new(BufReader::with_capacity(CHUNK, unpacked)))
}

/// Reads one log to its end, or until nobody takes its requests.
fn read_log(
    name: String,
    source: &mut impl BufRead,
    pattern: Option<&LogPattern>,
    mut take: impl FnMut(LogBatch) -> bool,
) -> EndOfLog {
    let (mut reader, mut text) = (LogReader::of(name, pattern), Vec::new());
    while reader.end.broken.is_none() {
        let filled = fill(source, &mut text);
        if filled.is_err() {
            // Half a line says nothing that can be relied on.
            text.truncate(memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1));
        }
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
    let total: Option<u64> = logs.iter().map(|path| length(path)).sum();
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(RATE));
    // The template is this program's own, and a fault in it shows as the default style.
    let style =
        ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
