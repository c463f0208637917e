//! Elements of one name: what a crawler did at all sites, whatever its proof.

use super::ReportEntry;
use super::conduct::Conduct;
use crate::identify::Proof;
use std::collections::BTreeMap;

/// All elements of one name. Upper and lower case are one (RFC 9309 §2.2.1).
#[derive(Clone, Debug, Default)]
pub struct NamedEntries<'r> {
    /// In the order of the report.
    pub entries: Vec<&'r ReportEntry>,
}

impl<'r> NamedEntries<'r> {
    /// One for each name, those whose first element comes first in the report first.
    pub fn all(entries: impl Iterator<Item = &'r ReportEntry>) -> Vec<Self> {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut found: Vec<Self> = Vec::new();
        for entry in entries {
            let place = *places.entry(entry.subject.name().to_ascii_lowercase()).or_insert(found.len());
            match found.get_mut(place) {
                Some(known) => known.entries.push(entry),
                None => found.push(Self { entries: vec![entry] }),
            }
        }
        found
    }

    /// As most requests of one element wrote it.
    pub fn name(&self) -> &'r str {
        let most = self.entries.iter().map(|entry| (entry.requests, entry.subject.name())).max();
        most.map_or("", |(_, name)| name)
    }

    /// What the elements come to.
    pub fn sum(&self, count: impl Fn(&ReportEntry) -> u64) -> u64 {
        self.entries.iter().map(|entry| count(entry)).sum()
    }

    /// As [`Self::sum`], of requests whose name is confirmed.
    pub(super) fn confirmed(&self, count: impl Fn(&ReportEntry) -> u64) -> u64 {
        self.sum(|entry| if entry.subject.proof == Proof::Confirmed { count(entry) } else { 0 })
    }

    /// What can be said of the name in one word. Only where no read was seen at any site is that said of it.
    pub fn conduct(&self) -> Conduct {
        let has = |conduct| self.entries.iter().any(|entry| entry.violations > 0 && entry.conduct == conduct);
        let first = [Conduct::Ignored, Conduct::Unknown, Conduct::NoReadSeen, Conduct::Hypothetical];
        let is_silent = self.sum(|entry| entry.requests) == 0;
        let otherwise = match (is_silent, self.sum(|entry| entry.stale)) {
            (true, _) => Conduct::Unknown,
            (false, 0) => Conduct::Obeyed,
            (false, _) => Conduct::Excused,
        };
        first.into_iter().find(|conduct| has(*conduct)).unwrap_or(otherwise)
    }
}
