//! What is fetched from elsewhere, whatever it is: address ranges, keys of agents, a catalogue, an origin's robots.txt.
//!
//! Each is a [`FetchedCopy`]: its bytes as they came, and one [`FetchHead`] that says where from and when they came, and
//! how asking went since. What an answer makes of it is decided here, and so is where the two are kept; each kind brings
//! the check by which its bytes are fit. Two transports ask: `publications`, which are the operators' of crawlers, and
//! `proxy`, for origins. A [`KeptFile`] is what such a file holds, as a policy reads it.

use crate::config::{ConfigError, reading};
use crate::record::{beside, digest, replace_file};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an origin has to answer that it has no robots.txt before a good copy goes: a deployment may remove it for minutes.
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
    pub(super) fn checked(self, accept: impl FnOnce(&[u8]) -> Result<(), String>) -> Self {
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
pub(super) enum FetchedFrom {
    /// An answer that it has no robots.txt counts, and so does a long silence.
    #[strum(to_string = "the origin")]
    Origin,
    /// What it once published is kept for ever.
    #[strum(to_string = "the publisher")]
    Publisher,
}

/// What is known of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FetchedCopy {
    /// Its bytes; `None` where the origin has no robots.txt, or has not answered yet.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) head: FetchHead,
    /// When the bytes were put where they lie; `None` while they do not.
    written: Option<SystemTime>,
}

impl FetchedCopy {
    /// What lies at `path`, if it has no more than `most` bytes. A head of other bytes says nothing of these: somebody put
    /// them there by hand, or a process was killed before it wrote the new head.
    pub(super) fn read(path: &Path, most: u64) -> io::Result<Self> {
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
    pub(super) fn write(&mut self, path: &Path) -> io::Result<()> {
        match &self.bytes {
            Some(bytes) if self.written.is_none() => replace_file(path, bytes)?,
            None if self.is_known() && path.exists() => fs::remove_file(path)?,
            _ => {}
        }
        self.written = self.as_of();
        replace_file(&FetchHead::path_of(path), &serde_json::to_vec(&self.head)?)
    }

    /// Whether it is known what there is.
    pub(super) fn is_known(&self) -> bool {
        self.bytes.is_some() || self.head.heard.is_some()
    }

    /// When whoever has the file said so last, or somebody put it there by hand.
    pub(super) fn as_of(&self) -> Option<SystemTime> {
        self.head.heard.map(|heard| heard.time).or(self.written)
    }

    /// What to ask with: nothing where the bytes are not as somebody said.
    pub(super) fn validators(&self) -> Option<&Validators> {
        self.head.sha256.as_ref().map(|_| &self.head.validators)
    }

    /// Takes an answer; `true` where there is something else than before.
    pub(super) fn apply(&mut self, answer: FetchAnswer, from: FetchedFrom, now: FetchTime) -> bool {
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

    /// Whether the publisher's file is to be taken as gone: it has been missing for the whole time that a copy is kept, or no
    /// copy is kept.
    fn is_gone(&mut self, now: FetchTime) -> bool {
        let since = *self.head.gone_since.get_or_insert(now.at);
        self.bytes.is_none() || now.at.saturating_sub(since) >= GONE_AFTER
    }

    fn drop_bytes(&mut self) -> bool {
        self.head.sha256 = None;
        self.bytes.take().is_some()
    }
}

/// More than any head has.
const LARGEST: u64 = 64 * 1024;

/// What tells a file from others of the same place (RFC 9110 §8.8), as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub modified: Option<String>,
}

impl Validators {
    /// The fields that ask for another file than the one they are of (RFC 9110 §13.1).
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let is_plain = |value: &&str| value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let fields = [("If-None-Match", &self.etag), ("If-Modified-Since", &self.modified)];
        fields.into_iter().filter_map(move |(name, value)| Some((name, value.as_deref().filter(is_plain)?)))
    }
}

