//! From rows to the rules of a policy's hosts.

use super::NoticeHistory;
use crate::decide::{Doubt, KnownVersion, NoticeTime, RobotsVersion, SiteRules, VersionId};
use crate::policy::hosts::Hosts;
use crate::policy::{Policy, Site};
use crate::record::{FileDigest, RowVersion, ServedVersions, kept_robots};
use crate::robots::Robots;
use std::sync::Arc;
use std::time::Duration;

impl NoticeHistory {
    /// A file, compiled once. No file allows everything; one whose bytes are lost or damaged is unknown.
    pub(super) fn version(&mut self, file: &FileDigest) -> KnownVersion {
        if let Some(known) = self.compiled.get(file) {
            return Ok(Arc::clone(known));
        }
        let version = match file {
            None => RobotsVersion::allowing_everything(),
            Some(name) => {
                let bytes = kept_robots(&self.path, name).ok_or(Doubt::Lost)?;
                let robots = Robots::parse(&bytes, &self.limits).robots;
                Arc::new(RobotsVersion::new(Some(VersionId::of(&bytes)), Arc::new(robots)))
            }
        };
        self.compiled.insert(file.clone(), Arc::clone(&version));
        Ok(version)
    }

    /// Builds the policy's table of hosts out of the rows.
    pub(super) fn give_past(&mut self, policy: &mut Policy) {
        // Nobody who reads what this policy serves is known to have read it after the end of what ends later.
        let as_of = self.own.clock.now();
        policy.clock = self.own.clock;
        policy.known_until = Arc::clone(&self.known_until);
        let all = self.own.processes().chain(self.own.members.values());
        let names = all.flat_map(|rows| rows.0.keys()).cloned().collect();
        let hosts = Hosts::new(&policy.sites, names, |name, site| self.rules(name, site, as_of));
        for site in &mut policy.sites {
            let since = |name: Box<str>| hosts.slots.iter().find(|slot| slot.pattern == name)?.rules.since;
            let since = site.config.patterns().find_map(since);
            if let Some(since) = since.filter(|since| *since != site.since) {
                *site = Arc::new(Site { since, ..(**site).clone() });
            }
        }
        policy.hosts = hosts;
        self.compiled.retain(|_, version| Arc::strong_count(version) > 1);
    }

    fn rules(&mut self, pattern: &str, site: Option<&Site>, as_of: NoticeTime) -> SiteRules {
        let nothing = RobotsVersion::allowing_everything();
        let current = site.map_or(&nothing, |site| site.rules.current());
        let mut rows = self.own.hosts.of(pattern).cloned().unwrap_or_default();
        let served = site.map_or_else(no_file, version_of);
        // What was served before these rules ends when they come into force: no read under them is of later.
        rows.close(|version| *version == served, as_of.after(Duration::from_micros(1)));
        rows.add(&Self::rows(pattern, self.own.others.values().chain(self.own.members.values())));
        rows.prune(self.period(), as_of);
        let waivers = self.own.waivers(pattern).collect();
        let rules = SiteRules { waivers, ..rows.rules(current, as_of, |file| self.version(file)) };
        // What no row says is served cannot be held against anybody.
        let is_recorded = self.folder.is_some() && rules.since.is_some();
        let is_judged = site.is_some_and(|site| !site.is_unknown);
        if is_judged && !is_recorded { rules.with_unknown(Doubt::Unrecorded, None) } else { rules }
    }
}

pub(super) fn file_of(site: &Site) -> FileDigest {
    site.robots.as_ref().map(|file| file.digest.clone())
}

/// What a site serves. What passes the gateway by is something unknown.
pub(in crate::policy) fn version_of(site: &Site) -> RowVersion {
    if site.is_unknown {
        return RowVersion::Unknown(Doubt::Before);
    }
    RowVersion::Known { rules: site.rules.current().rules, file: file_of(site) }
}

/// What hosts get that nobody names.
fn no_file() -> RowVersion {
    RowVersion::Known { rules: RobotsVersion::allowing_everything().rules, file: None }
}

/// What a policy serves. Hosts that nobody names any more get no file, which allows everything (RFC 9309 §2.3.1.3).
pub(in crate::policy) fn served(policy: &Policy) -> ServedVersions {
    let sites = policy.sites().iter();
    let at =
        sites.flat_map(|site| site.config.patterns().map(move |name| (name, version_of(site)))).collect();
    ServedVersions { at, elsewhere: Some(no_file()) }
}
