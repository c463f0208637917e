//! A time on the command line: how long ago, or when.

use crate::config::DurationValue;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::time::SystemTime;

/// `24h`, for so long ago, `2026-11-19T08:00:00Z`, or `2026-11-19` for the beginning of that day in UTC. Nothing is before
/// 1970.
pub(in crate::ctl) fn moment(text: &str) -> Result<SystemTime, String> {
    before(text, SystemTime::now())
}

const EXPECTED: &str =
    "write how long ago, such as `24h` or `7d`, or when, such as `2026-11-19` or `2026-11-19T08:00:00Z`";

fn before(text: &str, now: SystemTime) -> Result<SystemTime, String> {
    // A time of day without its zone would be guessed at; a day alone is one of UTC, as in the store.
    let day = text.parse::<Date>().ok().filter(|_| text.len() == "2026-11-19".len());
    let day = || Some(day?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let time = match text.parse() {
        Ok(DurationValue(span)) => now.checked_sub(span),
        Err(_) => Some(text.parse().ok().or_else(day).ok_or(EXPECTED)?.into()),
    };
    Ok(time.unwrap_or(SystemTime::UNIX_EPOCH).max(SystemTime::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_said_in_three_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let moment = |text: &str| before(text, now).unwrap();
        assert_eq!(moment("1h"), now - Duration::from_secs(3_600));
        assert_eq!(moment("1970-01-02"), SystemTime::UNIX_EPOCH + Duration::from_secs(86_400));
        assert_eq!(moment("1970-01-02T01:00:00+01:00"), SystemTime::UNIX_EPOCH + Duration::from_secs(86_400));
        assert_eq!(moment("999999d"), SystemTime::UNIX_EPOCH);
        assert_eq!(moment("1960-01-01"), SystemTime::UNIX_EPOCH);
    }

    #[test]
    fn what_is_no_time_is_refused_with_a_remedy() {
        for text in
            ["", "yesterday", "24", "-1h", "2026-13-01", "2026-11-19T08:00:00", "h", "99999999999999999999d"]
        {
            assert!(moment(text).unwrap_err().contains("such as `24h`"), "{text}");
        }
    }
}
