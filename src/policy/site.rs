//! One site, ready to serve and to judge.

use super::Policy;
use super::modes::Modes;
use super::replies::Replies;
use super::robots_file::RobotsFile;
use super::upstream::Upstreams;
use crate::config::SiteConfig;
use crate::decide::{RobotsVersion, SiteRules, VersionId};
use crate::identify::Recognised;
use crate::robots::{Finding, LineSource, ParseLimits, Robots, Severity, generated_from};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A site with its compiled rules.
#[derive(Clone, Debug)]
pub struct Site {
    /// What the operator chose for it.
    pub config: SiteConfig,
    /// Its modes.
    pub modes: Modes,
    /// The version in force. What visitors of each host could hold beside it the policy's hosts know.
    pub rules: SiteRules,
    /// The file it serves as `/robots.txt`; `None` answers 404.
    pub robots: Option<Arc<RobotsFile>>,
    /// When the version in force came into force.
    pub since: SystemTime,
    /// The servers of its origin.
    pub origin: Upstreams,
    /// What is odd in its robots.txt.
    pub findings: Arc<[Finding]>,
    /// What was told to those who were refused.
    pub replies: Replies,
    /// Whether nothing is known of what its origin has yet: then nobody is judged, and `/robots.txt` is the origin's.
    pub is_unknown: bool,
    /// Why its robots.txt on disk is not the one in force.
    pub error: Option<String>,
}

impl Site {
    /// The same site serving a file under the catalogue and the bounds of a policy, or none: then nothing is disallowed.
    pub(super) fn serving(&self, file: Option<Arc<RobotsFile>>, policy: &Policy) -> Self {
        let (catalogue, max_bytes) = (policy.identifier.catalogue(), *policy.config.robots_max_size);
        let limits = ParseLimits { max_bytes };
        let (version, findings) = match &file {
            None => (RobotsVersion::allowing_everything(), Vec::new()),
            Some(file) => {
                let mut parsed = Robots::parse_composed(&file.bytes, generated_from(&file.sections), &limits);
                parsed.compare_names(catalogue.names(), catalogue.control_names());
                (Arc::new(RobotsVersion::new(Some(file.id), Arc::new(parsed.robots))), parsed.findings)
            }
        };
        let rules = SiteRules::new(version);
        Self { rules, robots: file, findings: findings.into(), ..self.clone() }
    }

    /// The version in force, where the site has a file.
    pub fn version(&self) -> Option<VersionId> {
        self.rules.current().id
    }

    /// Who sends this header. Equal headers give equal answers, as long as policy and site are the same.
    pub fn recognise(&self, policy: &Policy, user_agent: Option<&[u8]>) -> Recognised {
        let at_first = policy.identifier.recognise(user_agent);
        let identity = self.rules.current().tokens.applied(&at_first, user_agent);
        Recognised { at_first, identity }
    }

    /// The same site judging by `bytes` as if they had been in force for ever: what the tools ask "what
    /// if" with.
    pub fn judging_by(&self, bytes: &[u8], limits: &ParseLimits) -> Self {
        let robots = Robots::parse(bytes, limits).robots;
        let version = RobotsVersion::new(Some(VersionId::of(bytes)), Arc::new(robots));
        Self { rules: SiteRules::new(Arc::new(version)), is_unknown: false, ..self.clone() }
    }

    /// Findings that an operator should act on.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity >= Severity::Warning)
    }

    /// The part of its robots.txt that a finding stands in, and its line there: none in what nobody wrote.
    pub fn place_of(&self, finding: &Finding) -> (&Path, Option<u32>) {
        let robots = &self.config.robots;
        let own = robots.file.as_deref().unwrap_or_else(|| Path::new("robots.txt of the origin"));
        match self.robots.as_ref().map(|file| file.place(finding.line)) {
            None => (own, Some(finding.line)),
            Some((LineSource::Own, line)) => (own, Some(line)),
            Some((LineSource::Additions, line)) => (robots.additions.as_deref().unwrap_or(own), Some(line)),
            Some((LineSource::Joint | LineSource::Block(_), _)) => (own, None),
        }
    }

    /// The URL at which the rules can be read. It is made of the configured host, never of what a client
    /// sent; where no single host is configured it is relative.
    pub fn robots_url(&self, scheme: &str) -> String {
        self.config
            .exact_host()
            .map_or_else(|| "/robots.txt".to_owned(), |host| [scheme, "://", host, "/robots.txt"].concat())
    }
}
