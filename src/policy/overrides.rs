//! Modes that an operator set while the gateway runs, over those of the configuration.
//!
//! They outlive a reload. Those that are to outlive a restart too stand in a file of the state folder. Among
//! themselves and beside the configuration, the most specific wins, as everywhere: crawler, then kind of
//! client, then site, then all.

use super::{Policy, Site};
use crate::config::{Config, MOST_BYTES, SiteConfig, reading};
use crate::enforce::{Mode, Modes};
use crate::record::make_folder;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The file in the state folder.
const FILE: &str = "modes.json";

/// Whom a mode is set for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    /// Only this crawler.
    pub crawler: Option<String>,
    /// Only this site.
    pub site: Option<String>,
}

/// One mode that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// For whom.
    #[serde(flatten)]
    pub scope: Scope,
    /// Which mode: `off`, `audit`, `enforce`.
    #[serde(with = "word")]
    pub mode: Mode,
    /// Whether it outlives a restart.
    #[serde(skip_deserializing, default = "yes")]
    pub persists: bool,
}

const fn yes() -> bool {
    true
}

mod word {
    //! A mode as its word.

    use crate::enforce::Mode;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
    pub(super) fn serialize<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(mode.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// All modes that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides {
    kept: Vec<Override>,
    passing: Vec<Override>,
}

impl Scope {
    /// The same with the crawler's name in the one spelling that is compared.
    fn normal(mut self) -> Self {
        self.crawler = self.crawler.map(|name| name.to_ascii_lowercase());
        self
    }
}

impl Overrides {
    /// What was kept in a state folder; nothing where there is none.
    pub(super) fn load(state_dir: &Path) -> io::Result<Self> {
        let text = match reading::read(&file(state_dir), MOST_BYTES) {
            Ok(read) => read.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let kept: Vec<Override> = serde_json::from_slice(&text)?;
        let kept = kept.into_iter().map(|kept| Override { scope: kept.scope.normal(), ..kept });
        Ok(Self { kept: kept.collect(), passing: Vec::new() })
    }

    /// Keeps what is to outlive a restart. Whole or not at all: it is written beside the file, and renamed.
    pub(super) fn save(&self, state_dir: &Path) -> io::Result<()> {
        let path = file(state_dir);
        if self.kept.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        make_folder(state_dir)?;
        let beside = path.with_extension("json.new");
        std::fs::write(&beside, serde_json::to_vec_pretty(&self.kept)?)?;
        std::fs::rename(beside, path)
    }

    /// These with one more, which takes the place of an older one for the same scope.
    pub(super) fn with(mut self, set: Override) -> Self {
        let set = Override { scope: set.scope.normal(), ..set };
        self.passing.retain(|other| other.scope != set.scope);
        if set.persists {
            self.kept.retain(|other| other.scope != set.scope);
            self.kept.push(set);
        } else {
            self.passing.push(set);
        }
        self
    }

    /// These without those for a scope.
    pub(super) fn without(mut self, scope: &Scope) -> Self {
        let scope = scope.clone().normal();
        self.passing.retain(|other| other.scope != scope);
        self.kept.retain(|other| other.scope != scope);
        self
    }

    /// Those in force, the general ones first.
    pub(super) fn in_force(&self) -> Vec<Override> {
        let hidden = |kept: &Override| self.passing.iter().any(|passing| passing.scope == kept.scope);
        let kept = self.kept.iter().filter(|kept| !hidden(kept));
        let mut all: Vec<Override> = kept.chain(&self.passing).cloned().collect();
        all.sort_by_key(|set| (set.scope.crawler.is_some(), set.scope.site.is_some(), set.scope.clone()));
        all
    }

    /// Whether a kept mode differs between the two.
    pub(super) fn keeps_as(&self, other: &Self) -> bool {
        self.kept == other.kept
    }

    /// The modes of a site under a configuration and these.
    fn modes(&self, config: &Config, site: &SiteConfig) -> Modes {
        let mut modes = configured(config, site);
        for Override { scope, mode, .. } in self.in_force() {
            if scope.site.as_deref().is_some_and(|name| name != site.name) {
                continue;
            }
            match (scope.crawler, &scope.site) {
                (Some(crawler), _) => drop(modes.crawlers.insert(crawler, mode)),
                (None, Some(_)) => modes.site = mode,
                (None, None) => modes.site = site.mode.unwrap_or(mode),
            }
        }
        modes
    }
}

fn file(state_dir: &Path) -> PathBuf {
    state_dir.join(FILE)
}

/// The modes of a site as configured.
pub(super) fn configured(config: &Config, site: &SiteConfig) -> Modes {
    Modes {
        site: site.mode.unwrap_or(config.mode),
        clients: config.clients.clone(),
        crawlers: config.crawlers.clone(),
    }
}

impl Policy {
    /// This policy with these modes over the configured ones.
    pub(super) fn overridden(mut self, overrides: &Overrides) -> Self {
        for site in &mut self.sites {
            let modes = overrides.modes(&self.config, &site.config);
            if modes != site.modes {
                *site = Arc::new(Site { modes, ..(**site).clone() });
            }
        }
        self.may_refuse = super::may_refuse(&self.sites);
        self
    }

