//! Which mode is in force for whom, and why: the configured modes, and those that were set by hand.
//!
//! What is shown and what is enforced are made of the same list, so they cannot differ.

use super::overrides::{Override, Overrides, Scope};
use super::reload::Reloader;
use crate::config::{Config, SiteConfig};
use crate::enforce::{ClientModes, Mode, Modes};
use crate::identify::{ClientKind, Purpose};
use crate::record::word;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of client that can have a mode.
const JUDGED: [ClientKind; 6] = [
    ClientKind::Crawler,
    ClientKind::SpecialCase,
    ClientKind::Fetcher,
    ClientKind::Tool,
    ClientKind::Monitor,
    ClientKind::Unnamed,
];

/// The modes of one site; field names are public API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteModes {
    /// The site.
    pub site: String,
    /// The strongest first. Whoever is meant by several follows the first.
    pub modes: Vec<ModeInForce>,
}

/// One mode that is in force; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeInForce {
    /// For whom.
    #[serde(flatten)]
    pub whom: ModeScope,
    /// Which one.
    #[serde(with = "word")]
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

impl Reloader {
    /// The modes that are in force at each site, and why.
    pub fn modes_in_force(&self) -> Vec<SiteModes> {
        // Both are swapped under this lock.
        let known = self.known();
        let policy = self.current();
        let spelt = |mut one: ModeInForce| {
            if let ModeScope::Crawler(name) = &mut one.whom {
                *name = policy.identifier.catalogue().spelt(name).to_owned();
            }
            one
        };
        let modes = |site: &SiteConfig| SiteModes {
            site: site.name.clone(),
            modes: in_force(&policy.config, site, &known.overrides).into_iter().map(spelt).collect(),
        };
        policy.sites().iter().map(|site| modes(&site.config)).collect()
    }
}

/// The modes of a site as configured.
pub(super) fn configured(config: &Config, site: &SiteConfig) -> Modes {
    modes(config, site, &Overrides::default())
}

/// The modes of a site under a configuration and what was set by hand.
pub(super) fn modes(config: &Config, site: &SiteConfig, overrides: &Overrides) -> Modes {
    let mut modes = Modes {
        all: None,
        site: config.mode,
        clients: config.clients.clone(),
        purposes: BTreeMap::new(),
        crawlers: config.crawlers.clone(),
    };
    for ModeInForce { whom, mode, .. } in in_force(config, site, overrides) {
        match whom {
            ModeScope::Everybody => modes.all = Some(mode),
            ModeScope::Crawler(name) => drop(modes.crawlers.insert(name, mode)),
            ModeScope::Purpose(purpose) => drop(modes.purposes.insert(purpose, mode)),
            // Nothing but the configuration has a mode for one.
            ModeScope::Client(_) => {}
            ModeScope::Others => modes.site = mode,
        }
    }
    modes
}

/// Every mode that has a say at a site, the strongest first.
fn in_force(config: &Config, site: &SiteConfig, overrides: &Overrides) -> Vec<ModeInForce> {
    let by_hand = ManualModes { site: &site.name, overrides: overrides.in_force() };
    let mut found: Vec<ModeInForce> = by_hand.everybody().into_iter().collect();
    let names: BTreeSet<&String> = config.crawlers.keys().chain(by_hand.crawlers()).collect();
    found.extend(names.into_iter().filter_map(|name| {
        let scope = |site| Scope { crawler: Some(name.clone()), site, ..Scope::default() };
        let configured = config.crawlers.get(name).map(|mode| (*mode, ModeSource::Crawlers));
        by_hand.or(scope, configured, ModeScope::Crawler(name.clone()))
    }));
    let purposes: BTreeSet<Purpose> = config.purposes.keys().copied().chain(by_hand.purposes()).collect();
    found.extend(purposes.into_iter().filter_map(|purpose| {
        let scope = |site| Scope { purpose: Some(purpose), site, ..Scope::default() };
        let configured = config.purposes.get(&purpose).map(|mode| (*mode, ModeSource::Purposes));
        by_hand.or(scope, configured, ModeScope::Purpose(purpose))
    }));
    let defaults = ClientModes::default();
    found.extend(JUDGED.into_iter().filter_map(|client| {
        let mode = config.clients.of(client)?;
        let is_default = defaults.of(client) == Some(mode);
        let because = if is_default { ModeSource::Default } else { ModeSource::Clients };
        Some(ModeInForce { whom: ModeScope::Client(client), mode, because, persists: None })
    }));
    let scope = |site| Scope { site, ..Scope::default() };
    // A mode of all sites, by hand or not, leaves a site that has one of its own.
    let own = site.mode.map(|mode| (mode, ModeSource::Site));
    let of_site = by_hand.find(&scope(Some(site.name.clone())));
    let of_all = by_hand.find(&scope(None)).filter(|_| own.is_none());
    let written = own.unwrap_or((config.mode, ModeSource::Global));
    found.push(of_site.or(of_all).map_or_else(
        || ModeInForce { whom: ModeScope::Others, mode: written.0, because: written.1, persists: None },
        |set| set.in_force(ModeScope::Others),
    ));
    found
}

impl Override {
    const fn in_force(&self, whom: ModeScope) -> ModeInForce {
        let because = if self.fleet { ModeSource::Fleet } else { ModeSource::ByHand };
        ModeInForce { whom, mode: self.mode, because, persists: Some(self.persists) }
    }
}

/// What was set by hand, as one site sees it.
struct ManualModes<'a> {
    site: &'a str,
    overrides: Vec<Override>,
}

