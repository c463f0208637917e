//! The head of what was fetched, and when to ask again.

use crate::config::reading;
use crate::record::beside;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
pub(in crate::policy) struct FetchTime {
    pub(in crate::policy) at: Duration,
    pub(in crate::policy) time: SystemTime,
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
pub(in crate::policy) struct FetchHead {
    /// Where it is from: a URL, or the name of a site.
    pub(in crate::policy) source: String,
    /// Of its bytes; none where there is no file.
    pub(super) sha256: Option<Box<str>>,
    #[serde(flatten)]
    pub(in crate::policy) validators: Validators,
    /// When whoever has it said last that there is this file, or none.
    pub(in crate::policy) heard: Option<FetchTime>,
    /// Since when it has been saying that there is no file, while a copy is kept.
    pub(super) gone_since: Option<Duration>,
    /// When it was asked last.
    asked: Duration,
    /// For how long it then did not want to be asked (RFC 9110 §10.2.3).
    retry_after: Duration,
    /// How many times in a row there was nothing of use.
    pub(in crate::policy) failures: u32,
    /// Why, the last time.
    pub(in crate::policy) error: Option<String>,
}

/// How often something is fetched.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Schedule {
    /// How long to wait after what was of use. Nothing is waited for longer.
    pub(in crate::policy) every: Duration,
    /// How long to wait after the first failure; each further one doubles it.
    pub(in crate::policy) retry: Duration,
    /// Up to this.
    pub(in crate::policy) most: Duration,
}

impl FetchHead {
    /// Where the head of the file at `path` lies.
    pub(in crate::policy) fn path_of(path: &Path) -> PathBuf {
        beside(path, ".receipt")
    }

    /// That of the file at `path`; an empty one where there is none.
    pub(in crate::policy) fn read(path: &Path) -> Self {
        let read = reading::read(&Self::path_of(path), LARGEST).ok();
        read.and_then(|read| serde_json::from_slice(&read.bytes).ok()).unwrap_or_default()
    }

    /// How long ago it was heard of, by the time of day.
    pub(in crate::policy) fn age(&self, now: SystemTime) -> Option<Duration> {
        self.heard.map(|heard| now.duration_since(heard.time).unwrap_or_default())
    }

    /// How long to wait after it was asked.
    pub(in crate::policy) fn wait(&self, schedule: Schedule) -> Duration {
        let pause = match self.failures {
            0 => schedule.every,
            failures => schedule.retry.saturating_mul(1 << (failures - 1).min(16)).min(schedule.most),
        };
        pause.max(self.retry_after).min(schedule.every)
    }

    /// Whether to ask again. A clock that was set back asks.
    pub(in crate::policy) fn may_ask(&self, schedule: Schedule, now: FetchTime) -> bool {
        now.at.checked_sub(self.asked).is_none_or(|waited| waited >= self.wait(schedule))
    }

    /// Whoever has it says so now: that there is this file, or none.
    pub(super) fn hear(&mut self, now: FetchTime) {
        (self.heard, self.gone_since) = (Some(now), None);
        (self.asked, self.retry_after) = (now.at, Duration::ZERO);
        (self.failures, self.error) = (0, None);
    }

    /// There was nothing of use, and nobody wants to be asked for so long.
    pub(super) fn fail(&mut self, why: String, retry_after: Option<Duration>, now: FetchTime) {
        (self.asked, self.retry_after) = (now.at, retry_after.unwrap_or_default());
        (self.failures, self.error) = (self.failures.saturating_add(1), Some(why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const SCHEDULE: Schedule =
        Schedule { every: Duration::from_secs(86_400), retry: HOUR, most: HOUR.saturating_mul(20) };

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
}
