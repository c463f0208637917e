//! Configuration → [`Policy`], or every fault found. Daemon, reload and `gatewayctl check` load alike.

use super::robots_file::{RobotsFile, Unfit};
use super::site::{HostTable, Site};
use super::{Policy, resolve};
use crate::config::{Config, ConfigError, ConfigErrors, SiteConfig, catalogue};
use crate::decide::{SiteRules, Version};
use crate::enforce::Modes;
use crate::identify::Identifier;
use crate::robots::{Finding, Limits, Robots};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Why a policy cannot be loaded.
pub type LoadError = ConfigErrors;

/// Loads everything as the daemon would.
///
/// # Errors
/// Every fault of every file, where the first version of a robots.txt is unfit too.
pub fn check(config: Config, now: SystemTime) -> Result<Policy, LoadError> {
    let loaded = load(config, None, Acceptance::default(), now)?;
    if loaded.unfit.is_empty() { Ok(loaded.policy) } else { Err(ConfigErrors(loaded.unfit)) }
}

/// Which accidents the operator says are meant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acceptance {
    pub(super) empty: bool,
}

/// A policy, and the robots.txt files that may not come into force.
pub(super) struct Loaded {
    pub(super) policy: Policy,
    pub(super) unfit: Vec<ConfigError>,
}

/// Builds the policy that follows `previous`.
pub(super) fn load(
    config: Config,
    previous: Option<&Policy>,
    acceptance: Acceptance,
    now: SystemTime,
) -> Result<Loaded, LoadError> {
    let (identifier, catalogue) = identifier(config.catalogue.as_deref(), previous)?;
    let renewed = previous.is_some_and(|policy| !Arc::ptr_eq(&policy.identifier, &identifier));
    let (mut sites, mut unfit, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for site in &config.sites {
        let former = previous.and_then(|policy| policy.named(&site.name)).map(|site| &**site);
        let loading = Loading { config: &config, site, former, renewed, acceptance, now };
        match loading.site() {
            Ok((site, error)) => {
                unfit.extend(error);
                sites.push(Arc::new(site));
            }
            Err(error) => faults.push(error),
        }
    }
    if !faults.is_empty() {
        faults.extend(unfit);
        return Err(ConfigErrors(faults));
    }
    let hosts = HostTable::new(sites.iter().map(|site| site.config.hosts.as_slice()));
    let generation = previous.map_or(1, |policy| policy.generation + 1);
    let policy = Policy { generation, config: Arc::new(config), identifier, catalogue, sites, hosts };
    Ok(Loaded { policy, unfit })
}

/// The identifier, and the text it was made of; the former one where nothing has changed.
fn identifier(
    path: Option<&Path>,
    previous: Option<&Policy>,
) -> Result<(Arc<Identifier>, Option<String>), LoadError> {
    let text = match path {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|error| ConfigError::whole(path, format!("cannot read the catalogue: {error}")))?,
        ),
        None => None,
    };
    if let Some(policy) = previous.filter(|policy| policy.catalogue == text) {
        return Ok((Arc::clone(&policy.identifier), text));
    }
    let knowledge = match (&text, path) {
        (Some(text), Some(path)) => catalogue::merge(text, path).map_err(|errors| faults(&errors))?,
        _ => catalogue::bundled(),
    };
    let identifier = Identifier::new(knowledge)
        .map_err(|error| ConfigError::whole(path.unwrap_or_else(|| Path::new("")), error.to_string()))?;
    Ok((Arc::new(identifier), text))
}

fn faults(errors: &[catalogue::FileError]) -> ConfigErrors {
    let faults = errors.iter().map(|error| ConfigError {
        path: error.path.clone(),
        position: Some((error.line, error.column)),
        message: error.message.clone(),
        hint: error.hint.clone(),
    });
    ConfigErrors(faults.collect())
}

/// One site on its way into a policy.
struct Loading<'a> {
    config: &'a Config,
    site: &'a SiteConfig,
    former: Option<&'a Site>,
    renewed: bool,
    acceptance: Acceptance,
    now: SystemTime,
}

/// What a robots.txt on disk amounts to.
struct Fresh {
    file: Option<Arc<RobotsFile>>,
    version: Arc<Version>,
    findings: Arc<[Finding]>,
}

