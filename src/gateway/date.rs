//! The date as answers carry it (RFC 9110 §6.6.1), written once a second.

use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::time::{Duration, UNIX_EPOCH};

/// A date in the form that is preferred (RFC 9110 §5.6.7), which always has so many bytes.
pub type DateBytes = [u8; 29];

thread_local! {
    static LAST: Cell<(u64, DateBytes)> = const { Cell::new((u64::MAX, [b' '; 29])) };
}

/// The date of this second.
pub fn now() -> DateBytes {
    // To the tick of the system, which is a few milliseconds, and a fifth of the price.
    let second = u64::try_from(clock_gettime(ClockId::RealtimeCoarse).tv_sec).unwrap_or_default();
    let (last, mut date) = LAST.get();
    if last != second {
        let written = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        date = written.as_bytes().try_into().unwrap_or(date);
        LAST.set((second, date));
    }
    date
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn it_is_the_date_of_now() {
        let date = now();
        let read = httpdate::parse_http_date(std::str::from_utf8(&date).unwrap()).unwrap();
        let age = SystemTime::now().duration_since(read).unwrap();
        assert!(age.as_secs() < 60, "{age:?}");
    }
}
