//! The origin's word for what its hosts were given before the gateway stood in front of it.

use crate::decide::{NoticeTime, RulesId};
use crate::policy::Site;
use crate::policy::robots_file::fitness;
use crate::record::{BeforeEntry, Change, digest};
use crate::robots::{Limits, Robots};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The robots.txt that the origin itself serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginWord {
    /// Its bytes; none where it has no such file, or could not be asked.
    pub bytes: Option<Vec<u8>>,
    /// Its `Last-Modified`.
    pub modified: Option<SystemTime>,
}

impl OriginWord {
    /// What is to be noted of the hosts `names` of `site`; nothing where the origin's word says nothing.
    ///
    /// Other rules are what was there before. The same rules are no change for anybody, if they have been there for
    /// as long as a copy may be kept.
    pub(super) fn changes(
        &self,
        site: &Site,
        limits: Limits,
        notice: Duration,
        unknown_until: impl Fn(&str) -> Option<NoticeTime>,
        names: &[Box<str>],
    ) -> Vec<Change> {
        let Some(bytes) = self.bytes.as_deref().filter(|bytes| !bytes.is_empty()) else { return Vec::new() };
        let robots = Robots::parse(bytes, &limits).robots;
        if names.is_empty() || fitness(bytes, &robots).is_err() {
            return Vec::new();
        }
        let is_same = RulesId::of(&robots) == site.rules.current().rules;
        let age =
            self.modified.map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
        let mut hosts = BTreeMap::new();
        for name in names {
            let Some(until) = unknown_until(name) else { continue };
            let (file, until) = match age {
                _ if !is_same => (Some(digest(bytes)), until),
                Some(age) if age >= notice => (Some(digest(bytes)), until),
                Some(age) => (None, until.before(age)),
                None => continue,
            };
            let replaced = u64::try_from(until.0.as_micros()).unwrap_or(u64::MAX);
            hosts.insert(name.clone(), BeforeEntry { file, replaced });
        }
        if hosts.is_empty() {
            return Vec::new();
        }
        vec![Change::file(bytes), Change::Before { hosts }]
    }
}
