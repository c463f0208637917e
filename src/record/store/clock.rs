//! The time by which what is old is removed: the time of day, as long as that is plausible.
//!
//! A clock that is set wrong must not make evidence old. So the store keeps the last time that was plausible, with the
//! boot of the machine and its uptime. From there the boot clock, which nobody sets, says what time it should be. A
//! time of day that is far from that is not gone by until a gateway has run with it for a day: then the clock was
//! wrong before, or the machine was off.

use super::error::StoreError;
use super::sqlite::Sqlite;
use crate::record::event::timestamp;
use crate::record::ledger::{boot, uptime};
use crate::record::tally::{DAY, instant};

const SECOND: i64 = 1_000_000;

/// How far the time of day may be from what the boot clock makes it, in microseconds.
const STEP: i64 = 300 * SECOND;

/// The same after another boot: nobody knows for how long the machine was off.
const STEP_ACROSS_BOOTS: i64 = DAY * SECOND;

/// For how long a gateway has to run with an implausible clock until it is believed.
const BELIEVED_AFTER: i64 = DAY * SECOND;

/// How much of that two looks can add: they are less far apart while a gateway runs.
const LONGEST_LOOK: i64 = 120 * SECOND;

/// What is known of the time. All in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClockMark {
    /// What the time of day was or should have been.
    time: i64,
    /// How far the time of day was ahead of that; 0 where it was plausible.
    ahead: i64,
    /// For how long it was so.
    waited: i64,
}

impl ClockMark {
    /// The mark `elapsed` later; `None` where that is not known, after another boot.
    fn advance(self, elapsed: Option<i64>, wall: i64) -> Self {
        let step = if elapsed.is_some() { STEP } else { STEP_ACROSS_BOOTS };
        let elapsed = elapsed.unwrap_or_default();
        let time = self.time.saturating_add(elapsed);
        let ahead = wall.saturating_sub(time);
        let is_steady = ahead.saturating_sub(self.ahead).saturating_abs() <= step;
        let waited = if is_steady { self.waited.saturating_add(elapsed.min(LONGEST_LOOK)) } else { 0 };
        if ahead.saturating_abs() <= step || waited >= BELIEVED_AFTER {
            return Self { time: wall, ahead: 0, waited: 0 };
        }
        Self { time, ahead, waited }
    }

    const fn is_doubted(self) -> bool {
        self.ahead != 0
    }
}

/// The clock of one process's housekeeping.
#[derive(Debug)]
pub(super) struct StoreClock {
    boot: String,
    mark: Option<(ClockMark, i64)>,
}

impl StoreClock {
    /// `process` stands for the boot where the system does not tell one boot from another.
    pub(super) fn new(process: &str) -> Self {
        Self { boot: boot().unwrap_or_else(|| process.to_owned()), mark: None }
    }

    /// The time to go by, in microseconds, when the time of day is `wall`. It is written where that `is_due`, and
    /// where it is told anew whether the clock is plausible.
    pub(super) fn now(&mut self, database: &Sqlite, wall: i64, is_due: bool) -> Result<i64, StoreError> {
        self.now_at(database, i64::try_from(uptime().as_micros()).unwrap_or(i64::MAX), wall, is_due)
    }

    fn now_at(&mut self, database: &Sqlite, uptime: i64, wall: i64, is_due: bool) -> Result<i64, StoreError> {
        let going_on =
            |(mark, then): (ClockMark, i64)| (mark, mark.advance(Some(uptime.saturating_sub(then)), wall));
        let known =
            self.mark.map(going_on).filter(|(old, next)| !is_due && old.is_doubted() == next.is_doubted());
        let mark = if let Some((_, next)) = known {
            next
        } else {
            let mark = database.transaction(|| self.write(database, uptime, wall))?;
            self.mark = Some((mark, uptime));
            mark
        };
        Ok(wall.min(mark.time))
    }

    /// Another process may have written it, in this boot or in another.
    fn write(&self, database: &Sqlite, uptime: i64, wall: i64) -> Result<ClockMark, StoreError> {
        let then = database.value("SELECT uptime FROM clock WHERE boot = ?1", [&self.boot])?;
        let known = database.rows("SELECT time, ahead, waited FROM clock", (), |row| {
            Ok(ClockMark { time: row.get(0)?, ahead: row.get(1)?, waited: row.get(2)? })
        })?;
        let first = ClockMark { time: wall, ..ClockMark::default() };
        let mark = known.first().copied().unwrap_or(first);
        // An uptime that is less than it was is of another boot, whatever that is called.
        let elapsed = then.map(|then| uptime.saturating_sub(then)).filter(|elapsed| *elapsed >= 0);
        let mark = mark.advance(elapsed, wall);
        database.run(
            "INSERT INTO clock (id, boot, uptime, time, ahead, waited) VALUES (1, ?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET boot = ?1, uptime = ?2, time = ?3, ahead = ?4, waited = ?5",
            (&self.boot, uptime, mark.time, mark.ahead, mark.waited),
        )?;
        Ok(mark)
    }

