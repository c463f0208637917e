//! Configuration → [`Policy`], or every fault found. Daemon, reload and `gatewayctl check` load alike.

use super::publications::published_catalogue;
use super::{
    Certificates, Evidence, Exceptions, FleetGeneration, Hosts, Modes, OriginFiles, Overrides, Policy,
    Replies, RobotsFile, Secret, SetAction, Site, Unfit, Upstreams, Webhook,
};
use crate::config::{Config, ConfigError, ConfigErrors, MOST_BYTES, SiteConfig, catalogue, reading};
use crate::decide::{RobotsVersion, SiteRules};
use crate::identify::Identifier;
use crate::record::NoticeClock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Loads everything as the daemon would.
///
/// # Errors
/// Every fault of every file, where the first version of a robots.txt is unfit too.
pub fn check(config: Config, now: SystemTime) -> Result<Policy, ConfigErrors> {
    first(config, true, now)
}

/// Loads everything for judging only: nobody is ever forwarded, so no name is looked up.
///
/// # Errors
/// As [`check`].
pub fn trial(config: Config, now: SystemTime) -> Result<Policy, ConfigErrors> {
    first(config, false, now)
}

/// A policy that follows none, all of whose files are fit.
fn first(config: Config, is_to_serve: bool, now: SystemTime) -> Result<Policy, ConfigErrors> {
    let origins = OriginFiles::open(&config);
    let options = LoadOptions { accept_empty: false, is_to_serve };
    let (policy, unfit) = load(config, None, &origins, options, now)?;
    if unfit.is_empty() { Ok(policy) } else { Err(ConfigErrors(unfit)) }
}

/// How a policy is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadOptions {
    /// Whether an empty or missing robots.txt is meant.
    pub(super) accept_empty: bool,
    /// Whether requests are forwarded. Else no name of an origin is looked up, and an origin that was never asked has no file:
    /// what is put beside it counts.
    pub(super) is_to_serve: bool,
}

/// Builds the policy that follows `previous`, and says which robots.txt files may not come into force.
pub(super) fn load(
    config: Config,
    previous: Option<&Policy>,
    origins: &OriginFiles,
    options: LoadOptions,
    now: SystemTime,
) -> Result<(Policy, Vec<ConfigError>), ConfigErrors> {
    let (identifier, catalogue, faults) = identifier(&config, previous)?;
    let former = previous.map(|policy| &*policy.evidence);
    let evidence = Evidence::load(&config, identifier.catalogue(), former, faults)?;
    let former = previous.map(|policy| &policy.certificates);
    let (certificates, mut unfit) = Certificates::load(&config.certificates, former)?;
    let secret = config.authorize.as_ref().and_then(|doors| doors.secret_file.as_deref());
    let webhook = config.alerts.as_ref().map(|alerts| &*alerts.webhook_file);
    let action = |set| SetAction::load(set, &config.timeouts, previous).map(Arc::new);
    let mut published =
        config.fleet.as_ref().map(|_| FleetGeneration::load(&config.state_dir)).unwrap_or_default();
    if !options.is_to_serve {
        // Tools ask "what if" with the modes of the configuration.
        published.modes = Overrides::default();
    }
    let mut policy = Policy {
        generation: 1,
        since: now,
        rates: config.rates(),
        actions: config.named(|set| set.action.as_ref()).try_map(action)?,
        exceptions: Exceptions::new(&config, now),
        waiting: Vec::new(),
        identifier,
        certificates,
        evidence: Arc::new(evidence),
        secret: secret.map(Secret::load).transpose()?,
        webhook: webhook.map(Webhook::load).transpose()?,
        catalogue,
        hosts: Hosts::default(),
        clock: NoticeClock::default(),
        known_until: Arc::new(u64::MAX.into()),
        published: Arc::new(published),
        overrides: Overrides::default(),
        in_force: OnceLock::new(),
        sites: Vec::new(),
        config: Arc::new(config),
    };
    let (mut sites, mut faults) = (Vec::new(), Vec::new());
    for (index, site) in policy.config.sites.iter().enumerate() {
        let former = previous.and_then(|policy| policy.before(site)).map(|site| &**site);
        let published = policy.published.robots(&site.name);
        let loading = LoadingSite { policy: &policy, previous, origins, published, site, former, options };
        faults.extend(loading.unknown_exceptions(index));
        match loading.site(&mut unfit) {
            Ok(site) => sites.push(Arc::new(site)),
            Err(error) => faults.push(error),
        }
    }
    if !faults.is_empty() {
        return Err(ConfigErrors(faults.into_iter().chain(unfit).collect()));
    }
    (policy.hosts, policy.sites) = (Hosts::plain(&sites), sites);
    if options.is_to_serve {
        for (site, origin) in policy.origins() {
            // A site is served, its robots.txt above all, while its origin's name has no address yet. The operator is warned,
            // and the address is looked for again.
            for error in origin.unresolved().filter_map(|server| server.resolve_soon().err()) {
                tracing::warn!(site = site.map_or("action", |site| &site.config.name), "{error}");
            }
        }
    }
    Ok((policy.with_modes(Overrides::default()), unfit))
}

