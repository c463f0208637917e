//! The time by which what is old is removed: the time of day, as long as that is plausible.
//!
//! A clock that is set wrong must not make evidence old. So this time goes towards the time of day, and at most twice as fast
//! as the boot clock of the machine, which nobody sets. While a machine is off it stands still, and catches up later.

use super::error::StoreError;
use super::sqlite::Sqlite;
use crate::record::event::{format_span, timestamp};
use crate::record::rows::{boot, uptime};
use crate::record::tally::{HOUR, instant};
use std::time::Duration;

const SECOND: i64 = 1_000_000;

/// How far the time of day may be from what is expected before that is told, in microseconds.
const TOLD: i64 = HOUR * SECOND;

/// Where the time is after a while of the boot clock, on its way to the time of day. All in microseconds.
fn advanced(time: i64, elapsed: i64, wall: i64) -> i64 {
    if wall < time {
        return wall.max(time.saturating_sub(elapsed));
    }
    wall.min(time.saturating_add(elapsed.saturating_mul(2)))
}

/// Why the time of day is not gone by that is so far `ahead` of what is expected, on the way to it at `time`.
fn doubt(ahead: i64, time: i64) -> Option<String> {
    if ahead.abs() <= TOLD {
        return None;
    }
    let hours = (ahead.unsigned_abs() + TOLD.unsigned_abs() / 2) / TOLD.unsigned_abs();
    let far = format_span(Duration::from_secs(hours * 3_600));
    Some(format!(
        "the clock is {far} {} the {} that the store and the machine's uptime make it; nothing is removed as old \
         because of that; set the clock if it is wrong; if it is right, what is old is removed later",
        if ahead > 0 { "ahead of" } else { "behind" },
        timestamp(instant(time)),
    ))
}

/// The clock of one process's housekeeping.
#[derive(Debug)]
pub(super) struct StoreClock {
    boot: String,
    /// The time to go by, in microseconds.
    pub(super) time: i64,
    /// Why that is not the time of day, where it is not.
    pub(super) doubt: Option<String>,
}

impl StoreClock {
    /// `process` stands for the boot where the system does not tell one boot from another.
    pub(super) fn new(process: &str) -> Self {
        Self { boot: boot().unwrap_or_else(|| process.to_owned()), time: 0, doubt: None }
    }

    /// Goes on, and writes how far, when the time of day is `wall`, in microseconds.
    pub(super) fn go_on(&mut self, database: &Sqlite, wall: i64) -> Result<(), StoreError> {
        self.go_on_at(database, i64::try_from(uptime().as_micros()).unwrap_or(i64::MAX), wall)
    }

    fn go_on_at(&mut self, database: &Sqlite, uptime: i64, wall: i64) -> Result<(), StoreError> {
        database.transaction(|| {
            let known = database.rows("SELECT boot, uptime, time FROM clock", (), |row| row.try_into())?;
            // Another process may have written it, in this boot or in another. An uptime that is less than it was is of another.
            let of = |(boot, then, time): (String, i64, i64)| {
                (time, if boot == self.boot { uptime.saturating_sub(then).max(0) } else { 0 })
            };
            let (time, elapsed) = known.into_iter().next().map_or((wall, 0), of);
            let written = advanced(time, elapsed, wall);
            self.time = wall.min(written);
            self.doubt = doubt(wall.saturating_sub(time.saturating_add(elapsed)), written);
            let sql = "INSERT INTO clock (id, boot, uptime, time) VALUES (1, ?1, ?2, ?3)
                       ON CONFLICT DO UPDATE SET boot = ?1, uptime = ?2, time = ?3";
            database.run(sql, (&self.boot, uptime, written)).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::open::StoreFile;
    use crate::record::store::tests::StoreFolder;

    const NOON: i64 = 1_800_014_400 * SECOND;
    const AN_HOUR: i64 = HOUR * SECOND;
    const A_DAY: i64 = 24 * AN_HOUR;

    fn clock(boot: &str) -> StoreClock {
        StoreClock { boot: boot.to_owned(), time: 0, doubt: None }
    }

    fn store(folder: &StoreFolder) -> Sqlite {
        StoreFile::new(folder.store()).open(false).unwrap().database
    }

    #[test]
    fn the_time_goes_at_most_twice_as_fast_as_the_boot_clock() {
        let folder = StoreFolder::new();
        let (database, mut one) = (store(&folder), clock("one"));
        let mut now = |uptime, wall| {
            one.go_on_at(&database, uptime, wall).unwrap();
            (one.time, one.doubt.clone())
        };
        assert_eq!(now(0, NOON), (NOON, None));
        for minute in 1..=4 * 24 * 60 {
            let uptime = minute * 60 * SECOND;
            // Set two days ahead after the first minute.
            let wall = NOON + uptime + 2 * A_DAY;
            let (time, doubt) = now(uptime, wall);
            assert_eq!(time, wall.min(NOON + 2 * uptime), "{minute}");
            assert!(2 * A_DAY - uptime <= AN_HOUR || doubt.is_some(), "{minute}");
            assert!(minute < 2 * 24 * 60 || doubt.is_none(), "it has caught up");
        }
    }

    #[test]
    fn a_clock_that_is_set_right_again_is_gone_by_at_once() {
        let folder = StoreFolder::new();
        let database = store(&folder);
        let look = |boot: &str, uptime, wall| {
            let mut clock = clock(boot);
            clock.go_on_at(&database, uptime, wall).unwrap();
            (clock.time, clock.doubt)
        };
        assert_eq!(look("one", 0, NOON), (NOON, None));
        let (now, doubt) = look("one", SECOND, NOON + 120 * A_DAY);
        assert_eq!(now, NOON + 2 * SECOND);
        assert!(doubt.is_some_and(|doubt| doubt.contains("120 d ahead of")));
        let (now, doubt) = look("one", 2 * SECOND, NOON - 30 * AN_HOUR);
        assert_eq!(now, NOON - 30 * AN_HOUR);
        assert!(doubt.is_some_and(|doubt| doubt.contains("1 d 6 h behind")));
        assert_eq!(look("one", 3 * SECOND, NOON + 3 * SECOND), (NOON + 3 * SECOND, None));
        // A gateway that was stopped for long, and a machine that was off.
        let later = NOON + 90 * A_DAY;
        assert_eq!(look("one", 90 * A_DAY, later), (later, None));
        let (now, doubt) = look("two", AN_HOUR, later + 2 * A_DAY);
        assert!(now == later && doubt.is_some());
        assert_eq!(look("two", AN_HOUR + 2 * A_DAY, later + 4 * A_DAY).0, later + 4 * A_DAY);
    }
}
