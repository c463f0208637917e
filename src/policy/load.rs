//! Configuration → [`Policy`], or every fault found. Daemon, reload and `gatewayctl check` load alike.

use super::certificates::Certificates;
use super::composition::{UnfitPart, compose};
use super::hosts::Hosts;
use super::in_force::in_force;
use super::proof::Evidence;
use super::publications::published_catalogue;
use super::published::FleetGeneration;
use super::replies::Replies;
use super::robots_file::{RobotsFile, Unfit, fitness};
use super::secrets::{Secret, Webhook};
use super::site::{Site, SiteRobots};
use super::{Exceptions, FetchedFile, OriginFiles, Policy, Upstreams, actions};
use crate::config::{Config, ConfigError, ConfigErrors, MOST_BYTES, SiteConfig, catalogue, reading};
use crate::decide::SiteRules;
use crate::identify::{Catalogue, Identifier};
use crate::record::NoticeClock;
use crate::robots::ParseLimits;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Why a policy cannot be loaded.
pub type LoadError = ConfigErrors;

/// Loads everything as the daemon would.
///
/// # Errors
/// Every fault of every file, where the first version of a robots.txt is unfit too.
pub fn check(config: Config, now: SystemTime) -> Result<Policy, LoadError> {
    first(config, LoadOptions { names: OriginNames::Look, ..LoadOptions::default() }, now)
}

/// Loads everything for judging only: nobody is ever forwarded, so no name is looked up.
///
/// # Errors
/// As [`check`].
pub fn trial(config: Config, now: SystemTime) -> Result<Policy, LoadError> {
    first(config, LoadOptions::default(), now)
}

/// A policy that follows none, all of whose files are fit.
fn first(config: Config, options: LoadOptions, now: SystemTime) -> Result<Policy, LoadError> {
    let origins = OriginFiles::remembered(&config);
    let LoadedPolicy { policy, unfit } = load(config, None, &origins, options, now)?;
    if unfit.is_empty() { Ok(policy) } else { Err(ConfigErrors(unfit)) }
}

/// How a policy is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadOptions {
    /// Whether an empty or missing robots.txt is meant.
    pub(super) accept_empty: bool,
    /// What is done about names of origins.
    pub(super) names: OriginNames,
}

/// What is done about names of origins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum OriginNames {
    /// None is looked up, and only questions are answered: of an origin that was never asked, by what is put beside its file.
    #[default]
    Leave,
    /// Those are looked up whose addresses are not known yet: a changed robots.txt must not wait for DNS.
    LookUnknown,
    /// All are looked up; the last good addresses are kept where that fails.
    Look,
}

/// A policy, and the robots.txt files that may not come into force.
pub(super) struct LoadedPolicy {
    pub(super) policy: Policy,
    pub(super) unfit: Vec<ConfigError>,
}

/// Builds the policy that follows `previous`.
pub(super) fn load(
    config: Config,
    previous: Option<&Policy>,
    origins: &OriginFiles,
    options: LoadOptions,
    now: SystemTime,
) -> Result<LoadedPolicy, LoadError> {
    let (identifier, catalogue, catalogue_faults) = identifier(&config, previous)?;
    let (former_evidence, former_certificates) =
        previous.map(|policy| (&*policy.evidence, &policy.certificates)).unzip();
    let evidence = Evidence::load(&config, identifier.catalogue(), former_evidence, catalogue_faults)?;
    let renewed = previous.is_some_and(|policy| !Arc::ptr_eq(&policy.identifier, &identifier));
    let (certificates, mut unfit) = Certificates::load(&config.certificates, former_certificates)?;
    let (secret, webhook) = secrets(&config)?;
    origins.add_sites(&config);
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
            limit_changed: previous.is_some_and(|old| old.config.robots_max_size != config.robots_max_size),
            options,
            now,
        };
        faults.extend(loading.unknown_exceptions());
        match loading.site() {
            Ok((site, error)) => {
                unfit.extend(error);
                sites.push(Arc::new(site));
            }
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
        actions: actions::load(&config, previous.map(|policy| &policy.actions), options.names)?,
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
        fetch_marker: Arc::clone(&origins.marker),
        published: Arc::new(published),
        in_force: OnceLock::new(),
        sites,
    };
    Ok(LoadedPolicy { policy, unfit })
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
pub fn recogniser(config: &Config) -> Result<Arc<Identifier>, LoadError> {
    identifier(config, None).map(|(identifier, ..)| identifier)
}

/// The texts that an identifier was made of, beside what is bundled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogueTexts {
    own: Option<String>,
    published: Option<String>,
}