/// What recognises clients under this configuration, without the rest of a policy.
///
/// # Errors
/// Every fault of the operator's own catalogue.
pub fn recogniser(config: &Config) -> Result<Arc<Identifier>, ConfigErrors> {
    identifier(config, None).map(|(identifier, ..)| identifier)
}

/// What an identifier was made of beside what is bundled: the published catalogue and the operator's own, and where they lie.
pub(super) type CatalogueTexts = [Option<(String, PathBuf)>; 2];

/// The identifier, and the texts it was made of; the former one where nothing has changed. A published catalogue that is of no
/// use, or does not go with the operator's own, is left out, and told.
fn identifier(
    config: &Config,
    previous: Option<&Policy>,
) -> Result<(Arc<Identifier>, CatalogueTexts, Vec<ConfigError>), ConfigErrors> {
    let own = config.catalogue.file.as_deref();
    let read = |path: &Path| {
        let text = String::from_utf8(reading::contents(path, MOST_BYTES, "catalogue")?);
        let text =
            text.map_err(|error| ConfigError::whole(path, format!("cannot read the catalogue: {error}")));
        Ok::<_, ConfigError>((text?, path.to_owned()))
    };
    let texts = [published_catalogue(config), own.map(read).transpose()?];
    if let Some(policy) =
        previous.filter(|policy| policy.catalogue == texts && policy.cards().all(catalogue::is_as_read))
    {
        return Ok((Arc::clone(&policy.identifier), texts, Vec::new()));
    }
    let [published, beside] = &texts;
    let made_of = |published: &Option<(String, PathBuf)>| {
        let mut knowledge = catalogue::bundled();
        for (text, path) in published.iter().chain(beside) {
            knowledge = catalogue::extend(knowledge, text, path, Some(&config.state_dir))?;
        }
        Identifier::new(knowledge).map_err(|error| {
            vec![ConfigError::whole(own.unwrap_or_else(|| Path::new("")), error.to_string())]
        })
    };
    let (identifier, faults) = match made_of(published) {
        Ok(identifier) => (identifier, Vec::new()),
        Err(faults) if published.is_some() => (made_of(&None).map_err(ConfigErrors)?, faults),
        Err(faults) => return Err(ConfigErrors(faults)),
    };
    Ok((Arc::new(identifier), texts, faults))
}

/// One site on its way into a policy that has all but its sites.
struct LoadingSite<'a> {
    policy: &'a Policy,
    previous: Option<&'a Policy>,
    origins: &'a OriginFiles,
    /// What a fleet published for it.
    published: Option<Vec<u8>>,
    site: &'a SiteConfig,
    former: Option<&'a Site>,
    options: LoadOptions,
}