    /// Why the time of day is not gone by, where that is so.
    pub(super) fn doubt(&self) -> Option<String> {
        let (mark, _) = self.mark.filter(|(mark, _)| mark.is_doubted())?;
        let seconds = mark.ahead.abs() / SECOND;
        let far = match seconds {
            0..7_200 => format!("{} minutes", (seconds + 30) / 60),
            7_200..172_800 => format!("{} hours", (seconds + 1_800) / 3_600),
            _ => format!("{} days", (seconds + 43_200) / 86_400),
        };
        Some(format!(
            "the clock is {far} {} the {} that the store and the machine's uptime make it; nothing is removed as old \
             because of that; set the clock if it is wrong; if it is right, it is gone by once the gateway has run \
             with it for {} h",
            if mark.ahead > 0 { "ahead of" } else { "behind" },
            timestamp(instant(mark.time)),
            BELIEVED_AFTER / SECOND / 3_600
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::open::StoreFile;
    use crate::record::store::sqlite::Sqlite;
    use crate::record::store::tests::StoreFolder;

    const NOON: i64 = 1_800_014_400 * SECOND;
    const HOUR: i64 = 3_600 * SECOND;

    fn clock(boot: &str) -> StoreClock {
        StoreClock { boot: boot.to_owned(), mark: None }
    }

    fn store(folder: &StoreFolder) -> Sqlite {
        StoreFile::new(folder.store()).open(false).unwrap().database
    }

    #[test]
    fn a_step_is_not_gone_by_until_it_has_lasted_for_a_day() {
        let folder = StoreFolder::new();
        let (database, mut one) = (store(&folder), clock("one"));
        for hours in [120 * 24, -30] {
            assert_eq!(one.now_at(&database, HOUR, NOON, true), Ok(NOON));
            assert_eq!(one.doubt(), None);
            let wall = |uptime: i64| NOON + uptime - HOUR + hours * HOUR;
            let (mut uptime, mut told) = (HOUR, 0);
            while one.mark.is_some_and(|(mark, _)| mark.is_doubted()) || uptime == HOUR {
                uptime += 60 * SECOND;
                let now = one.now_at(&database, uptime, wall(uptime), true).unwrap();
                if let Some(doubt) = one.doubt() {
                    assert!(doubt.contains(if hours > 0 { "120 days ahead of" } else { "30 hours behind" }));
                    assert_eq!(now, wall(uptime).min(NOON + uptime - HOUR));
                    told += 1;
                } else {
                    assert_eq!(now, wall(uptime), "it is believed");
                }
            }
            assert_eq!(told, 24 * 60, "minutes");
            one = clock("one");
            database.run("DELETE FROM clock", ()).unwrap();
        }
    }

    #[test]
    fn what_is_not_steady_waits_anew_and_a_clock_that_is_set_right_is_believed_at_once() {
        let folder = StoreFolder::new();
        let (database, mut one) = (store(&folder), clock("one"));
        one.now_at(&database, 0, NOON, true).unwrap();
        one.now_at(&database, 60 * SECOND, NOON + 50 * HOUR, true).unwrap();
        one.now_at(&database, 120 * SECOND, NOON + 50 * HOUR + 60 * SECOND, true).unwrap();
        assert_eq!(one.mark.unwrap().0.waited, 60 * SECOND);
        one.now_at(&database, 180 * SECOND, NOON + 80 * HOUR, true).unwrap();
        assert_eq!(one.mark.unwrap().0.waited, 0, "it was set again");
        let right = NOON + 190 * SECOND;
        assert_eq!(one.now_at(&database, 190 * SECOND, right, false), Ok(right));
        assert_eq!(one.doubt(), None, "without being due");
    }

    #[test]
    fn the_time_between_two_processes_is_known_within_a_boot_and_a_day_of_it_is_nothing_after_another() {
        let folder = StoreFolder::new();
        let database = store(&folder);
        let start = |boot: &str, uptime, wall| {
            let mut clock = clock(boot);
            let now = clock.now_at(&database, uptime, wall, true).unwrap();
            (now, clock.doubt().is_some())
        };
        assert_eq!(start("one", HOUR, NOON), (NOON, false));
        let later = NOON + 90 * 24 * HOUR;
        assert_eq!(start("one", HOUR + 90 * 24 * HOUR, later), (later, false), "stopped for long");
        assert_eq!(start("two", HOUR, later + 20 * HOUR), (later + 20 * HOUR, false), "off over night");
        let before = later + 20 * HOUR;
        assert_eq!(start("three", HOUR, before + 120 * 24 * HOUR), (before, true));
        assert_eq!(start("three", 9 * HOUR, before + 120 * 24 * HOUR + 8 * HOUR), (before + 8 * HOUR, true));
        assert_eq!(start("four", HOUR, before + 9 * HOUR), (before + 9 * HOUR, false), "it was wrong");
    }
}
