//! Configuration → [`Policy`], or every fault found. Daemon, reload and `gatewayctl check` load alike.

use super::certificates::Certificates;
use super::composition::{UnfitPart, compose};
use super::hosts::Hosts;
use super::in_force::in_force;
use super::proof::Evidence;
use super::publications::published_catalogue;
use super::published::FleetGeneration;
use super::replies::Replies;
use super::robots_file::RobotsFile;
use super::secrets::{Secret, Webhook};
use super::site::{Site, SiteRobots};
use super::{Exceptions, OriginFiles, Policy, Upstreams, actions};
use crate::config::{Config, ConfigError, ConfigErrors, MOST_BYTES, SiteConfig, catalogue, reading};
use crate::decide::SiteRules;
use crate::identify::{Catalogue, Identifier};
use crate::record::NoticeClock;
use crate::robots::ParseLimits;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Loads everything as the daemon would.
///
/// # Errors
/// Every fault of every file, where the first version of a robots.txt is unfit too.
pub fn check(config: Config, now: SystemTime) -> Result<Policy, ConfigErrors> {
    first(config, LoadOptions { is_to_serve: true, ..LoadOptions::default() }, now)
}

/// Loads everything for judging only: nobody is ever forwarded, so no name is looked up.
///
/// # Errors
/// As [`check`].
pub fn trial(config: Config, now: SystemTime) -> Result<Policy, ConfigErrors> {
    first(config, LoadOptions::default(), now)
}

/// A policy that follows none, all of whose files are fit.
fn first(config: Config, options: LoadOptions, now: SystemTime) -> Result<Policy, ConfigErrors> {
    let origins = OriginFiles::open(&config);
    let (policy, unfit) = load(config, None, &origins, options, now)?;
    if options.is_to_serve {
        policy.look_up_origins();
    }
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
    let renewed = previous.is_some_and(|policy| {
        !Arc::ptr_eq(&policy.identifier, &identifier)
            || policy.config.robots_max_size != config.robots_max_size
    });
    let (certificates, mut unfit) =
        Certificates::load(&config.certificates, previous.map(|policy| &policy.certificates))?;
    let (secret, webhook) = secrets(&config)?;
    let published =
        config.fleet.as_ref().map(|_| FleetGeneration::load(&config.state_dir)).unwrap_or_default();
    let (mut sites, mut faults) = (Vec::new(), Vec::new());
    for site in &config.sites {
        let former = previous.and_then(|policy| policy.before(site)).map(|site| &**site);
        let loading = LoadingSite {
            config: &config,
            catalogue: identifier.catalogue(),
            origins,
            published: &published,
            site,
            former,
            renewed,
            options,
            now,
        };
        faults.extend(loading.unknown_exceptions());
        match loading.site(&mut unfit) {
            Ok(site) => sites.push(Arc::new(site)),
            Err(error) => faults.push(error),
        }
    }
    if !faults.is_empty() {
        return Err(ConfigErrors(faults.into_iter().chain(unfit).collect()));
    }
    let policy = Policy {
        generation: previous.map_or(1, |policy| policy.generation + 1),
        since: now,
        rates: config.rates(),
        actions: actions::load(&config, previous.map(|policy| &policy.actions))?,
        exceptions: Exceptions::new(&config, now),
        waiting: Vec::new(),
        config: Arc::new(config),
        identifier,
        certificates,
        evidence: Arc::new(evidence),
        secret,
        webhook,
        catalogue,
        hosts: Hosts::plain(&sites),
        clock: NoticeClock::default(),
        known_until: Arc::new(u64::MAX.into()),
        published: Arc::new(published),
        in_force: OnceLock::new(),
        sites,
    };
    Ok((policy, unfit))
}

/// What stands in the files that are never shown.
fn secrets(config: &Config) -> Result<(Option<Secret>, Option<Webhook>), ConfigError> {
    let secret = config.authorize.as_ref().and_then(|doors| doors.secret_file.as_deref());
    let webhook = config.alerts.as_ref().map(|alerts| &*alerts.webhook_file);
    Ok((secret.map(Secret::load).transpose()?, webhook.map(Webhook::load).transpose()?))
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
    let made_of = |texts: &[&Option<(String, PathBuf)>]| {
        let mut knowledge = catalogue::bundled();
        for (text, path) in texts.iter().copied().flatten() {
            knowledge = catalogue::extend(knowledge, text, path, Some(&config.state_dir))?;
        }
        Identifier::new(knowledge).map_err(|error| {
            vec![ConfigError::whole(own.unwrap_or_else(|| Path::new("")), error.to_string())]
        })
    };
    let [published, own] = &texts;
    let (identifier, faults) = match made_of(&[published, own]) {
        Ok(identifier) => (identifier, Vec::new()),
        Err(faults) if published.is_some() => (made_of(&[own]).map_err(ConfigErrors)?, faults),
        Err(faults) => return Err(ConfigErrors(faults)),
    };
    Ok((Arc::new(identifier), texts, faults))
}

/// One site on its way into a policy.
struct LoadingSite<'a> {
    config: &'a Config,
    catalogue: &'a Catalogue,
    origins: &'a OriginFiles,
    published: &'a FleetGeneration,
    site: &'a SiteConfig,
    former: Option<&'a Site>,
    renewed: bool,
    options: LoadOptions,
    now: SystemTime,
}

