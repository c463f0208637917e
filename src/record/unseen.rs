//! Where somebody in front of the gateway may answer `/robots.txt` itself, so that reads of it go unseen.
//!
//! Then it cannot be said of a crawler that it read nothing. What showed it is kept with the site and the time, because a
//! report of next month is to know it, too.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock};

/// How often the same is noted of a site, in microseconds.
const EVERY: i64 = 3_600 * 1_000_000;

/// What shows it where reads found no room in memory.
pub(super) const LOST: &str = "lost";

/// Whether the gateway sees every read of robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Nobody else answers for the gateway.
    Complete,
    /// A cache, or another gateway, may have answered some.
    Partial,
}

/// Something showed that reads at a site may go unseen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unseen {
    pub(super) site: Box<str>,
    /// What showed it: a field of the request, `configured`, or [`LOST`].
    pub(super) reason: Cow<'static, str>,
    /// When, in microseconds.
    pub(super) at: i64,
}

/// What is not written yet. Who notes the same again within the hour only reads.
#[derive(Debug, Default)]
pub(super) struct UnseenNotes {
    last: RwLock<HashMap<Box<str>, i64>>,
    waiting: Mutex<Vec<Unseen>>,
}

impl UnseenNotes {
    pub(super) fn note(&self, site: &str, reason: &'static str, at: i64) {
        let is_known = |last: &i64| at.abs_diff(*last) < EVERY.unsigned_abs();
        if self.last.read().unwrap_or_else(PoisonError::into_inner).get(site).is_some_and(is_known) {
            return;
        }
        self.last.write().unwrap_or_else(PoisonError::into_inner).insert(site.into(), at);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Unseen {
            site: site.into(),
            reason: reason.into(),
            at,
        });
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Vec<Unseen> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_noted_once_an_hour() {
        let notes = UnseenNotes::default();
        for at in [0, 1, EVERY - 1, EVERY, EVERY + 1] {
            notes.note("a", "CF-Ray", at);
        }
        notes.note("b", "CDN-Loop", 5);
        let at: Vec<_> = notes.take().iter().map(|noted| (noted.site.to_string(), noted.at)).collect();
        assert_eq!(at, [("a".to_owned(), 0), ("a".to_owned(), EVERY), ("b".to_owned(), 5)]);
        assert!(notes.take().is_empty());
    }
}
