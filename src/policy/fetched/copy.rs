//! A copy of what was fetched, what an answer makes of it, and how it is kept: the bytes as they came, and a head beside them.

use super::head::{FetchHead, FetchTime, Validators};
use crate::config::reading;
use crate::record::{digest, replace_file};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long an origin has to say that there is no file before a good copy goes: a deployment may take it away for minutes.
const GONE_AFTER: Duration = Duration::from_secs(3_600);

/// How long a good copy is kept while an origin says nothing of use. The gateway serves what it fetched, so it need not shut
/// everybody out where an origin is down (RFC 9309 §2.3.1.4, which has 30 days for an example).
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);

/// What was answered to the question for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchAnswer {
    /// A file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its validators, to ask with the next time.
        validators: Validators,
    },
    /// The file is the one whose validators were sent.
    NotModified,
    /// There is none: a status from 400 to 499 but 429 (RFC 9309 §2.3.1.3).
    None(u16),
    /// Nothing of use.
    Failed {
        /// Why.
        why: String,
        /// For how long it is not to be asked.
        retry_after: Option<Duration>,
    },
}

impl FetchAnswer {
    /// The same, if its file is fit.
    pub(in crate::policy) fn checked(self, accept: impl FnOnce(&[u8]) -> Result<(), String>) -> Self {
        let fault = match &self {
            Self::File { bytes, .. } => accept(bytes).err(),
            _ => None,
        };
        fault.map_or(self, |why| Self::Failed { why, retry_after: None })
    }
}

/// For how long somebody does not want to be asked who says `Retry-After` (RFC 9110 §10.2.3).
pub fn retry_after(field: &str, now: SystemTime) -> Option<Duration> {
    let field = field.trim();
    let until = |date: SystemTime| date.duration_since(now).ok();
    let seconds = field.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| httpdate::parse_http_date(field).ok().and_then(until))
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub(in crate::policy) enum FetchedFrom {
    /// Its word that there is no file counts, and so does a long silence.
    #[strum(to_string = "the origin")]
    Origin,
    /// What it once published is kept for ever.
    #[strum(to_string = "the publisher")]
    Publisher,
}

/// What is known of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy) struct FetchedCopy {
    /// Its bytes; `None` where there is no file, or nothing is known of one.
    pub(in crate::policy) bytes: Option<Vec<u8>>,
    pub(in crate::policy) head: FetchHead,
    /// When the bytes were put where they lie; `None` while they do not.
    written: Option<SystemTime>,
}

