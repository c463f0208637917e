//! The date as answers carry it (RFC 9110 §6.6.1), written once a second.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

thread_local! {
    static LAST: RefCell<(u64, Arc<str>)> = RefCell::new((u64::MAX, Arc::from("")));
}

/// The date of this second.
#[must_use]
pub fn now() -> Arc<str> {
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST.with_borrow_mut(|last| {
        if last.0 != second {
            *last = (second, httpdate::fmt_http_date(now).into());
        }
        Arc::clone(&last.1)
    })
}
