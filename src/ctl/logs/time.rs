//! Times as logs write them, in microseconds since 1970.

use jiff::Timestamp;
use std::ops::Range;

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

const MICROS: i64 = 1_000_000;

/// `17/May/2015:10:05:03 +0000`.
pub(super) fn common(text: &[u8]) -> Option<i64> {
    let at = |range: Range<usize>| text.get(range).and_then(number);
    let marks = [2, 6, 11, 14, 17, 20].map(|place| text.get(place).copied());
    if text.len() != 26 || marks != [b'/', b'/', b':', b':', b':', b' '].map(Some) {
        return None;
    }
    let month = (1..).zip(MONTHS).find_map(|(number, name)| (text.get(3..6)? == name).then_some(number))?;
    let day = at(0..2).filter(|day| (1..=31).contains(day))?;
    let of_day = at(12..14)? * 3_600 + at(15..17)? * 60 + at(18..20)?;
    let offset = at(22..24)? * 3_600 + at(24..26)? * 60;
    let offset = match text.get(21)? {
        b'+' => offset,
        b'-' => -offset,
        _ => return None,
    };
    Some((days(at(7..11)?, month, day) * 86_400 + of_day - offset) * MICROS)
}

/// The first second that is taken for a time, of 2001: smaller numbers are how long something took.
const FIRST: f64 = 1e9;

/// RFC 3339, the common form, or seconds since 1970 as a decimal number. Without a zone it is UTC.
pub(super) fn any(text: &str) -> Option<i64> {
    let text = text.trim_matches(['[', ']', ' ']);
    let stamp = || text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond);
    // `20150517100503`: no time is so many milliseconds yet.
    let apart = || text.split_at_checked(8).filter(|(_, clock)| clock.len() == 6);
    let compact =
        || format!("{}T{}Z", apart()?.0, apart()?.1).parse::<Timestamp>().ok().map(Timestamp::as_microsecond);
    let number = || text.parse().ok().filter(|number| *number >= FIRST).and_then(seconds);
    common(text.as_bytes()).or_else(stamp).or_else(compact).or_else(number).or_else(|| without_zone(text))
}

/// A day and a time of day that are written apart, in UTC.
pub(super) fn day_and_clock(day: &str, clock: &str) -> Option<i64> {
    any(&format!("{day}T{clock}Z")).or_else(|| without_zone(&format!("{day} {clock}")))
}

/// `06/Feb/2009:12:14:14.655`, `2009-02-06 12:14:14,655` and `2009/02/06 12:14:14`.
fn without_zone(text: &str) -> Option<i64> {
    let (seconds, part) = match text.find(['.', ',']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let part: i64 = if part.is_empty() { 0 } else { format!("{part:0<6}").get(..6)?.parse().ok()? };
    if let Some(at) = common(format!("{seconds} +0000").as_bytes()) {
        return Some(at + part);
    }
    let stamp: String = seconds.replacen('/', "-", 2).replacen(' ', "T", 1);
    let stamp: Timestamp = format!("{stamp}Z").parse().ok()?;
    Some(stamp.as_microsecond() + part)
}

/// Seconds since 1970. Some write milliseconds, micro- or nanoseconds: no log is of the year 5138.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within range, and a log's time has no more digits"
)]
pub(super) fn seconds(number: f64) -> Option<i64> {
    let scale = match number {
        0.0..1e11 => 1e6,
        1e11..1e14 => 1e3,
        1e14..1e17 => 1.0,
        1e17..9e18 => 1e-3,
        _ => return None,
    };
    Some((number * scale).round() as i64)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, counted from the first of March of year 0.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_form_is_that_of_the_calendar() {
        for (text, wanted) in [
            ("17/May/2015:10:05:03 +0000", "2015-05-17T10:05:03Z"),
            ("29/Feb/2024:23:59:59 +0100", "2024-02-29T22:59:59Z"),
            ("01/Jan/2026:00:30:00 +0530", "2025-12-31T19:00:00Z"),
            ("31/Dec/1999:23:00:00 -0830", "2000-01-01T07:30:00Z"),
        ] {
            let wanted: Timestamp = wanted.parse().unwrap();
            assert_eq!(common(text.as_bytes()), Some(wanted.as_microsecond()), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "17/Mai/2015:10:05:03 +0000",
            "00/May/2015:10:05:03 +0000",
            "17/May/2015:10:05:03  0000",
            "x",
        ] {
            assert_eq!(common(text.as_bytes()), None, "{text}");
        }
        assert_eq!(any("yesterday"), None);
        assert_eq!(seconds(-1.0), None);
        assert_eq!(seconds(f64::NAN), None);
    }

    #[test]
    fn numbers_of_any_precision_are_one_time() {
        for number in [1_700_000_000.0, 1_700_000_000_000.0, 1_700_000_000_000_000.0, 1.7e18] {
            assert_eq!(seconds(number), Some(1_700_000_000_000_000), "{number}");
        }
        assert_eq!(any("1700000000.25"), Some(1_700_000_000_250_000));
        assert_eq!(any("20231114221320"), Some(1_700_000_000_000_000));
        assert_eq!(any("2023-11-14T22:13:20+00:00"), Some(1_700_000_000_000_000));
    }

    #[test]
    fn a_time_without_a_zone_is_utc() {
        for text in [
            "14/Nov/2023:22:13:20.250",
            "2023-11-14 22:13:20,250",
            "2023/11/14 22:13:20.25",
            "2023-11-14T22:13:20.250",
        ] {
            assert_eq!(any(text), Some(1_700_000_000_250_000), "{text}");
        }
        assert_eq!(any("[14/Nov/2023:22:13:20 +0000]"), Some(1_700_000_000_000_000));
        assert_eq!(day_and_clock("2023-11-14", "22:13:20"), Some(1_700_000_000_000_000));
    }
}