impl FetchedCopy {
    /// What lies at `path`, if it has no more than `most` bytes. A head of other bytes says nothing of these: somebody put
    /// them there by hand, or a process was killed before it wrote the new head.
    pub(in crate::policy) fn read(path: &Path, most: u64) -> io::Result<Self> {
        let mut copy = Self { head: FetchHead::read(path), ..Self::default() };
        match reading::read(path, most) {
            Ok(read) => (copy.bytes, copy.written) = (Some(read.bytes), read.metadata.modified().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if copy.head.sha256.is_some() && copy.head.sha256 != copy.bytes.as_deref().map(digest) {
            copy.head = FetchHead::default();
        }
        Ok(copy)
    }

    /// Keeps it at `path`: the bytes, where they do not lie there yet, and then the head. A disk that was full takes them the
    /// next time.
    pub(in crate::policy) fn write(&mut self, path: &Path) -> io::Result<()> {
        match &self.bytes {
            Some(bytes) if self.written.is_none() => replace_file(path, bytes)?,
            None if self.is_known() && path.exists() => fs::remove_file(path)?,
            _ => {}
        }
        self.written = self.as_of();
        replace_file(&FetchHead::path_of(path), &serde_json::to_vec(&self.head)?)
    }

    /// Whether it is known what there is.
    pub(in crate::policy) fn is_known(&self) -> bool {
        self.bytes.is_some() || self.head.heard.is_some()
    }

    /// When whoever has the file said so last, or somebody put it there by hand.
    pub(in crate::policy) fn as_of(&self) -> Option<SystemTime> {
        self.head.heard.map(|heard| heard.time).or(self.written)
    }

    /// What to ask with: nothing where the bytes are not as somebody said.
    pub(in crate::policy) fn validators(&self) -> Option<&Validators> {
        self.head.sha256.as_ref().map(|_| &self.head.validators)
    }

    /// Takes an answer; `true` where there is something else than before.
    pub(in crate::policy) fn apply(
        &mut self,
        answer: FetchAnswer,
        from: FetchedFrom,
        now: FetchTime,
    ) -> bool {
        let (why, retry_after) = match answer {
            FetchAnswer::File { bytes, validators } => {
                (self.head.validators, self.head.sha256) = (validators, Some(digest(&bytes)));
                self.head.hear(now);
                if self.bytes.as_ref() == Some(&bytes) {
                    return false;
                }
                (self.bytes, self.written) = (Some(bytes), None);
                return true;
            }
            FetchAnswer::NotModified if self.validators().is_some() => {
                self.head.hear(now);
                return false;
            }
            FetchAnswer::NotModified => (format!("{from} answered 304 to what it was not asked"), None),
            FetchAnswer::None(_) if from == FetchedFrom::Origin && self.is_gone(now) => {
                let was_known = self.is_known();
                self.head.hear(now);
                return self.drop_bytes() || !was_known;
            }
            FetchAnswer::None(status) if from == FetchedFrom::Origin => {
                (format!("{from} answers {status}; the last good copy is served for an hour"), None)
            }
            FetchAnswer::None(status) => (format!("{from} answers {status}"), None),
            FetchAnswer::Failed { why, retry_after } => (why, retry_after),
        };
        self.head.fail(why, retry_after, now);
        let heard = self.head.heard.filter(|_| from == FetchedFrom::Origin);
        heard.is_some_and(|heard| now.at.saturating_sub(heard.at) >= KEPT_FOR) && self.drop_bytes()
    }

    /// Whether it has been said for so long that there is no file, or there is no copy to keep.
    fn is_gone(&mut self, now: FetchTime) -> bool {
        let since = *self.head.gone_since.get_or_insert(now.at);
        self.bytes.is_none() || now.at.saturating_sub(since) >= GONE_AFTER
    }

    fn drop_bytes(&mut self) -> bool {
        self.head.sha256 = None;
        self.bytes.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "User-agent: *\nDisallow: /a\n";

    /// Whether it is fit to be a robots.txt.
    fn accept(bytes: &[u8]) -> Result<(), String> {
        if bytes.starts_with(b"<") { Err("a web page".to_owned()) } else { Ok(()) }
    }

    struct CopyScene {
        copy: FetchedCopy,
        now: Duration,
    }

    impl CopyScene {
        fn new() -> Self {
            Self { copy: FetchedCopy::default(), now: Duration::from_secs(1_000_000) }
        }

        fn later(&mut self, seconds: u64) -> &mut Self {
            self.now += Duration::from_secs(seconds);
            self
        }

        fn hears(&mut self, answer: FetchAnswer) -> bool {
            let now = FetchTime { at: self.now, time: SystemTime::UNIX_EPOCH };
            self.copy.apply(answer.checked(accept), FetchedFrom::Origin, now)
        }

        fn file(&mut self, text: &str) -> bool {
            self.hears(FetchAnswer::File { bytes: text.into(), validators: Validators::default() })
        }

        fn fails(&mut self) -> bool {
            self.hears(FetchAnswer::Failed { why: "the origin answers 503".to_owned(), retry_after: None })
        }

        fn has(&self) -> Option<&str> {
            match &self.copy.bytes {
                Some(bytes) => std::str::from_utf8(bytes).ok(),
                None => self.copy.is_known().then_some("none"),
            }
        }
    }

    #[test]
    fn what_is_fit_is_taken_and_what_is_not_leaves_what_is_known() {
        let mut scene = CopyScene::new();
        assert!(!scene.file("<html></html>"));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (None, Some("a web page")));
        assert!(scene.file(GOOD));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (Some(GOOD), None));
        assert!(!scene.file("<html></html>"));
        assert_eq!(scene.has(), Some(GOOD));
        assert!(scene.copy.head.error.as_deref().is_some());
        assert!(!scene.hears(FetchAnswer::NotModified));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (Some(GOOD), None));
    }

