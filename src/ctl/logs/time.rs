//! Times as logs write them, in microseconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;
use std::ops::Range;

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Other forms than those of RFC 3339. Where they have no zone, it is UTC.
const FORMS: [&str; 7] = [
    "%d/%b/%Y:%H:%M:%S%.f %z",
    "%d/%b/%Y:%H:%M:%S%.f",
    "%d/%b/%Y %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y%m%d%H%M%S",
];

/// The first second that is taken for a time, of 2001: smaller numbers are how long something took.
const FIRST: f64 = 1e9;

/// `17/May/2015:10:05:03 +0000`, by far the most frequent.
pub(super) fn common(text: &[u8]) -> Option<i64> {
    let [_, _, b'/', _, _, _, b'/', _, _, _, _, b':', _, _, b':', _, _, b':', _, _, b' ', sign, _, _, _, _] =
        text
    else {
        return None;
    };
    let at = |range: Range<usize>| text.get(range).and_then(number);
    let small = |range: Range<usize>| at(range).and_then(|number| i8::try_from(number).ok());
    let month = (1..).zip(MONTHS).find_map(|(number, name)| (text.get(3..6)? == name).then_some(number))?;
    let year = at(7..11).and_then(|year| i16::try_from(year).ok()).filter(|year| *year >= 1970)?;
    let when =
        DateTime::new(year, month, small(0..2)?, small(12..14)?, small(15..17)?, small(18..20)?, 0).ok()?;
    let offset = i64::try_from(at(22..24)? * 3_600 + at(24..26)? * 60).ok()?;
    let utc = Offset::UTC.to_timestamp(when).ok()?.as_microsecond();
    match sign {
        b'+' => Some(utc - offset * 1_000_000),
        b'-' => Some(utc + offset * 1_000_000),
        _ => None,
    }
}

/// RFC 3339, the common form, or seconds since 1970 as a decimal number. Without a zone it is UTC.
pub(super) fn any(text: &[u8]) -> Option<i64> {
    if let Some(at) = common(text) {
        return Some(at);
    }
    let text = std::str::from_utf8(text).ok()?.trim_matches(['[', ']', ' ']);
    // No time is shorter, and what begins otherwise is none.
    if text.len() < 8 || !text.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    // `20150517100503`: no time is so many milliseconds yet.
    let is_compact = text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_compact && let Ok(number) = text.parse() {
        return seconds(number);
    }
    let of_form = |form: &&str| {
        let parsed = BrokenDownTime::parse(form, text.replace(',', ".")).ok()?;
        let offset = parsed.offset().unwrap_or(Offset::UTC);
        offset.to_timestamp(parsed.to_datetime().ok()?).ok()
    };
    let stamp: Option<Timestamp> = text.parse().ok().or_else(|| FORMS.iter().find_map(of_form));
    stamp.map(Timestamp::as_microsecond)
}

/// Seconds since 1970. Some write milliseconds, micro- or nanoseconds: no log is of the year 5138.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within range, and a log's time has no more digits"
)]
fn seconds(number: f64) -> Option<i64> {
    let scale = match number {
        FIRST..1e11 => 1e6,
        1e11..1e14 => 1e3,
        1e14..1e17 => 1.0,
        1e17..9e18 => 1e-3,
        _ => return None,
    };
    Some((number * scale).round() as i64)
}

/// A number of decimal digits.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')));
    digits.iter().all(u8::is_ascii_digit).then(|| digits.iter().try_fold(0, add))?
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
            "017/May/2015:10:05:03 +0000",
            "x",
        ] {
            assert_eq!(common(text.as_bytes()), None, "{text}");
        }
        for text in ["yesterday", "-1700000000", "NaN", "12345678", "203.0.113.7"] {
            assert_eq!(any(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_form_is_one_time() {
        for text in [
            "1700000000.25",
            "1700000000250",
            "1700000000250000",
            "1700000000250000000",
            "2023-11-14T22:13:20.25+00:00",
            "2023-11-14T23:13:20.25+0100",
            "14/Nov/2023:22:13:20.250",
            "14/Nov/2023:23:13:20.250 +0100",
            "2023-11-14 22:13:20,250",
            "2023/11/14 22:13:20.25",
            "2023-11-14T22:13:20.250",
        ] {
            assert_eq!(any(text.as_bytes()), Some(1_700_000_000_250_000), "{text}");
        }
        for text in ["20231114221320", "[14/Nov/2023:22:13:20 +0000]", "2023-11-14 22:13:20"] {
            assert_eq!(any(text.as_bytes()), Some(1_700_000_000_000_000), "{text}");
        }
    }
}
