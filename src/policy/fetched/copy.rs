//! A copy of what was fetched, and what an answer makes of it. No I/O and no clock.

use super::head::{FetchHead, FetchTime, Validators};
use std::time::{Duration, SystemTime};

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

/// For how long somebody does not want to be asked who says `Retry-After` (RFC 9110 §10.2.3).
pub fn retry_after(field: &str, now: SystemTime) -> Option<Duration> {
    let field = field.trim();
    let until = |date: SystemTime| date.duration_since(now).ok();
    let seconds = field.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| httpdate::parse_http_date(field).ok().and_then(until))
}

/// What there is, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FetchedFile {
    /// Nothing is known.
    #[default]
    Unknown,
    /// There is no file.
    Absent,
    /// This.
    File(Vec<u8>),
}

/// Whether bytes may take the place of those that are kept, and why not.
pub(in crate::policy) type Acceptance<'a> = dyn Fn(&[u8], Option<&[u8]>) -> Result<(), String> + 'a;

/// What is particular about a kind.
pub(in crate::policy) struct FetchRules<'a> {
    /// Who is asked, as the subject of a sentence.
    pub(in crate::policy) who: &'static str,
    /// Whether bytes may take the place of those that are kept.
    pub(in crate::policy) accept: &'a Acceptance<'a>,
    /// How long it has to be said that there is no file before a copy goes; `None` where that is a failure as any other.
    pub(in crate::policy) gone_after: Option<Duration>,
    /// How long a copy is kept while nothing of use is said; `None` for ever.
    pub(in crate::policy) kept_for: Option<Duration>,
}

/// What is known of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy) struct FetchedCopy {
    pub(in crate::policy) file: FetchedFile,
    pub(in crate::policy) head: FetchHead,
}

impl FetchedCopy {
    /// That of bytes as they lie somewhere, with the head that lies beside them.
    pub(in crate::policy) fn of(bytes: Option<Vec<u8>>, head: FetchHead) -> Self {
        Self { file: bytes.map_or(FetchedFile::Unknown, FetchedFile::File), head }
    }

    /// The bytes, where there is a file.
    pub(in crate::policy) fn bytes(&self) -> Option<&[u8]> {
        match &self.file {
            FetchedFile::File(bytes) => Some(bytes),
            FetchedFile::Absent | FetchedFile::Unknown => None,
        }
    }

    /// What to ask with: nothing where the bytes are not those that the head was written for.
    pub(in crate::policy) fn validators(&self) -> Option<&Validators> {
        self.bytes().filter(|bytes| self.head.is_of(bytes)).map(|_| &self.head.validators)
    }

    /// Takes an answer; `true` where there is something else than before.
    pub(in crate::policy) fn apply(
        &mut self,
        answer: FetchAnswer,
        rules: &FetchRules<'_>,
        now: FetchTime,
    ) -> bool {
        let who = rules.who;
        match answer {
            FetchAnswer::File { bytes, validators } => match (rules.accept)(&bytes, self.bytes()) {
                Ok(()) => {
                    self.head.validators = validators;
                    self.head.confirm(Some(&bytes), now);
                    return self.put(FetchedFile::File(bytes));
                }
                Err(why) => return self.fail(why, None, rules, now),
            },
            FetchAnswer::NotModified if self.validators().is_some() => {
                self.head.hear(now);
            }
            FetchAnswer::NotModified => {
                return self.fail(format!("{who} answered 304 to what it was not asked"), None, rules, now);
            }
            FetchAnswer::None(status) => return self.note_missing(status, rules, now),
            FetchAnswer::Failed { why, retry_after } => return self.fail(why, retry_after, rules, now),
        }
        false
    }

    fn put(&mut self, file: FetchedFile) -> bool {
        let is_new = self.file != file;
        self.file = file;
        is_new
    }

    fn note_missing(&mut self, status: u16, rules: &FetchRules<'_>, now: FetchTime) -> bool {
        let who = rules.who;
        let Some(patience) = rules.gone_after else {
            return self.fail(format!("{who} answers {status}"), None, rules, now);
        };
        let since = self.head.gone_since(now);
        if self.bytes().is_some() && now.at.saturating_sub(since) < patience {
            let why = format!("{who} answers {status}; the last good copy is served for an hour");
            self.head.fail(why, None, now);
            return false;
        }
        self.head.confirm(None, now);
        self.drop_file()
    }

    fn fail(
        &mut self,
        why: String,
        retry_after: Option<Duration>,
        rules: &FetchRules<'_>,
        now: FetchTime,
    ) -> bool {
        self.head.fail(why, retry_after, now);
        let silence = self.head.heard().map(|heard| now.at.saturating_sub(heard.at));
        let is_over = silence.zip(rules.kept_for).is_some_and(|(silence, most)| silence >= most);
        is_over && self.bytes().is_some() && self.drop_file()
    }

    fn drop_file(&mut self) -> bool {
        self.head.validators = Validators::default();
        self.put(FetchedFile::Absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "User-agent: *\nDisallow: /a\n";

    /// The rules of an origin's robots.txt.
    const RULES: FetchRules<'static> = FetchRules {
        who: "the origin",
        accept: &|bytes, _| if bytes.starts_with(b"<") { Err("a web page".to_owned()) } else { Ok(()) },
        gone_after: Some(Duration::from_secs(3_600)),
        kept_for: Some(Duration::from_secs(30 * 86_400)),
    };

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
            self.copy.apply(answer, &RULES, now)
        }

        fn file(&mut self, text: &str) -> bool {
            self.hears(FetchAnswer::File { bytes: text.into(), validators: Validators::default() })
        }

        fn fails(&mut self) -> bool {
            self.hears(FetchAnswer::Failed { why: "the origin answers 503".to_owned(), retry_after: None })
        }

        fn has(&self) -> Option<&str> {
            match &self.copy.file {
                FetchedFile::File(bytes) => std::str::from_utf8(bytes).ok(),
                FetchedFile::Absent => Some("none"),
                FetchedFile::Unknown => None,
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
}