impl LoadingSite<'_> {
    /// The site. Why its robots.txt is unfit, where it is, is one of the `unfit_files`. An unfit file leaves the last good version in
    /// force; without one there is no site.
    fn site(&self, unfit_files: &mut Vec<ConfigError>) -> Result<Site, ConfigError> {
        let Policy { config, .. } = self.policy;
        let former = self.former.map(|former| &former.origin);
        let site = Site {
            config: self.site.clone(),
            modes: Modes::default(),
            rules: SiteRules::new(RobotsVersion::allowing_everything()),
            robots: None,
            // Until rows say since when.
            since: self.policy.since,
            origin: Upstreams::new(&self.site.origin, &config.timeouts, former)?,
            findings: Arc::new([]),
            replies: Replies::default(),
            is_unknown: false,
            error: None,
        };
        let unfit = match self.fresh(&site) {
            Ok(fresh) => return Ok(fresh),
            Err(unfit) => unfit,
        };
        // What the origin has is no file; the configuration says what becomes of it.
        let is_file = !unfit.path.as_os_str().is_empty();
        let path = if is_file { unfit.path.clone() } else { config.path.clone().unwrap_or_default() };
        let error = ConfigError::whole(&path, unfit.to_string());
        let Some(former) = self.former.filter(|former| former.robots.is_some()) else {
            if self.published.is_none() {
                return Err(error.with_hint(unfit.hint));
            }
            // What a fleet published does not fit what this site puts beside it: its own file is served.
            let why = format!("what the fleet published does not fit this site: {unfit}");
            tracing::error!(site = self.site.name, "{why}");
            let own = LoadingSite { published: None, ..*self };
            return Ok(Site { error: Some(why), ..own.site(&mut Vec::new())? });
        };
        // A gateway that runs can be told that an empty file is meant.
        let more = if unfit.can_be_meant { ", or run `gatewayctl reload --accept-empty`" } else { "" };
        let hint = format!("{}{more}", unfit.hint);
        let why = format!("{}: {unfit}; {hint}", path.display());
        unfit_files.push(error.with_hint(hint));
        Ok(Site { error: Some(why), ..site.serving(former.robots.clone(), self.policy) })
    }

    /// A name that nothing has would shut out what it was to spare.
    fn unknown_exceptions(&self, index: usize) -> impl Iterator<Item = ConfigError> {
        let Policy { config, identifier, .. } = self.policy;
        let words = self.site.robots.except.iter().enumerate();
        words.filter(|(_, word)| !identifier.catalogue().knows(word)).filter_map(move |(at, word)| {
            let message = format!("the catalogue knows no crawler or token `{word}`");
            let hint = "`gatewayctl crawlers` shows their names and tokens";
            config.fault_of(&format!("sites.{index}.robots.except.{at}"), message, hint)
        })
    }

    /// The site's own robots.txt, where it has one.
    fn own(&self) -> Result<Option<RobotsFile>, Unfit> {
        let of_origin = || self.site.robots.origin().and_then(|_| self.origins.file(self.site)?);
        let Some(path) = self.site.robots.file.as_deref().filter(|_| self.published.is_none()) else {
            let bytes = self.published.clone().or_else(of_origin);
            return Ok(bytes.map(|bytes| RobotsFile::of(Path::new(""), bytes)));
        };
        match RobotsFile::read(path) {
            // The operator said so.
            Err(unfit) if unfit.can_be_meant && self.may_be_empty(path) => {
                Ok(Some(RobotsFile::of(path, Vec::new())))
            }
            read => read.map(Some),
        }
    }

    /// The site with the file that it is to serve.
    fn fresh(&self, site: &Site) -> Result<Site, Unfit> {
        let is_of_origin = self.site.robots.origin().is_some() && self.published.is_none();
        if is_of_origin && self.options.is_to_serve && self.origins.file(self.site).is_none() {
            // Who went over to the origin's file keeps the one that is served until the origin has answered.
            let former = self.former.filter(|former| !former.is_unknown);
            let unknown = || Site { is_unknown: true, ..site.clone() };
            let again = |former: &Site| site.serving(former.robots.clone(), self.policy);
            return Ok(former.map_or_else(unknown, again));
        }
        let own = self.own()?;
        if let Some(former) = self.former.filter(|former| self.is_as_before(former, own.as_ref())) {
            let Site { config, origin, .. } = site.clone();
            return Ok(Site { config, origin, error: None, ..former.clone() });
        }
        site.composed_of(self.policy, own, &self.site.robots)
    }

    /// Whether it is made of what it was made of. Most sites are as before when one of many has another file: to compose all of
    /// them took 13 s for 1,000 sites, unoptimised.
    fn is_as_before(&self, former: &Site, own: Option<&RobotsFile>) -> bool {
        let (robots, policy) = (&self.site.robots, self.policy);
        let is_there = own.is_some() || robots.is_composed();
        let former_own = former.robots.as_deref().map(RobotsFile::own).unwrap_or_default();
        let is_same = |before: &Policy| {
            Arc::ptr_eq(&before.identifier, &policy.identifier)
                && before.config.robots_max_size == policy.config.robots_max_size
        };
        former.config.robots == *robots
            && robots.additions.is_none()
            && former.robots.is_some() == is_there
            && former_own == own.map(|file| &*file.bytes).unwrap_or_default()
            && !former.is_unknown
            && self.previous.is_some_and(is_same)
    }

    /// Empty is meant when the operator says so, or has said so of the version in force.
    fn may_be_empty(&self, path: &Path) -> bool {
        let in_force = self.former.and_then(|former| former.robots.as_deref());
        let has_been_meant = in_force.is_some_and(|file| file.own().is_empty() && file.path == path);
        self.options.accept_empty || has_been_meant
    }
}
