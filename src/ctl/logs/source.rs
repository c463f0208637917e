//! Where a log comes from: a file, perhaps compressed, or standard input.

use super::walk::read_log;
use crate::ctl::VerbFailure;
use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// How much of a file is looked at to find its first time.
const PEEK: u64 = 64 * 1024;

/// How much is read at a time.
const BUFFER: usize = 1 << 18;

/// Opens a log; `-` is standard input. `progress` goes on by what is read of it, compressed as it may be.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn open(path: &Path, progress: &ProgressBar) -> io::Result<Box<dyn BufRead + Send>> {
    let whole: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        Box::new(file)
    };
    let mut whole = BufReader::with_capacity(BUFFER, progress.wrap_read(whole));
    // By its first bytes, whatever the file is called (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
    let unpacked: Box<dyn Read + Send> = match *whole.fill_buf()? {
        [0x1F, 0x8B, ..] => Box::new(MultiGzDecoder::new(whole)),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
        _ => return Ok(Box::new(whole)),
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER, unpacked)))
}

/// The logs that are named, in the order in which they were written, so that a read of robots.txt in one counts in the
/// next. A name with `*` that is no file stands for all that match it. Logs without a time stay where they are named, behind
/// the others.
///
/// # Errors
/// When nothing matches a name.
pub(super) fn in_order(named: &[PathBuf]) -> Result<Vec<PathBuf>, VerbFailure> {
    let mut paths = Vec::new();
    for path in named {
        let text = path.to_string_lossy();
        if path.exists() || !text.contains(['*', '?', '[']) {
            paths.push(path.clone());
            continue;
        }
        let found = glob::glob(&text).map_err(|error| VerbFailure(format!("{text}: {error}")))?;
        let length = paths.len();
        paths.extend(found.filter_map(Result::ok));
        if paths.len() == length {
            return Err(VerbFailure(format!("{text}: no file matches")));
        }
    }
    paths.sort_by_cached_key(|path| first_time(path).unwrap_or(i64::MAX));
    Ok(paths)
}

/// The time of the first line that has one.
fn first_time(path: &Path) -> Option<i64> {
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return None;
    }
    let mut start = open(path, &ProgressBar::hidden()).ok()?.take(PEEK);
    let mut first = None;
    read_log(String::new(), &mut start, None, |batch| {
        first = batch.entries().map(|entry| entry.at).next();
        first.is_none()
    });
    first
}
