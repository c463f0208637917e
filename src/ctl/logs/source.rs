//! Where a log comes from: a file, perhaps compressed, or standard input.

use super::reader::{LineRead, LogReader};
use crate::ctl::VerbFailure;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How much of a file is looked at to find its first time.
const PEEK: u64 = 64 * 1024;

/// Opens a log; `-` is standard input. `progress` goes on by what is read of it, compressed as it may be.
///
/// # Errors
/// When it cannot be opened, or is packed in a way that is not known here.
pub(super) fn open(path: &Path, progress: &ProgressBar) -> io::Result<Box<dyn Read + Send>> {
    let whole: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        Box::new(file)
    };
    let mut counted = progress.wrap_read(whole);
    let mut start = Vec::with_capacity(6);
    counted.by_ref().take(6).read_to_end(&mut start)?;
    // A pipe has no beginning to go back to: what was read of it is put in front again.
    let whole = io::Cursor::new(start.clone()).chain(counted);
    let packed = |how: &str| {
        let told = format!("it is compressed by {how}; unpack it: `{how} -dc FILE | gatewayctl replay -`");
        Err(io::Error::new(io::ErrorKind::Unsupported, told))
    };
    // By its first bytes, whatever the file is called (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
    match *start.as_slice() {
        [0x1F, 0x8B, ..] => Ok(Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 18, whole)))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Ok(Box::new(zstd::stream::read::Decoder::new(whole)?)),
        [b'B', b'Z', b'h', ..] => packed("bzip2"),
        [0xFD, b'7', b'z', b'X', b'Z', 0] => packed("xz"),
        _ => Ok(Box::new(whole)),
    }
}

/// The logs that are named, in the order in which they were written, so that a read of robots.txt in one counts in the
/// next. A name with `*` that is no file stands for all that match it. Logs without a time stay where they are named, behind
/// the others.
///
/// # Errors
/// When nothing matches a name.
pub(in crate::ctl) fn in_order(named: &[PathBuf]) -> Result<Vec<PathBuf>, VerbFailure> {
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
    let mut start = Vec::new();
    // A file that is broken further on has its first time all the same.
    let _ = open(path, &ProgressBar::hidden()).ok()?.take(PEEK).read_to_end(&mut start);
    let mut reader = LogReader::new(&start, None);
    let lines = start.split(|byte| *byte == b'\n').map(|line| Bytes::copy_from_slice(line.trim_ascii_end()));
    lines.filter(|line| !line.is_empty()).find_map(|line| match reader.read(&line) {
        LineRead::Entry(entry) => Some(entry.at),
        LineRead::Nothing | LineRead::Unread(..) => None,
    })
}
