//! Everything a request needs, in one immutable value, and the one place where it is replaced.
//!
//! A request takes its [`Policy`] once and keeps it to the end, so it never sees two. [`Reloader`] builds
//! the next one from the files and swaps it in; what may not replace a good policy does not.

mod certificates;
mod changes;
mod current;
mod expiry;
mod history;
mod hosts;
mod in_force;
mod judge;
mod load;
mod overrides;
mod proof;
mod reload;
mod replies;
mod restart;
mod robots_file;
mod setting;
mod site;
mod turn;
mod upstream;
mod watch;

pub use certificates::{Certificates, Shown};
pub use changes::{Fault, ReloadReport, ReloadResult, SiteChange};
pub use current::{CurrentPolicy, HeldPolicy};
pub use expiry::Validity;
pub use history::{BindError, History, OriginWord, SiteNotice, take_up_reads};
pub use hosts::{HostSlot, Hosts};
pub use in_force::{Because, ModeInForce, SiteModes, Whom};
pub use judge::{Judged, judge, judge_as, judge_recognised};
pub use load::{LoadError, check, recogniser, trial};
pub use overrides::{Override, Scope};
pub use proof::{
    Claim, Evidence, Examination, Fetched, Prover, Publisher, QuestionCounts, RangeList, RangeSource,
    Refreshed, examine, refresh_regularly,
};
pub use reload::{Busy, LastReload, ReloadCounts, Reloader, Trigger};
pub use replies::{Occasion, Replies};
pub use robots_file::{RobotsFile, Unfit, fitness};
pub use setting::ModeError;
pub use site::Site;
pub use upstream::{Failure, Upstream, Upstreams};
pub use watch::watch;

use crate::config::{Config, HostPattern, SiteConfig};
use crate::decide::SiteRules;
use crate::identify::Identifier;
use crate::record::NoticeClock;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Configuration, recognition and the compiled rules of all sites.
#[derive(Debug)]
pub struct Policy {
    /// Rises by one with every policy that comes into force.
    pub generation: u64,
    /// When it was built, a moment before it came into force.
    pub since: SystemTime,
    /// What the operator chose.
    pub config: Arc<Config>,
    /// Recognises clients.
    pub identifier: Arc<Identifier>,
    /// What TLS shows.
    pub certificates: Certificates,
    /// What crawlers are proved by.
    pub evidence: Arc<Evidence>,
    /// The operator's own catalogue as last read, to tell whether it changed.
    catalogue: Option<String>,
    /// The clock that notice runs by.
    pub clock: NoticeClock,
    sites: Vec<Arc<Site>>,
    hosts: Hosts,
    /// Whether any site could refuse anybody.
    may_refuse: bool,
}

/// Whether any of `sites` could refuse anybody.
fn may_refuse(sites: &[Arc<Site>]) -> bool {
    sites.iter().any(|site| site.modes.may_refuse())
}

impl Policy {
    /// The site that serves `host`, which is in normal form: exact, then the longest wildcard, then the
    /// default site.
    #[must_use]
    pub fn site(&self, host: &str) -> Option<&Arc<Site>> {
        let slot = self.hosts.slots().get(self.hosts.find(host)?)?;
        self.sites.get(slot.site?)
    }

    /// The site of a slot of [`Self::hosts`], and the rules of its hosts.
    #[must_use]
    pub fn found(&self, slot: Option<usize>) -> Option<(&Site, &SiteRules)> {
        let slot = self.hosts.slots().get(slot?)?;
        Some((self.sites.get(slot.site?)?, &slot.rules))
    }

    /// All hosts, with the site and the rules of each.
    #[must_use]
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// All sites in the order of the configuration.
    #[must_use]
    pub fn sites(&self) -> &[Arc<Site>] {
        &self.sites
    }

    /// Whether anybody could be refused anything.
    #[must_use]
    pub const fn may_refuse(&self) -> bool {
        self.may_refuse
    }

    /// The site that `next` follows: one that shares a host with it or else, for hosts that were nobody's
    /// own, the site that served them. Crawlers hold copies of what their host served, whatever the site was
    /// called.
    fn before(&self, next: &SiteConfig) -> Option<&Arc<Site>> {
        if next.hosts.is_empty() {
            return self.sites.iter().find(|site| site.config.hosts.is_empty());
        }
        let shares = |site: &&Arc<Site>| site.config.hosts.iter().any(|host| next.hosts.contains(host));
        let served = || {
            let mut exact = next.hosts.iter().filter_map(|host| match host {
                HostPattern::Exact(name) => Some(name),
                HostPattern::Below(_) => None,
            });
            exact.find_map(|name| self.site(name))
        };
        self.sites.iter().find(shares).or_else(served)
    }

    /// Every file whose change is to be noticed.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.config.files().chain(self.evidence.files())
    }

    fn named(&self, name: &str) -> Option<&Arc<Site>> {
        self.sites.iter().find(|site| site.config.name == name)
    }
}