    #[test]
    fn an_empty_file_is_one_that_allows_everything() {
        let mut scene = CopyScene::new();
        assert!(scene.file(""));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (Some(""), None));
        assert!(scene.file(GOOD) && scene.file(""));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (Some(""), None));
    }

    #[test]
    fn without_a_copy_no_file_is_no_file_at_once() {
        let mut scene = CopyScene::new();
        assert!(scene.hears(FetchAnswer::None(404)));
        assert_eq!((scene.has(), scene.copy.head.error.as_deref()), (Some("none"), None));
        assert!(!scene.fails());
        assert_eq!(scene.has(), Some("none"));
        assert!(scene.file(GOOD));
    }

    #[test]
    fn a_good_copy_goes_after_an_hour_of_no_file() {
        let mut scene = CopyScene::new();
        scene.file(GOOD);
        for _ in 0..60 {
            assert!(!scene.hears(FetchAnswer::None(404)));
            assert_eq!(scene.has(), Some(GOOD));
            assert!(scene.copy.head.error.as_deref().unwrap().contains("answers 404"));
            scene.later(59);
        }
        // What fails in between neither counts nor begins the hour again.
        scene.later(59).fails();
        assert_eq!(scene.has(), Some(GOOD));
        assert!(scene.later(1).hears(FetchAnswer::None(410)));
        assert_eq!(scene.has(), Some("none"));
        // A good answer ends the hour.
        scene.file(GOOD);
        scene.hears(FetchAnswer::None(404));
        scene.later(3_000).file(GOOD);
        scene.hears(FetchAnswer::None(404));
        assert!(!scene.later(3_599).hears(FetchAnswer::None(404)));
        assert!(scene.later(1).hears(FetchAnswer::None(404)));
    }

    #[test]
    fn a_good_copy_outlives_thirty_days_of_silence_and_no_more() {
        let mut scene = CopyScene::new();
        assert!(!scene.fails());
        assert_eq!(scene.has(), None, "nothing was ever known");
        scene.file(GOOD);
        assert!(!scene.later(86_400).fails());
        assert!(!scene.later(29 * 86_400 - 1).fails());
        assert_eq!(scene.has(), Some(GOOD));
        assert!(scene.later(1).fails());
        assert_eq!(scene.has(), Some("none"));
        assert!(scene.later(1).file(GOOD));
    }

    #[test]
    fn who_asks_for_time_says_so_in_seconds_or_by_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let seconds = |field| retry_after(field, now).map(|wait| wait.as_secs());
        assert_eq!(seconds(" 120"), Some(120));
        assert_eq!(seconds("Sun, 09 Sep 2001 01:47:40 GMT"), Some(60));
        for odd in ["Sun, 09 Sep 2001 01:45:40 GMT", "-1", "soon", ""] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_copy_is_read_as_it_was_written_and_a_head_speaks_only_of_its_own_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copies/a");
        let kept = |copy: &FetchedCopy| FetchedCopy { written: None, ..copy.clone() };
        let read = || kept(&FetchedCopy::read(&path, 100).unwrap());
        assert_eq!(read(), FetchedCopy::default());
        let mut scene = CopyScene::new();
        let validators = Validators { etag: Some("\"x\"".to_owned()), modified: None };
        for text in [GOOD, "User-agent: *\nDisallow: /b\n"] {
            scene.hears(FetchAnswer::File { bytes: text.into(), validators: validators.clone() });
        }
        scene.hears(FetchAnswer::None(404));
        scene.copy.write(&path).unwrap();
        assert_eq!((read(), read().validators()), (kept(&scene.copy), Some(&validators)));
        // By hand, or what a process left that was killed before it wrote the head.
        fs::write(&path, GOOD).unwrap();
        assert_eq!(read(), FetchedCopy { bytes: Some(GOOD.into()), ..FetchedCopy::default() });
        assert_eq!((read().validators(), read().as_of()), (None, None));
        assert!(FetchedCopy::read(&path, 100).unwrap().as_of().is_some());
        fs::write(FetchHead::path_of(&path), b"{").unwrap();
        assert_eq!(read().head, FetchHead::default());
        assert!(FetchedCopy::read(&path, 10).is_err(), "it is too long");
        fs::remove_file(&path).unwrap();
        assert!(!read().is_known());
        let mut none = CopyScene::new();
        none.hears(FetchAnswer::None(404));
        fs::write(&path, GOOD).unwrap();
        none.copy.write(&path).unwrap();
        assert!(read() == kept(&none.copy) && read().is_known());
    }
}