impl ManualModes<'_> {
    fn find(&self, scope: &Scope) -> Option<&Override> {
        self.overrides.iter().find(|set| set.scope == *scope)
    }

    fn everybody(&self) -> Option<ModeInForce> {
        let set = self.find(&Scope { all: true, ..Scope::default() })?;
        Some(set.in_force(ModeScope::Everybody))
    }

    fn here(&self) -> impl Iterator<Item = &Override> {
        let is_here = |set: &&Override| set.scope.site.as_deref().is_none_or(|site| site == self.site);
        self.overrides.iter().filter(is_here)
    }

    fn crawlers(&self) -> impl Iterator<Item = &String> {
        self.here().filter_map(|set| set.scope.crawler.as_ref())
    }

    fn purposes(&self) -> impl Iterator<Item = Purpose> {
        self.here().filter_map(|set| set.scope.purpose)
    }

    /// What was set for a scope at this site, or else everywhere, or else what is configured.
    fn or(
        &self,
        scope: impl Fn(Option<String>) -> Scope,
        configured: Option<(Mode, ModeSource)>,
        whom: ModeScope,
    ) -> Option<ModeInForce> {
        let set = self.find(&scope(Some(self.site.to_owned()))).or_else(|| self.find(&scope(None)));
        match (set, configured) {
            (Some(set), _) => Some(set.in_force(whom)),
            (None, Some((mode, because))) => Some(ModeInForce { whom, mode, because, persists: None }),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;

    const CONFIG: &str = "\
        [crawlers.GPTBot]\nmode = \"off\"\n[purposes.ai-train]\nmode = \"enforce\"\n[clients]\ntool = \"off\"\n\
        [[sites]]\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:9\"\n\
        [[sites]]\nhosts = [\"b.example\"]\nmode = \"off\"\norigin = \"http://127.0.0.1:9\"\n";

    fn config() -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, CONFIG).unwrap();
        Config::load(&Arguments { config: Some(path), ..Arguments::default() }).unwrap()
    }

    fn set(crawler: Option<&str>, site: Option<&str>, mode: Mode) -> Override {
        let (crawler, site) = (crawler.map(str::to_owned), site.map(str::to_owned));
        Override { scope: Scope { crawler, site, ..Scope::default() }, mode, persists: false, fleet: false }
    }

    /// The mode of the site, of GPTBot and of what trains models, at each site.
    fn shown(overrides: &Overrides) -> [(Mode, Mode, Mode); 2] {
        let config = config();
        [0, 1].map(|index| {
            let modes = modes(&config, &config.sites[index], overrides);
            (modes.general(), modes.crawlers["gptbot"], modes.purposes[&Purpose::AiTrain])
        })
    }

    #[test]
    fn the_most_specific_wins() {
        use Mode::{Audit, Enforce, Off};
        let none = Overrides::default();
        assert_eq!(shown(&none), [(Audit, Off, Enforce), (Off, Off, Enforce)]);
        let all = none.with(set(None, None, Enforce));
        assert_eq!(shown(&all), [(Enforce, Off, Enforce), (Off, Off, Enforce)], "a site's own mode stays");
        let one = all.with(set(None, Some("b.example"), Audit));
        assert_eq!(shown(&one), [(Enforce, Off, Enforce), (Audit, Off, Enforce)]);
        let crawler = one.with(set(Some("GPTBot"), Some("a.example"), Audit));
        assert_eq!(shown(&crawler), [(Enforce, Audit, Enforce), (Audit, Off, Enforce)]);
        let everywhere = crawler.with(set(Some("gptbot"), None, Enforce));
        assert_eq!(shown(&everywhere), [(Enforce, Audit, Enforce), (Audit, Enforce, Enforce)]);
        let scope = Scope { purpose: Some(Purpose::AiTrain), ..Scope::default() };
        let purpose = everywhere.with(Override { scope, mode: Off, persists: false, fleet: false });
        assert_eq!(shown(&purpose), [(Enforce, Audit, Off), (Audit, Enforce, Off)]);
        let scope = Scope { all: true, ..Scope::default() };
        let everybody = purpose.with(Override { scope, mode: Off, persists: false, fleet: false });
        assert_eq!(shown(&everybody).map(|(general, ..)| general), [Off, Off]);
    }

    #[test]
    fn it_is_told_who_or_what_says_so() {
        let scope = Scope { all: true, ..Scope::default() };
        let overrides = Overrides::default().with(set(Some("Bingbot"), None, Mode::Enforce)).with(Override {
            scope,
            mode: Mode::Off,
            persists: true,
            fleet: false,
        });
        let config = config();
        let told: Vec<_> = in_force(&config, &config.sites[1], &overrides)
            .into_iter()
            .map(|one| (one.whom, one.mode.as_str(), one.because, one.persists))
            .collect();
        let client = |client, mode, because| (ModeScope::Client(client), mode, because, None);
        assert_eq!(
            told,
            [
                (ModeScope::Everybody, "off", ModeSource::ByHand, Some(true)),
                (ModeScope::Crawler("bingbot".to_owned()), "enforce", ModeSource::ByHand, Some(false)),
                (ModeScope::Crawler("gptbot".to_owned()), "off", ModeSource::Crawlers, None),
                (ModeScope::Purpose(Purpose::AiTrain), "enforce", ModeSource::Purposes, None),
                client(ClientKind::Fetcher, "audit", ModeSource::Default),
                client(ClientKind::Tool, "off", ModeSource::Clients),
                client(ClientKind::Monitor, "audit", ModeSource::Default),
                client(ClientKind::Unnamed, "audit", ModeSource::Default),
                (ModeScope::Others, "off", ModeSource::Site, None),
            ]
        );
    }
}