/// A moment: by the clock that a kind is aged by, and by the time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FetchTime {
    pub(super) at: Duration,
    pub(super) time: SystemTime,
}

/// For what `gatewayctl` fetches too, which has no other clock.
impl From<SystemTime> for FetchTime {
    fn from(time: SystemTime) -> Self {
        Self { at: time.duration_since(UNIX_EPOCH).unwrap_or_default(), time }
    }
}

/// What is known of what was fetched, beside its bytes. Times without a date are by the clock of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FetchHead {
    /// Where it is from: a URL, or the name of a site.
    pub(super) source: String,
    /// The SHA-256 of the file's bytes. `None`: the publisher has no file.
    sha256: Option<Box<str>>,
    #[serde(flatten)]
    pub(super) validators: Validators,
    /// When whoever has it said last that there is this file, or none.
    pub(super) heard: Option<FetchTime>,
    /// When the publisher began to say that its file is missing, while we keep a copy.
    gone_since: Option<Duration>,
    /// When it was asked last.
    asked: Duration,
    /// For how long it then did not want to be asked (RFC 9110 §10.2.3).
    retry_after: Duration,
    /// How many times in a row there was nothing of use.
    pub(super) failures: u32,
    /// Why, the last time.
    pub(super) error: Option<String>,
}

/// How often something is fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// How long to wait after what was of use. Nothing is waited for longer.
    pub(super) every: Duration,
    /// How long to wait after the first failure; each further one doubles it.
    pub(super) retry: Duration,
    /// Up to this.
    pub(super) most: Duration,
}

impl FetchHead {
    /// Where the head of the file at `path` lies.
    pub(super) fn path_of(path: &Path) -> PathBuf {
        beside(path, ".receipt")
    }

    /// That of the file at `path`; an empty one where there is none.
    pub(super) fn read(path: &Path) -> Self {
        let read = reading::read(&Self::path_of(path), LARGEST).ok();
        read.and_then(|read| serde_json::from_slice(&read.bytes).ok()).unwrap_or_default()
    }

    /// How long ago it was heard of, by the time of day.
    pub(super) fn age(&self, now: SystemTime) -> Option<Duration> {
        self.heard.map(|heard| now.duration_since(heard.time).unwrap_or_default())
    }

    /// How long to wait after it was asked.
    pub(super) fn wait(&self, schedule: Schedule) -> Duration {
        let pause = match self.failures {
            0 => schedule.every,
            failures => schedule.retry.saturating_mul(1 << (failures - 1).min(16)).min(schedule.most),
        };
        pause.max(self.retry_after).min(schedule.every)
    }

    /// Whether to ask again. A clock that was set back asks.
    pub(super) fn may_ask(&self, schedule: Schedule, now: FetchTime) -> bool {
        now.at.checked_sub(self.asked).is_none_or(|waited| waited >= self.wait(schedule))
    }

    /// Whoever has it says so now: that there is this file, or none.
    fn hear(&mut self, now: FetchTime) {
        (self.heard, self.gone_since) = (Some(now), None);
        (self.asked, self.retry_after) = (now.at, Duration::ZERO);
        (self.failures, self.error) = (0, None);
    }

    /// There was nothing of use, and nobody wants to be asked for so long.
    fn fail(&mut self, why: String, retry_after: Option<Duration>, now: FetchTime) {
        (self.asked, self.retry_after) = (now.at, retry_after.unwrap_or_default());
        (self.failures, self.error) = (self.failures.saturating_add(1), Some(why));
    }
}

/// A file, as last read without fault.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptFile<T> {
    /// Where it lies, or would lie.
    pub path: PathBuf,
    /// What it holds; nothing where it is not there.
    pub held: Option<T>,
    /// As of when: it was fetched then, said to be unchanged, or put there by hand.
    pub as_of: Option<SystemTime>,
    /// What is wrong with what lies there now.
    pub fault: Option<ConfigError>,
}

