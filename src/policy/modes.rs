//! Which mode is in force for whom, and why: the configured modes, and over them those that were set by hand.
//!
//! What is shown is the list that is enforced, so the two cannot differ. A mode that an operator sets is in force at once,
//! without a file being read, whatever a reload waits for. It outlives a reload. What is to outlive a restart too stands in a
//! file of the state folder.

use super::reload::Reloader;
use super::{Policy, Site};
use crate::config::{Config, MOST_BYTES, SiteConfig, reading};
use crate::enforce::{ClientModes, Mode};
use crate::identify::{Catalogue, ClientKind, Identity, Purpose, PurposeSet};
use crate::record::{replace_file, word};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use strum::VariantArray as _;

/// The file in the state folder.
const FILE: &str = "modes.json";

/// How long a mode that is to be kept waits for another one to be written.
const PATIENCE: Duration = Duration::from_secs(5);

/// The modes of one site; field names are public API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteModes {
    /// The site.
    pub site: String,
    /// The strongest first.
    pub modes: Modes,
}

/// Every mode that has a say at a site, the strongest first. Whoever is meant by several follows the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes(pub Vec<ModeInForce>);

/// One mode that is in force; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeInForce {
    /// For whom.
    #[serde(flatten)]
    pub whom: ModeScope,
    /// Which one.
    pub mode: Mode,
    /// Who or what says so.
    pub because: ModeSource,
    /// Whether it outlives a restart, where it was set by hand.
    pub persists: Option<bool>,
}

/// Whom a mode is for; the strongest kind first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "whom", content = "name", rename_all = "kebab-case")]
pub enum ModeScope {
    /// Everybody, whatever else is set.
    Everybody,
    /// A crawler by name.
    Crawler(String),
    /// What fetches for this.
    #[serde(with = "word")]
    Purpose(Purpose),
    /// A kind of client.
    #[serde(with = "word")]
    Client(ClientKind),
    /// All others at the site.
    Others,
}

/// Who or what sets a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeSource {
    /// `gatewayctl mode`.
    ByHand,
    /// `gatewayctl mode --fleet`.
    Fleet,
    /// `[crawlers.NAME]`.
    Crawlers,
    /// `[purposes.NAME]`.
    Purposes,
    /// `[clients]`.
    Clients,
    /// `mode` of the site.
    Site,
    /// `mode` of all sites, or the option.
    Global,
    /// Nobody: this is the default.
    Default,
}

/// Whom a mode is set for by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    /// Only this crawler.
    pub crawler: Option<String>,
    /// Only what fetches for this.
    #[serde(default, with = "word::optional")]
    pub purpose: Option<Purpose>,
    /// Only this site.
    pub site: Option<String>,
    /// Everybody, whatever else is set; then the others are empty.
    #[serde(default)]
    pub all: bool,
}

/// One mode that was set by hand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Override {
    /// For whom.
    #[serde(flatten)]
    pub scope: Scope,
    /// Which mode: `off`, `audit`, `enforce`.
    pub mode: Mode,
    /// Whether it outlives a restart.
    #[serde(default)]
    pub persists: bool,
    /// Whether it is published for the whole fleet.
    #[serde(default)]
    pub fleet: bool,
}

/// All modes that were set by hand: of each scope one that is kept, one that passes, or both. Names of crawlers are in lower
/// case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides(BTreeSet<Override>);

impl Scope {
    /// The same for each of these purposes, or as it is where there are none.
    pub fn of_each(self, purposes: Option<PurposeSet>) -> Vec<Self> {
        let Some(purposes) = purposes else { return vec![self] };
        purposes.purposes().map(|purpose| Self { purpose: Some(purpose), ..self.clone() }).collect()
    }

    /// The clients that are meant, at whatever site.
    fn whom(&self) -> ModeScope {
        match (self.all, &self.crawler, self.purpose) {
            (true, ..) => ModeScope::Everybody,
            (_, Some(name), _) => ModeScope::Crawler(name.clone()),
            (_, None, Some(purpose)) => ModeScope::Purpose(purpose),
            (false, None, None) => ModeScope::Others,
        }
    }
}

