//! A robots.txt on disk: read, looked at, and either fit to come into force or not.
//!
//! Nearly every sequence of bytes parses as a robots.txt, and most accidents parse as "allow
//! everything". So what is plainly an accident may not replace a good version.

use crate::config::reading;
use crate::decide::VersionId;
use crate::record::hexadecimal;
use crate::robots::{LineSource, ParseLimits, Robots, Section};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// More than any site needs, and little enough to be kept in memory and sent to every crawler.
pub(super) const MOST_BYTES: u64 = 16 * 1024 * 1024;

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
    /// Where its lines come from, in order; none where all are the site's own.
    pub sections: Vec<Section>,
}

/// Why a robots.txt may not come into force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unfit {
    /// Which file it is; empty for what is no file of its own.
    pub(super) path: PathBuf,
    message: Cow<'static, str>,
    /// How to put it right.
    pub hint: &'static str,
    /// Whether an operator may want it so: there is no file, or nothing in it.
    pub(super) can_be_meant: bool,
}

/// How to say that everything is allowed.
const ALLOWING: &str = "to allow everything, write `User-agent: *` and `Allow: /`";

impl Unfit {
    pub(super) fn new(message: impl Into<Cow<'static, str>>, hint: &'static str) -> Self {
        Self { path: PathBuf::new(), message: message.into(), hint, can_be_meant: false }
    }

    /// The same of the file at `path`.
    pub(super) fn at(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The same of a file that `additions` names, which need not say what is allowed.
    pub(super) fn of_additions(self) -> Self {
        let own = "write the lines that are to follow the site's own there, or remove `additions`";
        let hint = if self.hint.ends_with(ALLOWING) { own } else { self.hint };
        Self::new(format!("the file that `additions` names: {}", self.message), hint).at(&self.path)
    }
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        let unreadable = |hint| Self::new(format!("cannot read the robots.txt: {error}"), hint);
        match error.kind() {
            io::ErrorKind::NotFound => {
                let hint =
                    "give the path of a file; to allow everything, write `User-agent: *` and `Allow: /`";
                Self { can_be_meant: true, ..Self::new("there is no such robots.txt", hint) }
            }
            io::ErrorKind::FileTooLarge => {
                let message = format!("the robots.txt is larger than {} MiB", MOST_BYTES >> 20);
                Self::new(message, "crawlers read 500 KiB (RFC 9309 §2.5); shorten the file")
            }
            io::ErrorKind::InvalidInput => unreadable("put a regular file there, or give the path of one"),
            io::ErrorKind::TimedOut => {
                unreadable("it is read again when it does, or give the path of a file elsewhere")
            }
            _ => unreadable("make the file readable for the user the gateway runs as"),
        }
    }
}

impl RobotsFile {
    /// Reads the regular file at `path`, if it may replace a good version: see [`fitness`].
    ///
    /// # Errors
    /// When it is missing, no regular file, unreadable, far too large or plainly an accident.
    pub(super) fn read(path: &Path) -> Result<Self, Unfit> {
        let read = reading::read(path, MOST_BYTES).map_err(Unfit::from);
        let fit = read.and_then(|read| fitness(&read.bytes).map(|()| Self::of(path, read.bytes)));
        fit.map_err(|unfit| unfit.at(path))
    }

    /// Reads one that somebody named on a command line, which may be a pipe: `<(curl …)`.
    ///
    /// # Errors
    /// When it cannot be read, or is far too large.
    pub fn named(path: &Path) -> Result<Self, Unfit> {
        Self::take(path, File::open(path)?)
    }

    /// Reads one that comes from elsewhere, such as standard input, and is called `name`.
    ///
    /// # Errors
    /// When it cannot be read, or is far too large.
    pub fn take(name: &Path, source: impl io::Read) -> Result<Self, Unfit> {
        let mut bytes = Vec::new();
        source.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge).into());
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
        Self { path: path.to_owned(), id, digest, bytes, sections: Vec::new() }
    }
}

/// Whether these bytes may replace a good version.
///
/// # Errors
/// When they are plainly an accident.
pub fn fitness(bytes: &[u8]) -> Result<(), Unfit> {
    if bytes.is_empty() {
        return Err(Unfit { can_be_meant: true, ..Unfit::new("the robots.txt is empty", ALLOWING) });
    }
    let as_text = "save the file as UTF-8 text";
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(Unfit::new("the robots.txt is UTF-16, which no crawler reads", as_text));
    }
    if memchr::memchr(0, bytes).is_some() {
        return Err(Unfit::new("the robots.txt contains NUL bytes", as_text));
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let what = match text.first() {
        Some(b'<') => "the robots.txt is a web page, without one line of a robots.txt",
        Some(b'{' | b'[') => "the robots.txt is JSON without a single record",
        _ => return Ok(()),
    };
    if Robots::parse(bytes, &ParseLimits::default()).robots.records() == 0 {
        let hint = "save the text file itself, not a server's error page; to allow everything, write `User-agent: *` and `Allow: /`";
        return Err(Unfit::new(what, hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn fitness(bytes: &[u8]) -> Option<String> {
        super::fitness(bytes).err().map(|unfit| unfit.to_string())
    }

    #[test]
    fn accidents_are_told_from_meaning() {
        assert_eq!(fitness(b"").as_deref(), Some("the robots.txt is empty"));
        assert_eq!(
            fitness(b"User-agent: *\0\nDisallow: /\n").as_deref(),
            Some("the robots.txt contains NUL bytes")
        );
        assert_eq!(
            fitness(b"\xFF\xFEU\0s\0e\0r\0").as_deref(),
            Some("the robots.txt is UTF-16, which no crawler reads")
        );
        let told = |bytes, what: &str| assert!(fitness(bytes).unwrap().contains(what), "{what}");
        told(b"<!doctype html>\n<title>Not found</title>\n", "a web page");
        told(b"\xEF\xBB\xBF  <html></html>", "a web page");
        told(b"\n{\"error\": \"not found\"}", "JSON");
    }

    #[test]
    fn what_can_be_meant_is_fit() {
        assert_eq!(fitness(b"# nothing is disallowed here\n"), None);
        assert_eq!(fitness(b"\n"), None);
        assert_eq!(fitness(b"User-agent: *\nDisallow: /caf\xE9\n"), None);
        assert_eq!(fitness(b"<pre>\nUser-agent: *\nDisallow: /x\n"), None);
    }
}
