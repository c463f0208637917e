//! Where somebody in front of the gateway may answer `/robots.txt` itself, so that reads of it go unseen.
//!
//! Then it cannot be said of a crawler that it read nothing. What showed it is kept with the site and the time, because a
//! report of next month is to know it, too.

use super::missing::{Missing, MissingWhat};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How often the same is noted of a site, in microseconds.
const EVERY: i64 = 3_600 * 1_000_000;

/// Names of the catalogue that something in front, a CDN or a cache, sends for all its visitors. So nobody is judged by
/// them, and of a read of robots.txt under one nobody knows whose it is.
const STAND_INS: [&str; 2] = ["Amazon CloudFront", "Nutscrape"];

/// The stand-in of this name.
#[must_use]
pub fn stand_in(name: &str) -> Option<&'static str> {
    STAND_INS.into_iter().find(|stand_in| *stand_in == name)
}

/// What there is to do about one.
#[must_use]
pub fn stand_in_advice(site: &str, name: &str) -> String {
    format!(
        "visitors of {site} come as `{name}`, which says nothing of who they are, so none of them is judged: have what \
         stands in front forward the viewer's User-Agent"
    )
}

/// Whether the gateway sees every read of robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Nobody else answers for the gateway.
    Complete,
    /// A cache, or another gateway, may have answered some.
    Partial,
}

/// What is not written yet. Who notes the same again within the hour only reads.
#[derive(Debug, Default)]
pub(super) struct UnseenNotes {
    last: RwLock<HashMap<&'static str, HashMap<Box<str>, i64>>>,
    waiting: Mutex<Vec<Missing>>,
}

impl UnseenNotes {
    pub(super) fn note(&self, site: &str, reason: &'static str, at: i64) {
        if self.last(site, reason).is_some_and(|last| at.abs_diff(last) < EVERY.unsigned_abs()) {
            return;
        }
        let mut last = self.last.write();
        last.entry(reason).or_default().insert(site.into(), at);
        drop(last);
        self.waiting
            .lock()
            .push(Missing { site: site.into(), ..Missing::new(MissingWhat::Reads, reason, (at, at), None) });
    }

    /// When that was noted last, in microseconds.
    fn last(&self, site: &str, reason: &'static str) -> Option<i64> {
        self.last.read().get(reason)?.get(site).copied()
    }

    /// The stand-in for the names of a site's visitors that has come since `since`.
    pub(super) fn stand_in(&self, site: &str, since: i64) -> Option<&'static str> {
        STAND_INS.into_iter().find(|name| self.last(site, name).is_some_and(|last| last >= since))
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Vec<Missing> {
        std::mem::take(&mut *self.waiting.lock())
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
        let at: Vec<_> = notes.take().iter().map(|noted| (noted.site.to_string(), noted.from)).collect();
        assert_eq!(at, [("a".to_owned(), 0), ("a".to_owned(), EVERY), ("b".to_owned(), 5)]);
        assert!(notes.take().is_empty());
    }

    #[test]
    fn each_reason_is_noted_and_a_stand_in_is_known_for_its_site() {
        let notes = UnseenNotes::default();
        for reason in ["X-Amz-Cf-Id", "Amazon CloudFront", "X-Amz-Cf-Id", "Amazon CloudFront"] {
            notes.note("a", reason, 7);
        }
        assert_eq!(notes.take().len(), 2);
        assert_eq!(notes.stand_in("a", 7), Some("Amazon CloudFront"));
        assert_eq!((notes.stand_in("a", 8), notes.stand_in("b", 0)), (None, None));
    }

    #[test]
    fn the_catalogue_has_every_stand_in() {
        let catalogue = include_str!("../../rules/crawlers.toml");
        for name in STAND_INS {
            assert!(
                catalogue.contains(&format!("name = \"{name}\"\n")) && stand_in(name) == Some(name),
                "{name}"
            );
        }
        assert_eq!(stand_in("GPTBot"), None);
    }
}
