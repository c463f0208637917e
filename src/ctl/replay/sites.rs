//! The sites a log is judged for, as if in enforce mode, and which of them a line belongs to.

use crate::ctl::VerbFailure;
use crate::ctl::args::Cli;
use crate::ctl::logs::LogEntry;
use crate::ctl::which_config::{TrialPolicy, trial};
use crate::enforce::Mode;
use crate::identify::Purpose;
use crate::policy::{Policy, Site};
use crate::record::VersionRecord;
use crate::request::{RequestFacts, host};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// How many lines of each kind there are; field names are public API.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::ctl) struct LineCounts {
    /// Those that could not be read, too.
    pub(super) lines: u64,
    pub(super) before_since: u64,
    /// Of a host that none of the sites has.
    pub(in crate::ctl) other_hosts: u64,
    /// No request at all, or none for a path.
    pub(super) no_request: u64,
    /// Lines of a log without the User-Agent.
    pub(in crate::ctl) without_user_agent: u64,
    pub(super) browsers: u64,
    pub(super) apps: u64,
    pub(super) exempt: u64,
    pub(super) off: u64,
    pub(super) judged: u64,
    /// Requests for robots.txt, whoever made them.
    pub(super) robots_txt: u64,
}

/// Policy and sites. The modes of crawlers and of kinds of client stay as configured: enforce mode leaves them.
#[derive(Debug)]
pub(in crate::ctl) struct Sites {
    pub(in crate::ctl) policy: Policy,
    pub(in crate::ctl) all: Vec<Site>,
    /// Whether hosts that no site serves are taken for the only site: nobody said which there are.
    takes_all: bool,
}

impl Sites {
    /// The sites of the configuration; or one alone, which `robots`, `name` and `block` leave of them: the named one, or the
    /// default one, or the only one.
    pub(in crate::ctl) fn load(
        cli: &Cli,
        robots: Option<&Path>,
        name: Option<&str>,
        block: &[Purpose],
        is_one: bool,
    ) -> Result<Self, VerbFailure> {
        if !is_one {
            let policy = trial(cli, None, block, false)?;
            let all = policy.sites().iter().map(|site| enforcing(site)).collect();
            return Ok(Self { policy, all, takes_all: false });
        }
        let TrialPolicy { policy, site, .. } = TrialPolicy::of(cli, robots, name, block, false)?;
        let takes_all = cli.config.is_none() && (robots.is_some() || !block.is_empty());
        Ok(Self { policy, all: vec![enforcing(&site)], takes_all })
    }

    /// A request, and the site that it is judged for. `None`, and counted as what it is, of what is not judged.
    pub(in crate::ctl) fn request<'l>(
        &self,
        entry: &'l LogEntry<&[u8]>,
        since: i64,
        lines: &mut LineCounts,
    ) -> Option<(&Site, RequestFacts<'l>)> {
        lines.lines += 1;
        let kind = match (self.of(entry.host), entry.facts()) {
            _ if entry.at < since => &mut lines.before_since,
            (None, _) => &mut lines.other_hosts,
            (_, None) => &mut lines.no_request,
            _ if entry.agent.is_none() => &mut lines.without_user_agent,
            (Some(site), Some(facts)) => return Some((site, facts)),
        };
        *kind += 1;
        None
    }

    /// The rules in force, for what they say of `Crawl-delay`.
    pub(super) fn versions(&self) -> Vec<VersionRecord> {
        let version = |site: &Site| {
            Some(VersionRecord {
                site: site.config.name.as_str().into(),
                sha256: None,
                id: Some(site.version()?),
                bytes: site.robots.as_ref().map(|file| Arc::from(file.bytes.as_slice())),
                from: UNIX_EPOCH,
                until: None,
            })
        };
        self.all.iter().filter_map(version).collect()
    }

    /// The site of a host. Lines that name none are of the only site, or of the default one.
    fn of(&self, named: Option<&[u8]>) -> Option<&Site> {
        let named = named.and_then(|named| std::str::from_utf8(named).ok());
        match (named.filter(|named| !named.is_empty() && !self.takes_all), &self.all[..]) {
            (None, [only]) => Some(only),
            (None, all) => all.iter().find(|site| site.config.hosts.is_empty()),
            (Some(named), all) => {
                let site = self.policy.site(&host::normalise(named))?;
                all.iter().find(|ours| ours.config.name == site.config.name)
            }
        }
    }
}

fn enforcing(site: &Site) -> Site {
    let mut site = site.clone();
    if site.modes.general() == Mode::Audit {
        site.modes = site.modes.with_others(Mode::Enforce);
    }
    site
}
