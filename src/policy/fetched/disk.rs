//! A copy on disk: its bytes as they came, and its head in a file beside them.

use super::copy::{FetchedCopy, FetchedFile};
use super::head::FetchHead;
use crate::config::reading;
use crate::record::replace_file;
use std::io;
use std::path::Path;

impl FetchedCopy {
    /// Reads what lies at `path`, also where somebody else than this gateway put it there. Of more than `most` bytes nothing
    /// is known.
    pub(in crate::policy) fn read(path: &Path, most: u64) -> Self {
        let head = FetchHead::read(path);
        let file = match reading::read(path, most) {
            _ if head.says_none() => FetchedFile::Absent,
            Ok(read) => FetchedFile::File(read.bytes),
            Err(_) => FetchedFile::Unknown,
        };
        Self { file, head }
    }

    /// The copy of `source`; one of which nothing is known where it is that of another, or is not what the head was written for.
    pub(in crate::policy) fn only_of(self, source: &str) -> Self {
        let is_whole = self.bytes().is_none_or(|bytes| self.head.is_of(bytes));
        let unknown = || Self { file: FetchedFile::Unknown, head: FetchHead::of_source(source) };
        if is_whole && self.head.source == source { self } else { unknown() }
    }

    /// Writes it. A file that `is_new` is put in the place of what is there, whole or not at all.
    pub(in crate::policy) fn write(&self, path: &Path, is_new: bool) -> io::Result<()> {
        // First the head: of bytes that it was not written for, it says nothing.
        self.head.write(path)?;
        match self.bytes() {
            Some(bytes) if is_new => replace_file(path, bytes),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fetched::{FetchAnswer, FetchRules, FetchTime, Validators};
    use std::fs;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_copy_is_read_as_it_was_written_and_a_torn_one_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Some(Duration::from_secs(3_600));
        let rules = FetchRules { who: "it", accept: &|_| Ok(()), gone_after: hour, kept_for: None };
        let path = folder.path().join("copies/a");
        let read_of = |source: &str| FetchedCopy::read(&path, 1_024).only_of(source);
        let read = || read_of("example.org");
        let unknown = read();
        let now =
            FetchTime { at: Duration::from_secs(7), time: SystemTime::UNIX_EPOCH + Duration::from_secs(9) };
        let validators = Validators { etag: Some("\"x\"".to_owned()), modified: None };
        let mut copy = unknown.clone();
        for text in ["User-agent: *\nDisallow: /a\n", "User-agent: *\nDisallow: /b\n"] {
            let (bytes, validators) = (text.as_bytes().to_vec(), validators.clone());
            copy.apply(FetchAnswer::File { bytes, validators }, &rules, now);
        }
        copy.apply(FetchAnswer::None(404), &rules, now);
        copy.write(&path, true).unwrap();
        assert_eq!(read(), copy);
        assert_eq!(read_of("example.com").file, FetchedFile::Unknown);
        let whole = fs::read(&path).unwrap();
        for end in [0, 10, whole.len() - 1] {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(read(), unknown, "{end} bytes");
        }
        let mut none = unknown.clone();
        none.apply(FetchAnswer::None(404), &rules, now);
        none.write(&path, true).unwrap();
        assert_eq!(read(), none);
    }
}
