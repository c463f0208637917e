//! A time on the command line: how long ago, or when.

use crate::config::DurationValue;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// `24h`, `2026-11-19T08:00:00Z`, or `2026-11-19` for the beginning of that day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ctl) enum TimeArgument {
    /// So long ago.
    Ago(Duration),
    /// Then.
    At(SystemTime),
}

impl TimeArgument {
    /// When that is. Nothing is before 1970.
    pub(in crate::ctl) fn resolve(self, now: SystemTime) -> SystemTime {
        let time = match self {
            Self::Ago(span) => now.checked_sub(span).unwrap_or(SystemTime::UNIX_EPOCH),
            Self::At(time) => time,
        };
        time.max(SystemTime::UNIX_EPOCH)
    }
}

impl FromStr for TimeArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(DurationValue(span)) = text.parse() {
            return Ok(Self::Ago(span));
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::At(time.into()));
        }
        // A time of day without its zone would be guessed at; a day alone is one of UTC, as in the store.
        let day = text.parse::<Date>().ok().filter(|_| text.len() == "2026-11-19".len());
        if let Some(day) = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
            return Ok(Self::At(day.timestamp().into()));
        }
        Err("write how long ago, such as `24h` or `7d`, or when, such as `2026-11-19` or \
             `2026-11-19T08:00:00Z`"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_three_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let moment = |text: &str| text.parse::<TimeArgument>().unwrap().resolve(now);
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
            assert!(text.parse::<TimeArgument>().unwrap_err().contains("such as `24h`"), "{text}");
        }
    }
}
