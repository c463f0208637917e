//! Where a log comes from: a file, perhaps compressed, or standard input.

use super::parse;
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How much of a file is looked at to find its first time.
const PEEK: u64 = 64 * 1024;

/// One log, ready to be read.
pub(in crate::ctl) struct LogSource {
    reader: Box<dyn Read + Send>,
    /// A plain file, which may grow while it is read.
    plain: Option<Growing>,
}

/// A plain file that may be written to, or be set aside and begun anew.
#[derive(Debug)]
struct Growing {
    path: PathBuf,
    file: File,
    at: u64,
}

impl LogSource {
    /// Opens a log; `-` is standard input. `progress` goes on by what is read of it, compressed as it may be.
    pub(in crate::ctl) fn open(path: &Path, progress: &ProgressBar) -> io::Result<Self> {
        let file = if path == Path::new("-") { None } else { Some(File::open(path)?) };
        if file.as_ref().map(File::metadata).transpose()?.is_some_and(|metadata| metadata.is_dir()) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let inner: Box<dyn Read + Send> = match &file {
            Some(file) => Box::new(file.try_clone()?),
            None => Box::new(io::stdin()),
        };
        let mut counted = progress.wrap_read(inner);
        let mut start = Vec::with_capacity(4);
        counted.by_ref().take(4).read_to_end(&mut start)?;
        let packing = packing(&start);
        // A pipe has no beginning to go back to: what was read of it is put in front again.
        let reader = unpacked(packing, io::Cursor::new(start).chain(counted))?;
        let plain = file.filter(|file| packing.is_none() && file.metadata().is_ok_and(|file| file.is_file()));
        Ok(Self { reader, plain: plain.map(|file| Growing { path: path.to_owned(), file, at: 0 }) })
    }

    /// Reads on where the log has grown, or at its new beginning where it was begun anew.
    pub(in crate::ctl) fn read_growth(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(plain) = &mut self.plain else { return Ok(0) };
        let length = plain.file.metadata()?.len();
        if length < plain.at {
            plain.file.seek(SeekFrom::Start(0))?;
            plain.at = 0;
        } else if length == plain.at
            && let (Ok(there), Ok(ours)) = (std::fs::metadata(&plain.path), plain.file.metadata())
            && there.ino() != ours.ino()
        {
            plain.file = File::open(&plain.path)?;
            plain.at = 0;
        }
        let count = plain.file.read(buffer)?;
        plain.at += count as u64;
        Ok(count)
    }

    /// Whether it can grow.
    pub(in crate::ctl) const fn can_grow(&self) -> bool {
        self.plain.is_some()
    }
}

impl Read for LogSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if let Some(plain) = &mut self.plain {
            // The two share one position.
            plain.at += count as u64;
        }
        Ok(count)
    }
}

/// How a log is compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    Gzip,
    Zstd,
}

/// Told by the first bytes, whatever the file is called (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
const fn packing(start: &[u8]) -> Option<Packing> {
    match start {
        [0x1F, 0x8B, ..] => Some(Packing::Gzip),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Packing::Zstd),
        _ => None,
    }
}

fn unpacked(packing: Option<Packing>, whole: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(match packing {
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 18, whole))),
        Some(Packing::Zstd) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        None => Box::new(whole),
    })
}

/// The logs in the order in which they were written, so that a read of robots.txt in one counts in the next.
/// Those without a time that can be told stay where they are named, behind the others.
pub(in crate::ctl) fn sorted_by_time(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut timed: Vec<(Option<i64>, &PathBuf)> = paths.iter().map(|path| (first_time(path), path)).collect();
    timed.sort_by_key(|(time, _)| time.unwrap_or(i64::MAX));
    timed.into_iter().map(|(_, path)| path.clone()).collect()
}

/// The time of the first line that has one.
fn first_time(path: &Path) -> Option<i64> {
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return None;
    }
    let mut start = Vec::new();
    let source = LogSource::open(path, &ProgressBar::hidden()).ok()?;
    // A file that is broken further on tells its first time all the same.
    let _ = source.take(PEEK).read_to_end(&mut start);
    let time = |line: &[u8]| parse(line.trim_ascii_end(), &mut String::new()).map(|entry| entry.at);
    start.split(|byte| *byte == b'\n').find_map(time)
}
