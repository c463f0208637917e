//! What is known of one origin's robots.txt, and what an answer of the origin makes of it. No I/O and no clock.
//!
//! The gateway serves what it fetched, so it need not shut everybody out where an origin is down (RFC 9309 §2.3.1.4) as
//! long as it has a good copy.

use crate::decide::NoticeTime;
use crate::policy::robots_file::{Unfit, fitness};
use std::time::{Duration, SystemTime};

/// How long an origin has to say that there is no file before a good copy goes: a deployment may take it away for minutes.
const GONE_AFTER: Duration = Duration::from_secs(3_600);

/// How long a good copy is served while the origin says nothing of use (RFC 9309 §2.3.1.4 has 30 days for an example).
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);

/// What an origin answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginAnswer {
    /// A file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its validators, to ask with the next time.
        validators: CopyValidators,
    },
    /// The file is the one whose validators were sent.
    NotModified,
    /// There is none: a status from 400 to 499 but 429 (RFC 9309 §2.3.1.3).
    None(u16),
    /// Nothing of use, and why.
    Failed(String),
}

/// What tells a file from others of the same place (RFC 9110 §8.8), as the origin sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyValidators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub modified: Option<String>,
}

/// What the origin has, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OriginFile {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It has none: everything is allowed.
    Absent,
    /// It has this.
    File(Vec<u8>),
}

/// What is known of one origin's robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OriginCopy {
    pub(super) file: OriginFile,
    pub(super) validators: CopyValidators,
    /// When the origin said so last, by the clock that notice runs by, and by the time of day.
    pub(super) heard: Option<(NoticeTime, SystemTime)>,
    /// Since when it has been saying that there is no file, while there is a copy.
    pub(super) gone_since: Option<NoticeTime>,
    /// What is wrong with what it says now.
    pub(super) error: Option<String>,
}

impl OriginCopy {
    /// What to ask with.
    pub(super) fn validators(&self) -> Option<&CopyValidators> {
        matches!(self.file, OriginFile::File(_)).then_some(&self.validators)
    }

    /// Takes an answer; `true` where what the origin has is another than before.
    pub(super) fn apply_answer(&mut self, answer: OriginAnswer, now: NoticeTime, time: SystemTime) -> bool {
        let before = self.file.clone();
        match answer {
            // An answer without a byte is whole, where a file without one may be half saved: it allows everything.
            OriginAnswer::File { bytes, validators } => match fitness(&bytes) {
                Ok(()) | Err(Unfit::Empty) => self.take(bytes, validators, now, time),
                Err(unfit) => self.fail(format!("what the origin serves is not taken: {unfit}"), now),
            },
            OriginAnswer::NotModified if matches!(self.file, OriginFile::File(_)) => self.confirm(now, time),
            OriginAnswer::NotModified => {
                self.fail("the origin answered 304 to what it was not asked".to_owned(), now);
            }
            OriginAnswer::None(status) => self.note_missing(status, now, time),
            OriginAnswer::Failed(why) => self.fail(why, now),
        }
        self.file != before
    }

    fn take(&mut self, bytes: Vec<u8>, validators: CopyValidators, now: NoticeTime, time: SystemTime) {
        self.validators = validators;
        self.confirm(now, time);
        self.file = OriginFile::File(bytes);
    }

    fn confirm(&mut self, now: NoticeTime, time: SystemTime) {
        (self.heard, self.gone_since, self.error) = (Some((now, time)), None, None);
    }

    fn note_missing(&mut self, status: u16, now: NoticeTime, time: SystemTime) {
        let since = *self.gone_since.get_or_insert(now);
        if matches!(self.file, OriginFile::File(_)) && now.since(since) < GONE_AFTER {
            self.error =
                Some(format!("the origin answers {status}; the last good copy is served for an hour"));
            return;
        }
        (self.file, self.validators) = (OriginFile::Absent, CopyValidators::default());
        (self.heard, self.error) = (Some((now, time)), None);
    }