impl LoadingSite<'_> {
    /// The site. Why its robots.txt is unfit, where it is, is one of the `unfit_files`. An unfit file leaves the last good version in
    /// force; without one there is no site.
    fn site(&self, unfit_files: &mut Vec<ConfigError>) -> Result<Site, ConfigError> {
        let former = self.former.map(|former| &former.origin);
        let origin = Upstreams::new(&self.site.origin, &self.config.timeouts, former)?;
        let (path, unfit) = match self.fresh() {
            Ok(fresh) => return Ok(self.assembled(fresh, origin)),
            Err(unfit) => unfit,
        };
        // What the origin has is no file; the configuration says what becomes of it.
        let path =
            if path.as_os_str().is_empty() { self.config.path.clone().unwrap_or_default() } else { path };
        let error = ConfigError::whole(&path, unfit.to_string());
        let Some(former) = self.former.filter(|former| former.robots.is_some()) else {
            if self.published.robots(&self.site.name).is_some() {
                // What a fleet published does not fit what this site puts beside it: its own file is served.
                let why = format!("what the fleet published does not fit this site: {unfit}");
                tracing::error!(site = self.site.name, "{why}");
                let own = LoadingSite { published: &FleetGeneration::default(), ..*self };
                return Ok(Site { error: Some(why), ..own.site(&mut Vec::new())? });
            }
            return Err(error.with_hint(unfit.hint()));
        };
        let hint = unfit.hint_while_running();
        let why = format!("{}: {unfit}; {hint}", path.display());
        unfit_files.push(error.with_hint(hint));
        Ok(Site { error: Some(why), ..self.assembled(SiteRobots::of(former), origin) })
    }

    /// A name that nothing has would shut out what it was to spare.
    fn unknown_exceptions(&self) -> impl Iterator<Item = ConfigError> {
        let robots = &self.site.robots;
        let index = self.config.sites.iter().position(|site| site.name == self.site.name).unwrap_or_default();
        let words = robots.except.iter().enumerate();
        words.filter(|(_, word)| !self.catalogue.knows(word)).filter_map(move |(at, word)| {
            let message = format!("the catalogue knows no crawler or token `{word}`");
            let hint = "`gatewayctl crawlers` shows their names and tokens";
            self.config.fault_of(&format!("sites.{index}.robots.except.{at}"), message, hint)
        })
    }

    /// The site's own robots.txt, where it has one.
    fn own(&self) -> Result<Option<RobotsFile>, UnfitPart> {
        let of_origin = || self.site.robots.origin().and_then(|_| self.origins.file(self.site)?);
        let published = self.published.robots(&self.site.name);
        let Some(path) = self.site.robots.file.as_deref().filter(|_| published.is_none()) else {
            return Ok(published.or_else(of_origin).map(|bytes| RobotsFile::of(Path::new(""), bytes)));
        };
        match RobotsFile::read(path) {
            // The operator said so.
            Err(unfit) if unfit.can_be_meant && self.may_be_empty(path) => {
                Ok(Some(RobotsFile::of(path, Vec::new())))
            }
            read => read.map(Some).map_err(|unfit| (path.to_owned(), unfit)),
        }
    }

    fn fresh(&self) -> Result<SiteRobots, UnfitPart> {
        let limits = ParseLimits { max_bytes: self.config.robots_max_size };
        let name = &self.site.name;
        let is_of_origin = self.site.robots.origin().is_some() && self.published.robots(name).is_none();
        if is_of_origin && self.options.is_to_serve && self.origins.file(self.site).is_none() {
            // Who went over to the origin's file keeps the one that is served until the origin has answered.
            let former = self.former.filter(|former| !former.is_unknown);
            let absent = || SiteRobots::new(None, self.catalogue, limits);
            return Ok(former.map_or_else(|| SiteRobots { is_unknown: true, ..absent() }, SiteRobots::of));
        }
        let own = self.own()?;
        if let Some(former) = self.former.filter(|former| self.is_as_before(former, own.as_ref())) {
            return Ok(SiteRobots::of(former));
        }
        let file = compose(&self.site.robots, own, self.catalogue, limits.max_bytes)?;
        Ok(SiteRobots::new(file, self.catalogue, limits))
    }

    /// Whether it is made of what it was made of. Most sites are as before when one of many has another file: to compose all of
    /// them took 13 s for 1,000 sites, unoptimised.
    fn is_as_before(&self, former: &Site, own: Option<&RobotsFile>) -> bool {
        let robots = &self.site.robots;
        let is_there = own.is_some() || robots.is_composed();
        let former_own = former.robots.as_deref().map(RobotsFile::own).unwrap_or_default();
        former.config.robots == *robots
            && robots.additions.is_none()
            && former.robots.is_some() == is_there
            && former_own == own.map(|file| &*file.bytes).unwrap_or_default()
            && !former.is_unknown
            && !self.renewed
    }

    /// Empty is meant when the operator says so, or has said so of the version in force.
    fn may_be_empty(&self, path: &Path) -> bool {
        let in_force = self.former.and_then(|former| former.robots.as_deref());
        let has_been_meant = in_force.is_some_and(|file| file.own().is_empty() && file.path == path);
        self.options.accept_empty || has_been_meant
    }

    fn assembled(&self, fresh: SiteRobots, origin: Upstreams) -> Site {
        let is_kept = self.former.filter(|former| former.version() == fresh.version.id);
        let fresh = if self.renewed { fresh.renewed() } else { fresh };
        Site {
            config: self.site.clone(),
            modes: in_force(self.config, self.site, &[]),
            rules: SiteRules::new(fresh.version),
            robots: fresh.file,
            // Until rows say since when.
            since: is_kept.map_or(self.now, |former| former.since),
            origin,
            findings: fresh.findings,
            replies: Replies::default(),
            is_unknown: fresh.is_unknown,
            error: None,
        }
    }
}
