//! A copy in one file: a line of JSON, which is its head, and its bytes behind it, so that both change in one step. What does
//! not fit its own digest is none.

use super::copy::{FetchedCopy, FetchedFile};
use super::head::FetchHead;
use crate::config::reading;
use crate::record::replace_file;
use std::io;
use std::path::Path;

/// More than a copy with its head can have.
const MOST_BYTES: u64 = 17 * 1024 * 1024;

impl FetchedCopy {
    /// Reads the copy of `source`; one of which nothing is known where there is none that is whole.
    pub(in crate::policy) fn read(path: &Path, source: &str) -> Self {
        let unknown = || Self::of(None, FetchHead::of_source(source));
        Self::read_whole(path).filter(|copy| copy.head.source == source).unwrap_or_else(unknown)
    }

    fn read_whole(path: &Path) -> Option<Self> {
        let bytes = reading::read(path, MOST_BYTES).ok()?.bytes;
        let end = memchr::memchr(b'\n', &bytes)?;
        let head: FetchHead = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let bytes = bytes.get(end + 1..)?;
        let file = if head.has_file() { FetchedFile::File(bytes.to_vec()) } else { FetchedFile::Absent };
        (!head.has_file() || head.is_of(bytes)).then_some(Self { file, head })
    }

    /// Puts it in the place of what is there, whole or not at all.
    pub(in crate::policy) fn write(&self, path: &Path) -> io::Result<()> {
        if self.file == FetchedFile::Unknown {
            return Ok(());
        }
        let mut text = serde_json::to_vec(&self.head)?;
        text.push(b'\n');
        text.extend_from_slice(self.bytes().unwrap_or_default());
        replace_file(path, &text)
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
        let rules = FetchRules { who: "it", accept: &|_, _| Ok(()), gone_after: hour, kept_for: None };
        let path = folder.path().join("copies/a");
        let read = || FetchedCopy::read(&path, "example.org");
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
        copy.write(&path).unwrap();
        assert_eq!(read(), copy);
        assert_eq!(FetchedCopy::read(&path, "example.com").file, FetchedFile::Unknown);
        let whole = fs::read(&path).unwrap();
        for end in [0, 10, whole.len() - 1] {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(read(), unknown, "{end} bytes");
        }
        let mut none = unknown.clone();
        none.apply(FetchAnswer::None(404), &rules, now);
        none.write(&path).unwrap();
        assert_eq!(read(), none);
    }
}
