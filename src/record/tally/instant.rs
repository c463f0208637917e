//! Instants and periods as whole numbers, the form in which they are counted and kept.
//!
//! Instants are rounded down to the microsecond. Rounding never changes the order of two instants; it may
//! make them equal, and fair notice reads a tie in favour of the crawler (RFC 9309 §2.4).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds of a minute, an hour and a day: the spans of roll-ups.
pub(in crate::record) const MINUTE: i64 = 60;
pub(in crate::record) const HOUR: i64 = 3_600;
pub(in crate::record) const DAY: i64 = 86_400;

const MICROS: i64 = 1_000_000;

/// Microseconds since 1970; times before that are its first moment.
pub fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    seconds.saturating_mul(MICROS).saturating_add(i64::from(since.subsec_micros()))
}

/// The inverse of [`micros`].
pub fn instant(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// Start, in seconds, of the period of `span` seconds that holds the instant `at` in microseconds.
pub(in crate::record) const fn start_of(at: i64, span: i64) -> i64 {
    let seconds = at.div_euclid(MICROS);
    seconds - seconds.rem_euclid(span)
}

/// The instant at which a period that starts at `seconds` begins, in microseconds.
pub(in crate::record) const fn begins(seconds: i64) -> i64 {
    seconds.saturating_mul(MICROS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_come_back_to_the_microsecond() {
        let time = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(micros(time), 1_700_000_000_123_456);
        assert_eq!(micros(instant(micros(time))), micros(time));
        assert_eq!(micros(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }

    #[test]
    fn periods_start_at_multiples_of_their_span() {
        let at = 1_700_000_059_999_999;
        assert_eq!(start_of(at, MINUTE), 1_700_000_040);
        assert_eq!(start_of(at, HOUR), 1_699_999_200);
        assert_eq!(start_of(at, DAY), 1_699_920_000);
        assert_eq!(begins(start_of(at, MINUTE)), 1_700_000_040_000_000);
    }
}
