//! Which mode is in force for whom, and why: the configured modes, and those that were set by hand.
//!
//! What is shown is the list that is enforced, so the two cannot differ.

use super::overrides::Override;
use super::reload::Reloader;
use super::{Policy, Site};
use crate::config::{Config, SiteConfig};
use crate::enforce::{ClientModes, Mode};
use crate::identify::{ClientKind, Identity, Purpose};
use crate::record::word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use strum::VariantArray as _;

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

impl Reloader {
    /// The modes that are in force at each site, and why.
    pub fn modes_in_force(&self) -> Vec<SiteModes> {
        let policy = self.current();
        let modes =
            |site: &Arc<Site>| SiteModes { site: site.config.name.clone(), modes: site.modes.spelt(&policy) };
        policy.sites().iter().map(modes).collect()
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

    /// The same with the names of crawlers as the catalogue spells them, to be shown.
    #[must_use]
    pub fn spelt(&self, policy: &Policy) -> Self {
        let mut modes = self.clone();
        for one in &mut modes.0 {
            if let ModeScope::Crawler(name) = &mut one.whom {
                *name = policy.identifier.catalogue().spelt(name).to_owned();
            }
        }
        modes
    }

    /// The mode of whoever has none of his own.
    pub fn general(&self) -> Mode {
        let is_general = |one: &&ModeInForce| matches!(one.whom, ModeScope::Everybody | ModeScope::Others);
        self.0.iter().find(is_general).map_or(Mode::Audit, |one| one.mode)
    }

    /// The same with another mode for whoever has none of his own.
    #[must_use]
    pub fn with_others(mut self, mode: Mode) -> Self {
        self.0.iter_mut().filter(|one| one.whom == ModeScope::Others).for_each(|one| one.mode = mode);
        self
    }
}

/// The configured modes of a site, with those that were set by hand over them.
pub(super) fn in_force(config: &Config, site: &SiteConfig, by_hand: &[Override]) -> Modes {
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
    let one = |(whom, (mode, because, persists))| ModeInForce { whom, mode, because, persists };
    Modes(found.into_iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::overrides::{Overrides, Scope};
    use super::*;
    use crate::config::Arguments;
    use crate::identify::Basis;

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
            let modes = in_force(&config, &config.sites[index], &overrides.in_force(&[]));
            let mode = |whom: &ModeScope| modes.0.iter().find(|one| one.whom == *whom).unwrap().mode;
            let crawler = mode(&ModeScope::Crawler("gptbot".to_owned()));
            (modes.general(), crawler, mode(&ModeScope::Purpose(Purpose::AiTrain)))
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
        let told: Vec<_> = in_force(&config, &config.sites[1], &overrides.in_force(&[]))
            .0
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

    fn mode(modes: &Modes, client: ClientKind, crawler: Option<&str>, purpose: Option<Purpose>) -> Mode {
        let (crawler, tokens) = (crawler.map(Arc::from), Arc::new([]));
        modes.of(&Identity { client, crawler, purpose, tokens, star: true, basis: Basis::Catalogue })
    }

    #[test]
    fn the_first_that_means_a_client_applies_to_it_and_none_to_a_person() {
        let all = Override {
            scope: Scope { all: true, ..Scope::default() },
            mode: Mode::Enforce,
            persists: false,
            fleet: false,
        };
        let config = config();
        let modes = in_force(&config, &config.sites[1], &[]);
        let train = Some(Purpose::AiTrain);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("GPTBot"), train), Mode::Off);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("CCBot"), train), Mode::Enforce);
        assert_eq!(
            mode(&modes, ClientKind::Fetcher, None, train),
            Mode::Enforce,
            "a purpose is stronger than a kind"
        );
        assert_eq!(mode(&modes, ClientKind::Fetcher, None, None), Mode::Audit);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("bingbot"), None), Mode::Off, "the site's own");
        let beaten = in_force(&config, &config.sites[1], &Overrides::default().with(all).in_force(&[]));
        assert_eq!(mode(&beaten, ClientKind::Crawler, Some("GPTBot"), train), Mode::Enforce);
        assert_eq!(
            (beaten.general(), mode(&beaten, ClientKind::Tool, None, None)),
            (Mode::Enforce, Mode::Enforce)
        );
        for person in [ClientKind::Browser, ClientKind::App] {
            assert_eq!(mode(&beaten, person, None, None), Mode::Off);
        }
    }
}