    fn fail(&mut self, why: String, now: NoticeTime) {
        self.error = Some(why);
        let is_kept = self.heard.is_none_or(|(heard, _)| now.since(heard) < KEPT_FOR);
        if !is_kept && matches!(self.file, OriginFile::File(_)) {
            (self.file, self.validators) = (OriginFile::Absent, CopyValidators::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "User-agent: *\nDisallow: /a\n";

    struct CopyScene {
        copy: OriginCopy,
        now: NoticeTime,
    }

    impl CopyScene {
        fn new() -> Self {
            Self { copy: OriginCopy::default(), now: NoticeTime(Duration::from_secs(1_000_000)) }
        }

        fn later(&mut self, seconds: u64) -> &mut Self {
            self.now = self.now.after(Duration::from_secs(seconds));
            self
        }

        fn hears(&mut self, answer: OriginAnswer) -> bool {
            self.copy.apply_answer(answer, self.now, SystemTime::UNIX_EPOCH)
        }

        fn file(&mut self, text: &str) -> bool {
            self.hears(OriginAnswer::File { bytes: text.into(), validators: CopyValidators::default() })
        }

        fn fails(&mut self) -> bool {
            self.hears(OriginAnswer::Failed("the origin answers 503".to_owned()))
        }

        fn has(&self) -> Option<&str> {
            match &self.copy.file {
                OriginFile::File(bytes) => std::str::from_utf8(bytes).ok(),
                OriginFile::Absent => Some("none"),
                OriginFile::Unknown => None,
            }
        }
    }

    #[test]
    fn what_is_fit_is_taken_and_what_is_not_leaves_what_is_known() {
        let mut scene = CopyScene::new();
        for unfit in ["<html></html>", "User-agent: *\0"] {
            assert!(!scene.file(unfit));
            assert_eq!(scene.has(), None);
            assert!(scene.copy.error.as_deref().unwrap().contains("is not taken"), "{unfit:?}");
        }
        assert!(scene.file(GOOD));
        assert_eq!((scene.has(), scene.copy.error.as_deref()), (Some(GOOD), None));
        assert!(!scene.file("<html></html>"));
        assert_eq!(scene.has(), Some(GOOD));
        assert!(scene.copy.error.as_deref().is_some());
        assert!(!scene.hears(OriginAnswer::NotModified));
        assert_eq!((scene.has(), scene.copy.error.as_deref()), (Some(GOOD), None));
    }

    #[test]
    fn an_empty_file_is_one_that_allows_everything() {
        let mut scene = CopyScene::new();
        assert!(scene.file(""));
        assert_eq!((scene.has(), scene.copy.error.as_deref()), (Some(""), None));
        assert!(scene.file(GOOD) && scene.file(""));
        assert_eq!((scene.has(), scene.copy.error.as_deref()), (Some(""), None));
    }

    #[test]
    fn without_a_copy_no_file_is_no_file_at_once() {
        let mut scene = CopyScene::new();
        assert!(scene.hears(OriginAnswer::None(404)));
        assert_eq!((scene.has(), scene.copy.error.as_deref()), (Some("none"), None));
        assert!(!scene.fails());
        assert_eq!(scene.has(), Some("none"));
        assert!(scene.file(GOOD));
    }

    #[test]
    fn a_good_copy_goes_after_an_hour_of_no_file() {
        let mut scene = CopyScene::new();
        scene.file(GOOD);
        for _ in 0..60 {
            assert!(!scene.hears(OriginAnswer::None(404)));
            assert_eq!(scene.has(), Some(GOOD));
            assert!(scene.copy.error.as_deref().unwrap().contains("answers 404"));
            scene.later(59);
        }
        // What fails in between neither counts nor begins the hour again.
        scene.later(59).fails();
        assert_eq!(scene.has(), Some(GOOD));
        assert!(scene.later(1).hears(OriginAnswer::None(410)));
        assert_eq!(scene.has(), Some("none"));
        // A good answer ends the hour.
        scene.file(GOOD);
        scene.hears(OriginAnswer::None(404));
        scene.later(3_000).file(GOOD);
        scene.hears(OriginAnswer::None(404));
        assert!(!scene.later(3_599).hears(OriginAnswer::None(404)));
        assert!(scene.later(1).hears(OriginAnswer::None(404)));
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
}
