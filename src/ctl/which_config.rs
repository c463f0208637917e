//! Which configuration, gateway and store a verb works on, and what it judges by without a gateway.

use super::args::ExplainArgs;
use super::{Cli, VerbFailure};
use crate::config::{Arguments, Config, ConfigErrors, RobotsConfig, defaults};
use crate::control::StatusReport;
use crate::identify::Purpose;
use crate::policy::{self, NoSite, Policy, RobotsFile, Site};
use crate::record::STORE_FILE;
use crate::request::host;
use crate::robots::ParseLimits;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where a packaged gateway has its configuration.
const PACKAGED: &str = "/etc/robots-gateway/gateway.toml";

/// An origin for a configuration that only answers questions.
const NOWHERE: &str = "http://127.0.0.1:9";

impl Cli {
    /// The configuration file that was named or, where it exists, the packaged one.
    pub(super) fn config_file(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| Some(PathBuf::from(PACKAGED)).filter(|path| path.exists()))
    }

    /// The configuration file, or how to name one.
    pub(super) fn needed_config_file(&self) -> Result<PathBuf, VerbFailure> {
        let missing = || format!("no configuration: there is no {PACKAGED}");
        self.config_file().ok_or_else(|| VerbFailure::with_hint(missing(), "name one with --config FILE"))
    }

    /// The control socket: as named, as configured, or where it is by default. A configuration with a
    /// fault in it still says where: that is when an operator needs to ask.
    pub(super) fn control_socket(&self) -> Result<PathBuf, VerbFailure> {
        let hint = "--control SOCKET names the socket without a configuration";
        match (&self.control, self.config_file()) {
            (Some(socket), _) => Ok(socket.clone()),
            (_, Some(path)) => {
                Config::control_of(&path).map_err(|errors| VerbFailure::with_hint(errors, hint))
            }
            _ => defaults::control().ok_or_else(|| VerbFailure::with_hint(defaults::NO_HOME, hint)),
        }
    }

    /// The store of the state folder that was named first, or of the configured one.
    pub(super) fn store(&self) -> Result<PathBuf, VerbFailure> {
        let folder = match self.state_dir.first() {
            Some(folder) => folder.clone(),
            None => load_any(self)?.state_dir,
        };
        Ok(folder.join(STORE_FILE))
    }

    /// What a running gateway says of itself.
    pub(super) fn status(&self) -> Result<StatusReport, VerbFailure> {
        self.ask("GET", "/status", &())
    }
}

/// The configuration that was named, or the defaults around a site that nobody is sent to.
pub(super) fn load_any(cli: &Cli) -> Result<Config, ConfigErrors> {
    load(cli, cli.config_file())
}

/// Loads a configuration file as the daemon would with no option but `--state-dir`, where the lists of address ranges
/// lie; without one, the defaults around a site that nobody is sent to.
pub(super) fn load(cli: &Cli, config: Option<PathBuf>) -> Result<Config, ConfigErrors> {
    let origin = config.is_none().then(|| NOWHERE.to_owned());
    let state_dir = cli.state_dir.first().cloned();
    Config::load(&Arguments { config, origin, state_dir, ..Arguments::default() })
}

/// A policy and the site of it that is asked.
pub(super) struct TrialPolicy {
    pub(super) policy: Policy,
    pub(super) site: Site,
    pub(super) host: String,
    /// Whether there are rules beside those that a line of a batch may bring.
    pub(super) has_rules: bool,
}

impl TrialPolicy {
    /// Loads the configuration or, where rules are given and none is named, makes one around them. A
    /// packaged configuration is not taken up by surprise.
    /// `asked` is the host that a request names, which no option did.
    pub(super) fn load(cli: &Cli, arguments: &ExplainArgs, asked: Option<&str>) -> Result<Self, VerbFailure> {
        let is_batch = arguments.batch.is_some();
        Self::of(cli, arguments.robots.as_deref(), arguments.site.as_deref().or(asked), &[], is_batch)
    }

    /// The same for any verb: by these rules at this site. A batch brings rules of its own.
    pub(super) fn of(
        cli: &Cli,
        robots: Option<&Path>,
        site_name: Option<&str>,
        block: &[Purpose],
        is_batch: bool,
    ) -> Result<Self, VerbFailure> {
        let brings_rules = robots.is_some() || is_batch || !block.is_empty();
        let policy = trial(cli, robots, block, brings_rules)?;
        let named = site_name.map(|name| host::normalise(name).into_owned());
        let site = match (policy.asked_site(named.as_deref()), policy.sites()) {
            (Err(NoSite::Several), [first, ..]) if brings_rules => first,
            (site, _) => site.map_err(|none| VerbFailure::with_hint(none, "name one with --site HOST"))?,
        };
        let host = named.unwrap_or_else(|| site.config.name.clone());
        let site = match robots {
            Some(path) => {
                let robots = RobotsConfig { block: block.to_vec(), ..RobotsConfig::none() };
                let file = RobotsFile::named(path);
                let composed = file.and_then(|file| site.composed_of(&policy, Some(file), &robots));
                composed.map_err(|unfit| VerbFailure::at(path, unfit))?
            }
            None => (**site).clone(),
        };
        let has_rules = cli.config.is_some() || robots.is_some() || !brings_rules;
        Ok(Self { policy, site, host, has_rules })
    }

    /// The site judging by other rules.
    pub(super) fn judging_by(&self, robots: &[u8]) -> Site {
        self.site.judging_by(robots, &ParseLimits { max_bytes: *self.policy.config.robots_max_size })
    }
}

/// The policy of the configuration, or one around the rules that are given.
pub(super) fn trial(
    cli: &Cli,
    robots: Option<&Path>,
    block: &[Purpose],
    brings_rules: bool,
) -> Result<Policy, VerbFailure> {
    let file = cli.config.clone().or_else(|| cli.config_file().filter(|_| !brings_rules));
    if file.is_none() && !brings_rules {
        let hint = "name them with --robots FILE or --config FILE";
        return Err(VerbFailure::with_hint("no rules to judge by", hint));
    }
    let mut config = load(cli, file)?;
    for site in &mut config.sites {
        if robots.is_some() {
            // They replace the sites' own files, which need not even be there.
            site.robots = RobotsConfig::none();
        } else {
            // In the order of the configuration, which is that of the file that is served.
            let known = &mut site.robots.block;
            known.extend(block.iter().filter(|one| !known.contains(one)).copied().collect::<Vec<_>>());
        }
    }
    Ok(policy::trial(config, SystemTime::now())?)
}
