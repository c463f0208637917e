//! A policy without a gateway: what `explain` judges with.

use super::args::{Cli, ExplainArgs};
use super::{VerbFailure, which_config};
use crate::config::RobotsConfig;
use crate::identify::Purpose;
use crate::policy::{NoSite, Policy, RobotsFile, Site, Unfit};
use crate::request::host;
use crate::robots::ParseLimits;
use std::path::Path;
use std::time::SystemTime;

/// A policy and the site of it that is asked.
pub(super) struct TrialPolicy {
    pub(super) policy: Policy,
    pub(super) site: Site,
    pub(super) host: String,
    pub(super) limits: ParseLimits,
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
        let policy = policy(cli, robots, block, brings_rules)?;
        let limits = ParseLimits { max_bytes: policy.config.robots_max_size };
        let named = site_name.map(|name| host::normalise(name).into_owned());
        let site = match (policy.asked_site(named.as_deref()), policy.sites()) {
            (Err(NoSite::Several), [first, ..]) if brings_rules => first,
            (site, _) => site.map_err(|none| VerbFailure::with_hint(none, "name one with --site HOST"))?,
        };
        let host = named.unwrap_or_else(|| site.config.name.clone());
        let site = match robots {
            Some(path) => {
                let robots = RobotsConfig { block: block.to_vec(), ..RobotsConfig::none() };
                let unfit = |unfit: Unfit| VerbFailure::at(path, unfit);
                let file = RobotsFile::named(path).map_err(unfit)?;
                site.composed_of(&policy, Some(file), &robots).map_err(unfit)?
            }
            None => (**site).clone(),
        };
        let has_rules = cli.config.is_some() || robots.is_some() || !brings_rules;
        Ok(Self { policy, site, host, limits, has_rules })
    }
}

/// The policy of the configuration, or one around the rules that are given.
pub(super) fn policy(
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
    let mut config = which_config::load(cli, file)?;
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
    Ok(crate::policy::trial(config, SystemTime::now())?)
}