impl Loading<'_> {
    /// The site and, where its robots.txt is unfit, why. An unfit file leaves the last good version in
    /// force; without one there is no site.
    fn site(&self) -> Result<(Site, Option<ConfigError>), ConfigError> {
        let origin = self.origin()?;
        let unfit = match self.fresh() {
            Ok(fresh) => return Ok((self.assembled(fresh, origin), None)),
            Err(unfit) => unfit,
        };
        let path = self.site.robots.clone().unwrap_or_default();
        let error = ConfigError::whole(&path, unfit.to_string());
        let Some(former) = self.former.filter(|former| former.robots.is_some()) else {
            return Err(error.with_hint(unfit.hint()));
        };
        let hint = unfit.hint_while_running();
        let mut site = self.assembled(Fresh::kept(former), origin);
        site.error = Some(format!("{}: {unfit}; {hint}", path.display()));
        Ok((site, Some(error.with_hint(hint))))
    }

    fn origin(&self) -> Result<Vec<std::net::SocketAddr>, ConfigError> {
        let former = self.former.filter(|former| former.config.origin == self.site.origin);
        match (resolve::resolve(&self.site.origin), former) {
            (Ok(addresses), _) => Ok(addresses),
            // A name server that is down for a moment must not undo a site that works.
            (Err(_), Some(former)) => Ok(former.origin.clone()),
            (Err(error), None) => {
                let path = self.config.path.clone().unwrap_or_default();
                Err(ConfigError::whole(
                    &path,
                    format!("cannot resolve origin `{}`: {error}", self.site.origin),
                ))
            }
        }
    }

    fn fresh(&self) -> Result<Fresh, Unfit> {
        let Some(path) = &self.site.robots else { return Ok(Fresh::absent()) };
        let read = RobotsFile::read(path);
        let file = match read {
            Ok(file) => file,
            Err(unfit) if unfit.can_be_meant() && self.may_be_empty(path) => RobotsFile::meant_empty(path),
            Err(unfit) => return Err(unfit),
        };
        if let Some(former) = self.former.filter(|former| former.version() == Some(file.id))
            && former.config.robots == self.site.robots
        {
            return Ok(Fresh::kept(former));
        }
        let limits = Limits { max_bytes: self.config.robots_max_size };
        let parsed = Robots::parse(&file.bytes, &limits);
        match file.fitness(&parsed.robots) {
            Err(unfit) if !(unfit.can_be_meant() && self.may_be_empty(path)) => return Err(unfit),
            _ => {}
        }
        let version = Version::new(Some(file.id), Arc::new(parsed.robots));
        Ok(Fresh { file: Some(Arc::new(file)), version: Arc::new(version), findings: parsed.findings.into() })
    }

    /// Empty is meant when the operator says so, or has said so of the version in force.
    fn may_be_empty(&self, path: &Path) -> bool {
        let in_force_is_empty = self.former.and_then(|former| former.robots.as_deref());
        self.acceptance.empty
            || in_force_is_empty.is_some_and(|file| file.bytes.is_empty() && file.path == path)
    }

    fn assembled(&self, fresh: Fresh, origin: Vec<std::net::SocketAddr>) -> Site {
        let (rules, since) = self.rules(&fresh);
        Site {
            config: self.site.clone(),
            modes: Modes {
                site: self.site.mode.unwrap_or(self.config.mode),
                clients: self.config.clients.clone(),
                crawlers: self.config.crawlers.clone(),
            },
            rules,
            robots: fresh.file,
            since,
            origin,
            findings: fresh.findings,
            error: None,
        }
    }

    fn rules(&self, fresh: &Fresh) -> (SiteRules, SystemTime) {
        let Some(former) = self.former else {
            let modified = fresh.file.as_ref().and_then(|file| file.modified);
            let since = modified.filter(|time| *time < self.now).unwrap_or(self.now);
            return (SiteRules::new(Arc::clone(&fresh.version)), since);
        };
        let rules = if self.renewed { former.rules.renewed() } else { former.rules.clone() };
        if fresh.version.id == former.version() {
            return (rules, former.since);
        }
        (rules.replaced_by(Arc::clone(&fresh.version), self.now, self.config.period.notice), self.now)
    }
}

impl Fresh {
    /// A site without a file: nothing is disallowed.
    fn absent() -> Self {
        let parsed = Robots::parse(b"", &Limits::default());
        let version = Version::new(None, Arc::new(parsed.robots));
        Self { file: None, version: Arc::new(version), findings: Arc::new([]) }
    }

    /// What is in force already.
    fn kept(former: &Site) -> Self {
        Self {
            file: former.robots.clone(),
            version: Arc::clone(former.rules.current()),
            findings: Arc::clone(&former.findings),
        }
    }
}
