//! `Crawl-delay`: how fast a crawler was asked to come, beside how fast it came. Not part of RFC 9309, and
//! breaking it is no violation.

use super::pace::{MinuteCounts, Pace};
use super::question::CatalogueView;
use crate::decide::NO_GROUP;
use crate::record::{CountSubject, ReadTotal, VersionRecord};
use crate::robots::{ParseLimits, Robots};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The first two in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CrawlDelay {
    /// What the robots.txt in force at the window's end asks of the crawler.
    pub declared: Option<f64>,
    /// The median time between two of its requests in the window, derived from how many came in each minute; in
    /// each hour or day, where the store keeps no minutes any more.
    pub observed: Option<f64>,
    /// How its requests were spread over the window.
    pub per_minute: Option<MinuteCounts>,
}

/// The robots.txt of every site.
#[derive(Debug, Default)]
pub(super) struct SiteFiles(HashMap<Box<str>, Robots>);

impl SiteFiles {
    /// Compiles the versions in force, one of each site.
    pub(super) fn new<'a>(in_force: impl Iterator<Item = &'a VersionRecord>) -> Self {
        let file = |version: &VersionRecord| {
            let bytes = version.bytes.as_deref()?;
            // A limit that is too small would lose a group; what the gateway itself read is not known here.
            let limits = ParseLimits { max_bytes: bytes.len() };
            Some((version.site.clone(), Robots::parse(bytes, &limits).robots))
        };
        Self(in_force.filter_map(file).collect())
    }

    /// By site.
    pub(super) const fn robots(&self) -> &HashMap<Box<str>, Robots> {
        &self.0
    }

    /// A subject has the tokens by which it was found in what it read, the last first, and those of its name.
    pub(super) fn delay(
        &self,
        subject: &CountSubject,
        known: &CatalogueView,
        reads: &[ReadTotal],
        pace: &Pace,
    ) -> CrawlDelay {
        let (named, star) = known.tokens(subject);
        let mut reads: Vec<&ReadTotal> = reads.iter().collect();
        reads.sort_by_key(|read| Reverse(read.last));
        let chosen = reads.iter().filter_map(|read| read.chosen.as_deref());
        let tokens: Vec<&str> = chosen
            .filter(|chosen| !matches!(*chosen, "*" | NO_GROUP))
            .chain(named.iter().map(|token| &**token))
            .collect();
        let group = self.0.get(&subject.site).and_then(|robots| robots.group(&tokens, star));
        let declared = group.and_then(|group| group.crawl_delay());
        CrawlDelay { declared, observed: pace.median(), per_minute: pace.minute_counts() }
    }
}
