//! A robots.txt on disk: read, looked at, and either fit to come into force or not.
//!
//! Nearly every sequence of bytes parses as a robots.txt, and most accidents parse as "allow
//! everything". So what is plainly an accident may not replace a good version.

use crate::config::reading::{self, FileContents};
use crate::decide::VersionId;
use crate::record::hexadecimal;
use crate::robots::{LineSource, ParseLimits, Robots, Section, UngroupedRecord};
use sha2::{Digest as _, Sha256};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// More than any site needs, and little enough to be kept in memory and sent to every crawler.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The bytes that are served and enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsFile {
    /// Where they came from.
    pub path: PathBuf,
    /// The bytes, whole.
    pub bytes: Vec<u8>,
    /// Their version.
    pub id: VersionId,
    /// Their SHA-256 in hexadecimal digits.
    pub digest: Box<str>,
    /// When the file was last changed, as its folder says.
    pub modified: Option<SystemTime>,
    /// Where its lines come from, in order; none where all are the site's own.
    pub sections: Vec<Section>,
}

/// Why a file may not come into force.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It is not there.
    #[error("there is no such robots.txt")]
    Missing,
    /// It cannot be read.
    #[error("cannot read the robots.txt: {0}")]
    Unreadable(io::Error),
    /// It has no byte.
    #[error("the robots.txt is empty")]
    Empty,
    /// It holds NUL bytes.
    #[error("the robots.txt contains NUL bytes")]
    Nul,
    /// It is UTF-16.
    #[error("the robots.txt is UTF-16, which no crawler reads")]
    Utf16,
    /// It is a web page without a single record.
    #[error("the robots.txt is a web page, without one line of a robots.txt")]
    Html,
    /// It is JSON without a single record.
    #[error("the robots.txt is JSON without a single record")]
    Json,
    /// It is larger than what is kept in memory.
    #[error("the robots.txt is larger than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// With what is put beside it, it is larger than `robots_max_size`.
    #[error("the robots.txt has {bytes} bytes with all its parts, more than `robots_max_size`")]
    ComposedTooLarge {
        /// How large, in bytes.
        bytes: usize,
    },
    /// A line of what is added to it is for no group.
    #[error("{0}")]
    Ungrouped(UngroupedRecord),
    /// The file with what is added to it has such a fault.
    #[error("the file that `additions` names: {0}")]
    Additions(Box<Self>),
}

impl Unfit {
    /// How to mean what the file seems to say.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing => {
                "give the path of a file; to allow everything, write `User-agent: *` and `Allow: /`"
            }
            Self::Empty => "to allow everything, write `User-agent: *` and `Allow: /`",
            Self::Unreadable(error) => match error.kind() {
                io::ErrorKind::InvalidInput => "put a regular file there, or give the path of one",
                io::ErrorKind::TimedOut => {
                    "it is read again when it does, or give the path of a file elsewhere"
                }
                _ => "make the file readable for the user the gateway runs as",
            },
            Self::Nul | Self::Utf16 => "save the file as UTF-8 text",
            Self::Html | Self::Json => {
                "save the text file itself, not a server's error page; to allow everything, write `User-agent: *` and `Allow: /`"
            }
            Self::ComposedTooLarge { .. } => {
                "shorten the file or what is added to it, or raise `robots_max_size`"
            }
            Self::Ungrouped(_) => "begin with a `User-agent:` line",
            Self::Additions(unfit) => match **unfit {
                Self::Missing | Self::Empty | Self::Html | Self::Json => {
                    "write the lines that are to follow the site's own there, or remove `additions`"
                }
                ref other => other.hint(),
            },
            Self::TooLarge => "crawlers read 500 KiB (RFC 9309 §2.5); shorten the file",
        }
    }

    /// The same to an operator whose gateway is running, with one way more.
    pub fn hint_while_running(&self) -> String {
        let more = if self.can_be_meant() { ", or run `gatewayctl reload --accept-empty`" } else { "" };
        format!("{}{more}", self.hint())
    }

    /// Whether `reload --accept-empty` may take it for an empty file.
    pub const fn can_be_meant(&self) -> bool {
        matches!(self, Self::Missing | Self::Empty)
    }
}

impl RobotsFile {
    /// Reads the regular file at `path`. Whether it is fit to come into force is another question: see [`fitness`].
    ///
    /// # Errors
    /// When it is missing, no regular file, unreadable or far too large.
    pub fn read(path: &Path) -> Result<Self, Unfit> {
        let FileContents { bytes, metadata } = reading::read(path, MOST_BYTES).map_err(unreadable)?;
        Ok(Self { modified: Some(last_change(&metadata)), ..Self::of(path, bytes) })
    }

