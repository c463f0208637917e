//! Times as logs write them, in microseconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Each month with its number.
const MONTHS: &str = "Jan01Feb02Mar03Apr04May05Jun06Jul07Aug08Sep09Oct10Nov11Dec12";

/// The first second that is taken for a time, of 2001: smaller numbers are how long something took.
const FIRST: f64 = 1e9;

/// RFC 3339 and what is like it, the common form, or seconds since 1970 as a decimal number. Without a zone it is UTC.
pub(super) fn any(text: &[u8]) -> Option<i64> {
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
    let written = if is_compact { format!("{}T{}", text.get(..8)?, text.get(8..)?) } else { spelt(text)? };
    let local = || Offset::UTC.to_timestamp(written.parse::<DateTime>().ok()?).ok();
    written.parse().ok().or_else(local).map(Timestamp::as_microsecond)
}

/// `17/May/2015:10:05:03 +0000`, by far the most frequent, and `2015/05/17 10:05:03` as RFC 3339 has them. A day alone is no time.
fn spelt(text: &str) -> Option<String> {
    let month = text.get(3..6).and_then(|name| MONTHS.get(MONTHS.find(name)? + 3..)?.get(..2));
    let Some(month) = month else { return text.contains(':').then(|| text.replace('/', "-")) };
    let clock = text.get(12..)?;
    let (clock, zone) = clock.split_once(' ').unwrap_or((clock, ""));
    Some([text.get(7..11)?, "-", month, "-", text.get(..2)?, "T", clock, zone].concat())
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
            assert_eq!(any(text.as_bytes()), Some(wanted.as_microsecond()), "{text}");
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
            "yesterday",
            "-1700000000",
            "NaN",
            "12345678",
            "203.0.113.7",
            "2001:db8::1",
            "2025-12-19",
        ] {
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