impl<T: Clone> KeptFile<T> {
    /// Reads it, if it has no more than `most` bytes: what it holds, and as of when. What cannot be read is a fault, and
    /// `former` still counts.
    pub(super) fn read(
        path: &Path,
        most: u64,
        former: Option<&Self>,
        parse: impl FnOnce(&[u8], &FetchedCopy) -> Result<(T, Option<SystemTime>), ConfigError>,
    ) -> Self {
        let read = FetchedCopy::read(path, most)
            .map_err(|error| ConfigError::whole(path, format!("cannot be read: {error}")));
        let read = read.and_then(|copy| copy.bytes.as_deref().map(|bytes| parse(bytes, &copy)).transpose());
        let former = || former.and_then(|former| former.held.clone().zip(Some(former.as_of)));
        let (found, fault) = read.map_or_else(|fault| (former(), Some(fault)), |found| (found, None));
        let (held, as_of) = found.unzip();
        Self { path: path.to_owned(), held, as_of: as_of.flatten(), fault }
    }

    /// How old it is; `None` where it is not there.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        self.as_of.map(|as_of| now.duration_since(as_of).unwrap_or_default())
    }
}

/// Says what is wrong with what is fetched: once, and once that it is over.
#[derive(Debug, Default)]
pub(super) struct Teller(HashMap<String, String>);

impl Teller {
    /// Tells what is wrong with the `what` of `source`, if that is new.
    pub(super) fn tell(&mut self, what: &'static str, source: &str, trouble: Option<String>) {
        let key = format!("{what} {source}");
        if self.0.get(&key) == trouble.as_ref() {
            return;
        }
        if let Some(trouble) = trouble {
            tracing::warn!(source, "{what}: {trouble}");
            self.0.insert(key, trouble);
        } else {
            tracing::info!(source, "{what}: as it should be again");
            self.0.remove(&key);
        }
    }
}

#[cfg(test)]
impl Teller {
    /// How many troubles there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const SCHEDULE: Schedule =
        Schedule { every: Duration::from_secs(86_400), retry: HOUR, most: HOUR.saturating_mul(20) };

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

    #[test]
    fn failures_are_retried_soon_at_first_and_then_ever_less_often() {
        let hours =
            |failures| FetchHead { failures, ..FetchHead::default() }.wait(SCHEDULE).as_secs() / 3_600;
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 100].map(hours), [24, 1, 2, 4, 8, 16, 20, 20]);
    }

    #[test]
    fn who_asks_for_time_gets_it_and_a_clock_that_was_set_back_waits_for_nothing() {
        let start = UNIX_EPOCH + HOUR * 100_000;
        let mut head = FetchHead::default();
        assert!(head.may_ask(SCHEDULE, start.into()), "never asked");
        let may_ask = |head: &FetchHead, hours| head.may_ask(SCHEDULE, (start + HOUR * hours).into());
        head.fail("429".to_owned(), Some(HOUR * 5), start.into());
        assert_eq!([1, 4, 5].map(|hours| may_ask(&head, hours)), [false, false, true]);
        head.fail("429".to_owned(), Some(HOUR * 1_000), start.into());
        assert!(may_ask(&head, 24), "no longer than it is asked anyway");
        head.hear(start.into());
        assert_eq!([23, 24].map(|hours| may_ask(&head, hours)), [false, true]);
        assert!(head.may_ask(SCHEDULE, (start - HOUR).into()));
    }

    #[test]
    fn a_trouble_is_told_until_it_is_over() {
        let mut teller = Teller::default();
        let mut after = |trouble: Option<&str>| {
            teller.tell("keys", "a", trouble.map(str::to_owned));
            teller.0.values().cloned().collect::<Vec<_>>()
        };
        assert_eq!(after(Some("silent")), ["silent"]);
        assert_eq!(after(Some("torn")), ["torn"]);
        assert_eq!(after(None), [""; 0]);
    }
}
