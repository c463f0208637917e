//! The clock that notice runs by: the machine's own, which nobody sets, carried on from one boot to the next.
//!
//! Within one boot it is the boot clock and a fixed offset, the same for every process. At the first start after a
//! boot it goes on from the last time that is known, so that time during which nobody was there does not count.

use crate::decide::NoticeTime;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where the clock begins, so that there is room before it for what the operator knows of earlier times.
const BEGINNING: Duration = Duration::from_secs(366 * 86_400);

/// How [`NoticeTime`] is written.
#[derive(Deserialize, Serialize)]
#[serde(remote = "NoticeTime")]
pub(in crate::record) struct WrittenTime(Duration);

/// The clock of one boot; of two the greater one shows a later time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct NoticeClock {
    /// What it showed when the machine was started.
    at_boot: Duration,
}

impl Default for NoticeClock {
    fn default() -> Self {
        Self { at_boot: BEGINNING }
    }
}

impl NoticeClock {
    /// The clock that goes on from `last`, the latest time that is known of any earlier boot.
    pub fn going_on_from(last: NoticeTime) -> Self {
        Self { at_boot: last.0.max(BEGINNING).saturating_sub(to_micros(uptime())) }
    }

    /// What it shows.
    pub fn now(self) -> NoticeTime {
        self.at(uptime())
    }

    /// What it showed when the machine had been up for `uptime`.
    #[must_use]
    pub const fn at(self, uptime: Duration) -> NoticeTime {
        NoticeTime(self.at_boot.saturating_add(to_micros(uptime)))
    }
}

/// To the microsecond, as it is written.
const fn to_micros(span: Duration) -> Duration {
    Duration::new(span.as_secs(), span.subsec_micros() * 1_000)
}

/// For how long the machine has been up, sleep included: the clock that requests are measured by, too.
pub fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanos)
}

/// What tells this boot of the machine from every other; `None` where the system does not say.
pub(in crate::record) fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_whatever_the_machine_has_been_through() {
        let last = NoticeTime(BEGINNING + Duration::from_secs(500));
        let clock = NoticeClock::going_on_from(last);
        let now = clock.now();
        assert!(now >= last && now.since(last) < Duration::from_secs(60), "{now:?}");
        let again: NoticeClock = serde_json::from_str(&serde_json::to_string(&clock).unwrap()).unwrap();
        assert_eq!(again, clock);
        assert!(NoticeClock::going_on_from(NoticeTime::default()).now().0 >= BEGINNING);
    }

    #[test]
    fn a_boot_has_a_name() {
        assert_eq!(boot(), boot());
        assert!(boot().is_some_and(|id| id.len() >= 32));
    }
}
