//! Where somebody in front of the gateway may answer `/robots.txt` itself, so that reads of it go unseen.
//!
//! Then it cannot be said of a crawler that it read nothing. What showed it is kept with the site and the time, because a
//! report of next month is to know it, too.

use parking_lot::RwLock;
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

/// When what was noted last of a site, in microseconds. Who notes the same again within the hour only reads.
#[derive(Debug, Default)]
pub(super) struct UnseenNotes(RwLock<HashMap<&'static str, HashMap<Box<str>, i64>>>);

impl UnseenNotes {
    /// Notes what shows it; `false` where that was noted within the hour.
    pub(super) fn note(&self, site: &str, reason: &'static str, at: i64) -> bool {
        let is_news = self.last(site, reason).is_none_or(|last| at.abs_diff(last) >= EVERY.unsigned_abs());
        if is_news {
            self.0.write().entry(reason).or_default().insert(site.into(), at);
        }
        is_news
    }

    fn last(&self, site: &str, reason: &'static str) -> Option<i64> {
        self.0.read().get(reason)?.get(site).copied()
    }

    /// The stand-in for the names of a site's visitors that has come since `since`.
    pub(super) fn stand_in(&self, site: &str, since: i64) -> Option<&'static str> {
        STAND_INS.into_iter().find(|name| self.last(site, name).is_some_and(|last| last >= since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_noted_once_an_hour() {
        let notes = UnseenNotes::default();
        let news = [0, 1, EVERY - 1, EVERY, EVERY + 1].map(|at| notes.note("a", "CF-Ray", at));
        assert_eq!(news, [true, false, false, true, false]);
        assert!(notes.note("b", "CF-Ray", 5) && notes.note("b", "CDN-Loop", 5));
    }

    #[test]
    fn each_reason_is_noted_and_a_stand_in_is_known_for_its_site() {
        let notes = UnseenNotes::default();
        let reasons = ["X-Amz-Cf-Id", "Amazon CloudFront", "X-Amz-Cf-Id", "Amazon CloudFront"];
        assert_eq!(reasons.map(|reason| notes.note("a", reason, 7)), [true, true, false, false]);
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