    /// The next policy, which is as this one.
    pub(super) fn next(&self, now: SystemTime) -> Self {
        Self {
            generation: self.generation + 1,
            since: now,
            config: Arc::clone(&self.config),
            identifier: Arc::clone(&self.identifier),
            certificates: self.certificates.clone(),
            evidence: Arc::clone(&self.evidence),
            catalogue: self.catalogue.clone(),
            sites: self.sites.clone(),
            hosts: self.hosts.clone(),
            clock: self.clock,
            may_refuse: self.may_refuse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;

    fn set(crawler: Option<&str>, site: Option<&str>, mode: Mode, persists: bool) -> Override {
        let scope = Scope { crawler: crawler.map(str::to_owned), site: site.map(str::to_owned) };
        Override { scope, mode, persists }
    }

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(&Arguments { config: Some(path), ..Arguments::default() }).unwrap()
    }

    #[test]
    fn the_most_specific_wins() {
        let config = config(
            "[crawlers.GPTBot]\nmode = \"off\"\n[[sites]]\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:9\"\n\
             [[sites]]\nhosts = [\"b.example\"]\nmode = \"off\"\norigin = \"http://127.0.0.1:9\"\n",
        );
        let modes = |overrides: &Overrides| {
            let of = |site: &SiteConfig| {
                let modes = overrides.modes(&config, site);
                (modes.site, modes.crawlers["gptbot"])
            };
            [of(&config.sites[0]), of(&config.sites[1])]
        };
        let none = Overrides::default();
        assert_eq!(modes(&none), [(Mode::Audit, Mode::Off), (Mode::Off, Mode::Off)]);
        let all = none.clone().with(set(None, None, Mode::Enforce, false));
        assert_eq!(
            modes(&all),
            [(Mode::Enforce, Mode::Off), (Mode::Off, Mode::Off)],
            "a site's own mode stays"
        );
        let one = all.with(set(None, Some("b.example"), Mode::Audit, false));
        assert_eq!(modes(&one), [(Mode::Enforce, Mode::Off), (Mode::Audit, Mode::Off)]);
        let crawler = one.with(set(Some("GPTBot"), Some("a.example"), Mode::Audit, false));
        assert_eq!(modes(&crawler), [(Mode::Enforce, Mode::Audit), (Mode::Audit, Mode::Off)]);
        let everywhere = crawler.with(set(Some("gptbot"), None, Mode::Enforce, false));
        assert_eq!(modes(&everywhere), [(Mode::Enforce, Mode::Audit), (Mode::Audit, Mode::Enforce)]);
    }

    #[test]
    fn a_passing_one_hides_a_kept_one_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Overrides::default().with(set(None, None, Mode::Enforce, true));
        kept.save(folder.path()).unwrap();
        let both = kept.clone().with(set(None, None, Mode::Off, false));
        assert_eq!(both.in_force(), [set(None, None, Mode::Off, false)]);
        assert!(both.keeps_as(&kept));
        both.save(folder.path()).unwrap();
        assert_eq!(
            Overrides::load(folder.path()).unwrap().in_force(),
            [set(None, None, Mode::Enforce, true)]
        );
        both.without(&Scope::default()).save(folder.path()).unwrap();
        assert_eq!(Overrides::load(folder.path()).unwrap(), Overrides::default());
    }

    #[test]
    fn a_broken_file_is_an_error_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["{", "[{\"mode\":\"loud\"}]", "\u{0}"] {
            std::fs::write(file(folder.path()), text).unwrap();
            assert!(Overrides::load(folder.path()).is_err(), "{text}");
        }
    }
}