/// The identifier, and the texts it was made of; the former one where nothing has changed. A published catalogue that is of no
/// use, or does not go with the operator's own, is left out, and told.
fn identifier(
    config: &Config,
    previous: Option<&Policy>,
) -> Result<(Arc<Identifier>, CatalogueTexts, Vec<ConfigError>), LoadError> {
    let path = config.catalogue.file.as_deref();
    let read = |path: &Path| {
        let read = reading::read(path, MOST_BYTES);
        read.and_then(|read| String::from_utf8(read.bytes).map_err(io::Error::other))
            .map_err(|error| ConfigError::whole(path, format!("cannot read the catalogue: {error}")))
    };
    let own = path.map(read).transpose()?;
    let (published, place) = published_catalogue(config).unzip();
    let texts = CatalogueTexts { own, published };
    if let Some(policy) =
        previous.filter(|policy| policy.catalogue == texts && policy.cards().all(catalogue::is_as_read))
    {
        return Ok((Arc::clone(&policy.identifier), texts, Vec::new()));
    }
    let made_of = |texts: [(Option<&String>, Option<&Path>); 2]| {
        let mut knowledge = catalogue::bundled();
        for (text, path) in texts.into_iter().filter_map(|(text, path)| text.zip(path)) {
            knowledge = catalogue::extend(knowledge, text, path, Some(&config.state_dir))?;
        }
        Identifier::new(knowledge).map_err(|error| {
            vec![ConfigError::whole(path.unwrap_or_else(|| Path::new("")), error.to_string())]
        })
    };
    let own = (texts.own.as_ref(), path);
    let (identifier, faults) = match made_of([(texts.published.as_ref(), place.as_deref()), own]) {
        Ok(identifier) => (identifier, Vec::new()),
        Err(faults) if texts.published.is_some() => {
            (made_of([(None, None), own]).map_err(ConfigErrors)?, faults)
        }
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
    limit_changed: bool,
    options: LoadOptions,
    now: SystemTime,
}

impl LoadingSite<'_> {
    /// The site and, where its robots.txt is unfit, why. An unfit file leaves the last good version in
    /// force; without one there is no site.
    fn site(&self) -> Result<(Site, Option<ConfigError>), ConfigError> {
        let origin = Upstreams::new(
            &self.site.origin,
            &self.config.timeouts,
            self.former.map(|former| &former.origin),
        )?;
        origin.look_up(self.options.names, &self.site.name);
        let (path, unfit) = match self.fresh() {
            Ok(fresh) => return Ok((self.assembled(fresh, origin), None)),
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
                let (mut site, _) = LoadingSite { published: &FleetGeneration::default(), ..*self }.site()?;
                site.error = Some(why);
                return Ok((site, None));
            }
            return Err(error.with_hint(unfit.hint()));
        };
        let hint = unfit.hint_while_running();
        let mut site = self.assembled(SiteRobots::of(former), origin);
        site.error = Some(format!("{}: {unfit}; {hint}", path.display()));
        Ok((site, Some(error.with_hint(hint))))
    }

    /// Whether nothing is known of what its origin has.
    fn is_unknown(&self) -> bool {
        let is_published = self.published.robots(&self.site.name).is_some();
        let is_asked =
            self.site.robots.origin().is_some() && self.options.names != OriginNames::Leave && !is_published;
        is_asked && self.origins.file(&self.site.name) == FetchedFile::Unknown
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
        if let Some(bytes) = self.published.robots(&self.site.name) {
            let fit = fitness(&bytes).map_err(|unfit| (PathBuf::new(), unfit));
            return fit.map(|()| Some(RobotsFile::of(Path::new(""), bytes)));
        }
        let Some(path) = self.site.robots.file.as_deref() else {
            let of_origin = self.site.robots.origin().map(|_| self.origins.file(&self.site.name));
            return Ok(match of_origin {
                Some(FetchedFile::File(bytes)) => Some(RobotsFile::of(Path::new(""), bytes)),
                Some(FetchedFile::Absent | FetchedFile::Unknown) | None => None,
            });
        };
        let is_meant = |unfit: &Unfit| unfit.can_be_meant && self.may_be_empty(path);
        let file = match RobotsFile::read(path) {
            Ok(file) => file,
            // The operator said so.
            Err(unfit) if is_meant(&unfit) => RobotsFile::of(path, Vec::new()),
            Err(unfit) => return Err((path.to_owned(), unfit)),
        };
        match fitness(&file.bytes) {
            Err(unfit) if !is_meant(&unfit) => Err((path.to_owned(), unfit)),
            _ => Ok(Some(file)),
        }
    }

    fn fresh(&self) -> Result<SiteRobots, UnfitPart> {
        let limits = ParseLimits { max_bytes: self.config.robots_max_size };
        if self.is_unknown() {
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
        if let (Some(former), Some(file)) = (self.former, &file)
            && former.version() == Some(file.id)
            && former.config.robots == self.site.robots
            && !former.is_unknown
            && !self.limit_changed
        {
            return Ok(SiteRobots::of(former));
        }
        Ok(SiteRobots::new(file, self.catalogue, limits))
    }

    /// Whether a composed file has the parts that it was made of. Most sites are as before when one of many has another
    /// file: to compose all of them took 13 s for 1,000 sites, unoptimised.
    fn is_as_before(&self, former: &Site, own: Option<&RobotsFile>) -> bool {
        let robots = &self.site.robots;
        let own = own.map(|file| &*file.bytes).unwrap_or_default();
        let is_as_written =
            robots.is_composed() && robots.additions.is_none() && former.config.robots == *robots;
        let is_same_file = former.robots.as_deref().is_some_and(|file| file.own() == own);
        is_as_written && is_same_file && !former.is_unknown && !self.renewed && !self.limit_changed
    }

    /// Empty is meant when the operator says so, or has said so of the version in force.
    fn may_be_empty(&self, path: &Path) -> bool {
        let in_force = self.former.and_then(|former| former.robots.as_deref());
        let has_been_meant = in_force.is_some_and(|file| file.own().is_empty() && file.path == path);
        self.options.accept_empty || has_been_meant
    }

    fn assembled(&self, fresh: SiteRobots, origin: Upstreams) -> Site {
        let is_kept = self.former.filter(|former| former.version() == fresh.version.id);
        let modified = fresh.file.as_ref().and_then(|file| file.modified).filter(|time| *time < self.now);
        let fresh = if self.renewed { fresh.renewed() } else { fresh };
        Site {
            config: self.site.clone(),
            modes: in_force(self.config, self.site, &[]),
            rules: SiteRules::new(fresh.version),
            robots: fresh.file,
            // Until rows say since when.
            since: is_kept.map_or_else(|| modified.unwrap_or(self.now), |former| former.since),
            origin,
            findings: fresh.findings,
            replies: Replies::default(),
            is_unknown: fresh.is_unknown,
            error: None,
        }
    }
}
