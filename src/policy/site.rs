//! One site, ready to serve and to judge, and the table that finds a site by host.

use super::Policy;
use super::replies::Replies;
use super::robots_file::RobotsFile;
use super::upstream::Upstreams;
use crate::config::{HostPattern, SiteConfig};
use crate::decide::{SiteRules, Version, VersionId};
use crate::enforce::Modes;
use crate::identify::Recognised;
use crate::robots::{Finding, Limits, Robots, Severity};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

/// A site with its compiled rules.
#[derive(Clone, Debug)]
pub struct Site {
    /// What the operator chose for it.
    pub config: SiteConfig,
    /// Its modes.
    pub modes: Modes,
    /// The rules its visitors are judged by.
    pub rules: SiteRules,
    /// The file it serves as `/robots.txt`; `None` answers 404.
    pub robots: Option<Arc<RobotsFile>>,
    /// When the version in force came into force, as far as this process knows.
    pub since: SystemTime,
    /// The servers of its origin.
    pub origin: Upstreams,
    /// What is odd in its robots.txt.
    pub findings: Arc<[Finding]>,
    /// What was told to those who were refused.
    pub replies: Replies,
    /// Why its robots.txt on disk is not the one in force.
    pub error: Option<String>,
}

impl Site {
    /// The version in force, where the site has a file.
    #[must_use]
    pub fn version(&self) -> Option<VersionId> {
        self.rules.current().id
    }

    /// Who sends this header. Equal headers give equal answers, as long as policy and site are the same.
    #[must_use]
    pub fn recognise(&self, policy: &Policy, user_agent: Option<&[u8]>) -> Recognised {
        self.rules.current().tokens.recognise(user_agent, &policy.identifier)
    }

    /// The same site judging by `bytes` as if they had been in force for ever: what the tools ask "what
    /// if" with.
    #[must_use]
    pub fn judging_by(&self, bytes: &[u8], limits: &Limits) -> Self {
        let parsed = Robots::parse(bytes, limits);
        let version = Version::new(Some(VersionId::of(bytes)), Arc::new(parsed.robots));
        Self { rules: SiteRules::new(Arc::new(version)), findings: parsed.findings.into(), ..self.clone() }
    }

    /// Findings that an operator should act on.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity >= Severity::Warning)
    }

    /// The URL at which the rules can be read. It is made of the configured host, never of what a client
    /// sent; where no single host is configured it is relative.
    #[must_use]
    pub fn robots_url(&self, scheme: &str) -> String {
        let exact = self.config.hosts.iter().find_map(|host| match host {
            HostPattern::Exact(name) => Some(name),
            HostPattern::Below(_) => None,
        });
        exact.map_or_else(|| "/robots.txt".to_owned(), |host| [scheme, "://", host, "/robots.txt"].concat())
    }
}

/// Host names → index of a site.
#[derive(Clone, Debug, Default)]
pub struct HostTable {
    exact: HashMap<Box<str>, usize>,
    below: HashMap<Box<str>, usize>,
    default: Option<usize>,
}

impl HostTable {
    /// Builds the table; `sites` yields each site's hosts in order.
    pub fn new<'a>(sites: impl IntoIterator<Item = &'a [HostPattern]>) -> Self {
        let mut table = Self::default();
        for (index, hosts) in sites.into_iter().enumerate() {
            if hosts.is_empty() {
                table.default = Some(index);
            }
            for host in hosts {
                match host {
                    HostPattern::Exact(name) => table.exact.insert(name.clone(), index),
                    HostPattern::Below(domain) => table.below.insert(domain.clone(), index),
                };
            }
        }
        table
    }

    /// The site of `host`: exact, then the longest wildcard, then the default.
    #[must_use]
    pub fn find(&self, host: &str) -> Option<usize> {
        if let Some(index) = self.exact.get(host) {
            return Some(*index);
        }
        if !self.below.is_empty() {
            let mut rest = host;
            while let Some((_, domain)) = rest.split_once('.') {
                if let Some(index) = self.below.get(domain) {
                    return Some(*index);
                }
                rest = domain;
            }
        }
        self.default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sites: &[&[&str]]) -> HostTable {
        let sites: Vec<Vec<HostPattern>> =
            sites.iter().map(|hosts| hosts.iter().map(|host| host.parse().unwrap()).collect()).collect();
        HostTable::new(sites.iter().map(Vec::as_slice))
    }

    #[test]
    fn exact_wins_over_wildcard_and_wildcard_over_default() {
        let table = table(&[&["example.org"], &["*.example.org"], &["*.deep.example.org"], &[]]);
        assert_eq!(table.find("example.org"), Some(0));
        assert_eq!(table.find("a.example.org"), Some(1));
        assert_eq!(table.find("a.b.example.org"), Some(1));
        assert_eq!(table.find("a.deep.example.org"), Some(2));
        assert_eq!(table.find("deep.example.org"), Some(1));
        assert_eq!(table.find("example.com"), Some(3));
        assert_eq!(table.find("badexample.org"), Some(3));
    }

    #[test]
    fn without_a_default_a_strange_host_is_nobodys() {
        assert_eq!(table(&[&["example.org"]]).find("example.com"), None);
    }
}
