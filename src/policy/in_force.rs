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
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
        let known = self.known.lock();
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

/// The modes of a site under a configuration and what was set by hand.
pub(super) fn modes(config: &Config, site: &SiteConfig, overrides: &Overrides) -> Modes {
    let mut modes = Modes {
        all: None,
        site: config.mode,
        clients: config.clients.clone(),
        purposes: BTreeMap::new(),
        crawlers: HashMap::new(),
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
    let by_hand = overrides.in_force();
    let find = |scope: &Scope| by_hand.iter().find(|set| set.scope == *scope);
    let here = |scope: &Scope| find(&Scope { site: Some(site.name.clone()), ..scope.clone() });
    let configured = |whom, mode, because| ModeInForce { whom, mode, because, persists: None };
    let everybody = find(&Scope { all: true, ..Scope::default() });
    let mut found: Vec<ModeInForce> =
        everybody.map(|set| set.in_force(ModeScope::Everybody)).into_iter().collect();
    let named = |scope: Scope, whom, mode: Option<&Mode>, because| match here(&scope).or_else(|| find(&scope))
    {
        Some(set) => Some(set.in_force(whom)),
        None => mode.map(|mode| configured(whom, *mode, because)),
    };
    let set = by_hand.iter().filter_map(|set| set.scope.crawler.as_ref());
    for name in config.crawlers.keys().chain(set).collect::<BTreeSet<&String>>() {
        let scope = Scope { crawler: Some(name.clone()), ..Scope::default() };
        let (whom, mode) =
            (ModeScope::Crawler(name.clone()), config.crawlers.get(name).and_then(|set| set.mode.as_ref()));
        found.extend(named(scope, whom, mode, ModeSource::Crawlers));
    }
    let set = by_hand.iter().filter_map(|set| set.scope.purpose);
    for purpose in config.purposes.keys().copied().chain(set).collect::<BTreeSet<Purpose>>() {
        let scope = Scope { purpose: Some(purpose), ..Scope::default() };
        let (whom, mode) =
            (ModeScope::Purpose(purpose), config.purposes.get(&purpose).and_then(|set| set.mode.as_ref()));
        found.extend(named(scope, whom, mode, ModeSource::Purposes));
    }
    let defaults = ClientModes::default();
    found.extend(JUDGED.into_iter().filter_map(|client| {
        let mode = config.clients.of(client)?;
        let is_default = defaults.of(client) == Some(mode);
        let because = if is_default { ModeSource::Default } else { ModeSource::Clients };
        Some(configured(ModeScope::Client(client), mode, because))
    }));
    // A mode of all sites, by hand or not, leaves a site that has one of its own.
    let of_all = find(&Scope::default()).filter(|_| site.mode.is_none());
    found.push(match (here(&Scope::default()).or(of_all), site.mode) {
        (Some(set), _) => set.in_force(ModeScope::Others),
        (None, Some(mode)) => configured(ModeScope::Others, mode, ModeSource::Site),
        (None, None) => configured(ModeScope::Others, config.mode, ModeSource::Global),
    });
    found
}

impl Override {
    const fn in_force(&self, whom: ModeScope) -> ModeInForce {
        let because = if self.fleet { ModeSource::Fleet } else { ModeSource::ByHand };
        ModeInForce { whom, mode: self.mode, because, persists: Some(self.persists) }
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