impl Overrides {
    /// What was kept in a state folder; nothing where there is none.
    pub(super) fn load(state_dir: &Path) -> io::Result<Self> {
        match reading::read(&state_dir.join(FILE), MOST_BYTES) {
            Ok(kept) => Ok(serde_json::from_slice(&kept.bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn kept(&self) -> impl Iterator<Item = &Override> {
        self.0.iter().filter(|set| set.persists)
    }

    /// Keeps what is to outlive a restart, whole or not at all.
    fn save(&self, state_dir: &Path) -> io::Result<()> {
        let (path, kept) = (state_dir.join(FILE), self.kept().collect::<Vec<_>>());
        if !kept.is_empty() {
            return replace_file(&path, &serde_json::to_vec_pretty(&kept)?);
        }
        let is_gone =
            |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
        fs::remove_file(&path).or_else(is_gone)
    }

    /// These with another mode for a scope, which takes the place of an older one. Without a mode those for the scope go, or all
    /// where it is everybody's. What was set for everybody goes with what was set for nobody in particular.
    pub fn changed(mut self, scope: &Scope, mode: Option<Mode>, persists: bool) -> Self {
        let crawler = scope.crawler.as_ref().map(|name| name.to_ascii_lowercase());
        let scope = Scope { crawler, ..scope.clone() };
        let is_general = scope == Scope::default();
        self.0.retain(|other| match mode {
            // One that passes hides one that is kept.
            Some(_) => other.scope != scope || other.persists && !persists,
            None => other.scope != scope && !scope.all && !(is_general && other.scope.all),
        });
        self.0.extend(mode.map(|mode| Override { scope, mode, persists, fleet: false }));
        self
    }

    /// Those that are in force beside what a fleet published: the general ones first, and what beats them all last. What passes
    /// hides what is kept, and what was set here hides what the fleet published.
    pub fn in_force(&self, published: &Self) -> Vec<Override> {
        let of_fleet = published.0.iter().map(|set| Override { persists: true, fleet: true, ..set.clone() });
        let passing = self.0.iter().filter(|set| !set.persists);
        let all = of_fleet.chain(self.kept().chain(passing).cloned());
        let last: BTreeMap<_, _> = all.map(|set| ((set.scope.all, set.scope.clone()), set)).collect();
        last.into_values().collect()
    }
}

impl ModeScope {
    fn means(&self, identity: &Identity) -> bool {
        match self {
            Self::Everybody | Self::Others => true,
            Self::Crawler(name) => {
                identity.crawler.as_deref().is_some_and(|crawler| crawler.eq_ignore_ascii_case(name))
            }
            Self::Purpose(purpose) => identity.purpose == Some(*purpose),
            Self::Client(client) => identity.client == *client,
        }
    }

    /// The same with the name of a crawler as the catalogue spells it.
    fn spelt(self, catalogue: &Catalogue) -> Self {
        if let Self::Crawler(name) = self { Self::Crawler(catalogue.spelt(&name).to_owned()) } else { self }
    }
}

impl Modes {
    /// The mode that applies to `identity`. A person has none.
    pub fn of(&self, identity: &Identity) -> Mode {
        self.deciding(identity).map_or(Mode::Off, |one| one.mode)
    }

    /// The one that decides about `identity`; `None` for a person.
    pub fn deciding(&self, identity: &Identity) -> Option<&ModeInForce> {
        self.0.iter().find(|one| one.whom.means(identity)).filter(|_| identity.is_judged())
    }

    /// The mode of whoever has none of his own.
    pub fn general(&self) -> Mode {
        let is_general = |one: &&ModeInForce| matches!(one.whom, ModeScope::Everybody | ModeScope::Others);
        self.0.iter().find(is_general).map_or(Mode::Audit, |one| one.mode)
    }

    /// The same with another mode for whoever has none of his own.
    pub fn with_others(mut self, mode: Mode) -> Self {
        self.0.iter_mut().filter(|one| one.whom == ModeScope::Others).for_each(|one| one.mode = mode);
        self
    }
}

/// The configured modes of a site, with those that were set by hand over them, the general ones first.
fn modes_of(config: &Config, site: &SiteConfig, catalogue: &Catalogue, by_hand: &[Override]) -> Modes {
    let mut found: BTreeMap<ModeScope, (Mode, ModeSource, Option<bool>)> = BTreeMap::new();
    let mut put = |whom, mode: Option<Mode>, because, persists| {
        found.extend(mode.map(|mode| (whom, (mode, because, persists))));
    };
    for (name, set) in &config.crawlers {
        put(ModeScope::Crawler(name.clone()), set.mode, ModeSource::Crawlers, None);
    }
    for (purpose, set) in config.of_purposes() {
        put(ModeScope::Purpose(purpose), set.mode, ModeSource::Purposes, None);
    }
    let defaults = ClientModes::default();
    for client in ClientKind::VARIANTS.iter().copied().filter(|client| client.is_judged()) {
        let mode = config.clients.of(client);
        let is_default = defaults.of(client) == mode;
        let because = if is_default { ModeSource::Default } else { ModeSource::Clients };
        put(ModeScope::Client(client), mode, because, None);
    }
    put(ModeScope::Others, Some(config.mode), ModeSource::Global, None);
    put(ModeScope::Others, site.mode, ModeSource::Site, None);
    // Of those for the same clients the ones of all sites come first.
    for set in by_hand {
        let whom = set.scope.whom();
        let is_meant = match &set.scope.site {
            Some(name) => *name == site.name,
            // A mode of all sites leaves a site that has one of its own.
            None => whom != ModeScope::Others || site.mode.is_none(),
        };
        let because = if set.fleet { ModeSource::Fleet } else { ModeSource::ByHand };
        put(whom, Some(set.mode).filter(|_| is_meant), because, Some(set.persists));
    }
    let one = |(whom, (mode, because, persists)): (ModeScope, _)| {
        let whom = whom.spelt(catalogue);
        ModeInForce { whom, mode, because, persists }
    };
    Modes(found.into_iter().map(one).collect())
}

impl Policy {
    /// This policy with these modes over those that a fleet published, and over the configured ones.
    pub(super) fn with_modes(mut self, overrides: Overrides) -> Self {
        let by_hand = overrides.in_force(&self.published.modes);
        for site in &mut self.sites {
            let modes = modes_of(&self.config, &site.config, self.identifier.catalogue(), &by_hand);
            if modes != site.modes {
                *site = Arc::new(Site { modes, ..(**site).clone() });
            }
        }
        Self { overrides, ..self }
    }
}

impl Reloader {
    /// The modes that are in force at each site, and why.
    pub fn modes_in_force(&self) -> Vec<SiteModes> {
        let modes =
            |site: &Arc<Site>| SiteModes { site: site.config.name.clone(), modes: site.modes.clone() };
        self.current().sites.iter().map(modes).collect()
    }

    /// The modes that were set by hand, and are in force; the general ones first.
    pub fn overrides(&self) -> Vec<Override> {
        let policy = self.current();
        let mut overrides = policy.overrides.in_force(&policy.published.modes);
        for name in overrides.iter_mut().filter_map(|set| set.scope.crawler.as_mut()) {
            *name = policy.identifier.catalogue().spelt(name).to_owned();
        }
        overrides
    }

    /// Sets a mode over the configured ones, without reading any file. Without a mode it goes back to them: for a scope, or for
    /// every one where that is everybody's. `true` when that changes something.
    ///
    /// # Errors
    /// When the scope names an unknown site, or the file of modes cannot be written. The modes stay as they were.
    pub fn change_mode(&self, scope: &Scope, mode: Option<Mode>, persists: bool) -> Result<bool, String> {
        if let Some(name) = scope.site.as_deref().filter(|name| self.current().named(name).is_none()) {
            return Err(no_such_site(name));
        }
        let unkept = |error: &dyn Display| {
            format!(
                "the mode cannot be kept in the state folder: {error}; it is not in force, and without --persist no file is needed"
            )
        };
        let (mut turn, mut is_done) = (None, false);
        while !is_done {
            let policy = self.current();
            let next = policy.overrides.clone().changed(scope, mode, persists);
            if next == policy.overrides {
                return Ok(false);
            }
            if !next.kept().eq(policy.overrides.kept()) {
                // A disk may take its time, and nobody who sets another mode waits for it.
                if turn.is_none() {
                    let busy = || unkept(&"another mode is still being written");
                    turn = Some(self.keeping.try_lock_for(PATIENCE).ok_or_else(busy)?);
                    continue;
                }
                let (folder, kept) = (policy.config.state_dir.clone(), next.clone());
                let saved = reading::with_timeout(&policy.config.state_dir, move || kept.save(&folder));
                saved.and_then(|saved| saved).map_err(|error| unkept(&error))?;
            }
            // Where another one was set meanwhile, this one comes on top of that.
            self.current.update(|now| {
                is_done = now.overrides == policy.overrides;
                is_done.then(|| now.clone().with_modes(next))
            });
        }
        let (crawler, site) = (scope.crawler.as_deref(), scope.site.as_deref());
        let (purpose, mode) = (scope.purpose.map(Purpose::as_str), mode.map_or("cleared", Mode::as_str));
        tracing::info!(crawler, purpose, site, everybody = scope.all, mode, "a mode was set by hand");
        Ok(true)
    }
}

/// What is said where no site has this name.
pub(super) fn no_such_site(name: &str) -> String {
    format!("no site is called `{name}`; `gatewayctl status` shows their names")
}

#[cfg(test)]
mod tests;