    /// Reads one that somebody named on a command line, which may be a pipe: `<(curl …)`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn named(path: &Path) -> Result<Self, Unfit> {
        Self::take(path, File::open(path).map_err(unreadable)?)
    }

    /// Reads one that comes from elsewhere, such as standard input, and is called `name`.
    ///
    /// # Errors
    /// When it cannot be read, or is far too large.
    pub fn take(name: &Path, source: impl io::Read) -> Result<Self, Unfit> {
        let mut bytes = Vec::new();
        source.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(Unfit::Unreadable)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Unfit::TooLarge);
        }
        Ok(Self::of(name, bytes))
    }

    /// The site's own bytes.
    pub fn own(&self) -> &[u8] {
        let length = match self.sections.first() {
            None => self.bytes.len(),
            Some(first) if first.source == LineSource::Own => first.bytes,
            Some(_) => 0,
        };
        self.bytes.get(..length).unwrap_or_default()
    }

    /// Where a line comes from, and its number there.
    pub fn place(&self, line: u32) -> (&LineSource, u32) {
        let mut before = 0;
        for section in &self.sections {
            if line <= before + section.lines {
                return (&section.source, line - before);
            }
            before += section.lines;
        }
        (&LineSource::Own, line)
    }

    /// Bytes that came from `path`.
    pub fn of(path: &Path, bytes: Vec<u8>) -> Self {
        let sha256 = Sha256::digest(&bytes).into();
        let (id, digest) = (VersionId::of_digest(sha256), hexadecimal(&sha256).into());
        Self { path: path.to_owned(), id, digest, bytes, modified: None, sections: Vec::new() }
    }
}

/// Whether these bytes may replace a good version.
///
/// # Errors
/// When they are plainly an accident.
pub fn fitness(bytes: &[u8]) -> Result<(), Unfit> {
    if bytes.is_empty() {
        return Err(Unfit::Empty);
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(Unfit::Utf16);
    }
    if memchr::memchr(0, bytes).is_some() {
        return Err(Unfit::Nul);
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let unfit = match text.first() {
        Some(b'<') => Unfit::Html,
        Some(b'{' | b'[') => Unfit::Json,
        _ => return Ok(()),
    };
    if Robots::parse(bytes, &ParseLimits::default()).robots.records() == 0 {
        return Err(unfit);
    }
    Ok(())
}

fn unreadable(error: io::Error) -> Unfit {
    match error.kind() {
        io::ErrorKind::NotFound => Unfit::Missing,
        io::ErrorKind::FileTooLarge => Unfit::TooLarge,
        _ => Unfit::Unreadable(error),
    }
}

/// The later of the two times that a file system keeps. Tools that copy a file may keep the time its content
/// was written, but not the time it was put here; a date that goes back would make a cached copy look
/// current.
fn last_change(metadata: &Metadata) -> SystemTime {
    let (seconds, nanoseconds) =
        (metadata.mtime(), metadata.mtime_nsec()).max((metadata.ctime(), metadata.ctime_nsec()));
    let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    SystemTime::UNIX_EPOCH + whole + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    fn fitness(bytes: &[u8]) -> Option<String> {
        super::fitness(bytes).err().map(|unfit| format!("{unfit:?}"))
    }

    #[test]
    fn accidents_are_told_from_meaning() {
        assert_eq!(fitness(b"").as_deref(), Some("Empty"));
        assert_eq!(fitness(b"User-agent: *\0\nDisallow: /\n").as_deref(), Some("Nul"));
        assert_eq!(fitness(b"\xFF\xFEU\0s\0e\0r\0").as_deref(), Some("Utf16"));
        assert_eq!(fitness(b"<!doctype html>\n<title>Not found</title>\n").as_deref(), Some("Html"));
        assert_eq!(fitness(b"\xEF\xBB\xBF  <html></html>").as_deref(), Some("Html"));
        assert_eq!(fitness(b"\n{\"error\": \"not found\"}").as_deref(), Some("Json"));
    }

    #[test]
    fn what_can_be_meant_is_fit() {
        assert_eq!(fitness(b"# nothing is disallowed here\n"), None);
        assert_eq!(fitness(b"\n"), None);
        assert_eq!(fitness(b"User-agent: *\nDisallow: /caf\xE9\n"), None);
        assert_eq!(fitness(b"<pre>\nUser-agent: *\nDisallow: /x\n"), None);
    }
}
