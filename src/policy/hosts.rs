//! From the host of a request to its site, and to the rules that visitors of that host are judged by.

use super::Site;
use crate::decide::{RobotsVersion, SiteRules};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Hosts that share a site and a past.
#[derive(Clone, Debug)]
pub struct HostSlot {
    /// `example.org`, `*.example.org`, or `*` for every other host.
    pub pattern: Box<str>,
    /// Their site, by its index; none where they were served once and are no more.
    pub site: Option<usize>,
    /// What their visitors are judged by.
    pub rules: SiteRules,
}

/// All hosts.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    table: HostTable,
    /// Every pattern that is served, or was.
    pub slots: Vec<HostSlot>,
}

impl Hosts {
    /// Hosts without a past.
    pub(super) fn plain(sites: &[Arc<Site>]) -> Self {
        let nothing = RobotsVersion::allowing_everything();
        let current = |site: Option<&Site>| Arc::clone(site.map_or(&nothing, |site| site.rules.current()));
        Self::new(sites, BTreeSet::new(), |_, site| SiteRules::new(current(site)))
    }

    /// The hosts of these sites, and others that have a past, with the rules of each.
    pub(super) fn new(
        sites: &[Arc<Site>],
        others: BTreeSet<Box<str>>,
        mut rules: impl FnMut(&str, Option<&Site>) -> SiteRules,
    ) -> Self {
        let patterns = sites.iter().map(|site| site.config.patterns());
        let own: Vec<_> =
            patterns.zip(0..).flat_map(|(patterns, index)| patterns.map(move |one| (one, index))).collect();
        let by_site = HostTable::new(own.iter().map(|(pattern, index)| (pattern, *index)));
        let names: BTreeSet<Box<str>> = own.into_iter().map(|(pattern, _)| pattern).chain(others).collect();
        let slot = |pattern: Box<str>| {
            let site = by_site.find(&pattern);
            let rules = rules(&pattern, site.and_then(|index| sites.get(index)).map(|site| &**site));
            HostSlot { pattern, site, rules }
        };
        let slots: Vec<HostSlot> = names.into_iter().map(slot).collect();
        Self { table: HostTable::new(slots.iter().map(|slot| &*slot.pattern).zip(0..)), slots }
    }

    /// Where the slot of `host` stands, which is in normal form: exact, then the longest wildcard, then the default
    /// site. None where nobody serves it.
    pub fn find(&self, host: &str) -> Option<usize> {
        self.table.find(host).filter(|index| self.slots.get(*index).is_some_and(|slot| slot.site.is_some()))
    }
}

/// From hosts to indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct HostTable {
    /// By what hosts end in: `example.org` itself, and `.example.org` for all below it.
    ends: HashMap<Box<str>, usize>,
    /// Of every other host.
    others: Option<usize>,
}

impl HostTable {
    /// A table of these patterns and their indexes; `*` is every other host.
    pub(super) fn new(patterns: impl IntoIterator<Item = (impl AsRef<str>, usize)>) -> Self {
        let end = |pattern: &str| pattern.strip_prefix('*').unwrap_or(pattern).into();
        let mut ends: HashMap<Box<str>, usize> =
            patterns.into_iter().map(|(pattern, index)| (end(pattern.as_ref()), index)).collect();
        Self { others: ends.remove(""), ends }
    }

    /// The index of `host`: exact, then the longest wildcard, then every other host's.
    pub(super) fn find(&self, host: &str) -> Option<usize> {
        let dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
        let mut below = dots.filter_map(|(at, _)| self.ends.get(host.get(at..)?));
        self.ends.get(host).or_else(|| below.next()).copied().or(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::patterns;

    #[test]
    fn exact_wins_over_wildcard_and_wildcard_over_default() {
        let names = ["example.org", "*.example.org", "*.deep.example.org", "*"];
        let table = HostTable::new(names.into_iter().zip(0..));
        let find = |host| table.find(host).map(|index| names[index]);
        assert_eq!(find("example.org"), Some("example.org"));
        assert_eq!(find("a.example.org"), Some("*.example.org"));
        assert_eq!(find("a.b.example.org"), Some("*.example.org"));
        assert_eq!(find("a.deep.example.org"), Some("*.deep.example.org"));
        assert_eq!(find("deep.example.org"), Some("*.example.org"));
        assert_eq!(find("example.com"), Some("*"));
        assert_eq!(find("badexample.org"), Some("*"));
        for host in ["example.org", "a.example.org", "a.b.deep.example.org", "example.com", "x"] {
            let by_patterns = patterns(host).find(|pattern| names.contains(&&**pattern));
            assert_eq!(by_patterns.as_deref(), find(host), "{host}");
        }
    }

    #[test]
    fn without_a_default_a_strange_host_is_nobodys() {
        assert_eq!(HostTable::new([("example.org", 0)]).find("example.com"), None);
    }
}
