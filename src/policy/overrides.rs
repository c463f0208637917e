//! Modes that an operator set while the gateway runs, over those of the configuration.
//!
//! They are in force at once, without a file being read, whatever a reload waits for. They outlive a reload. Those that
//! are to outlive a restart too stand in a file of the state folder. How they and the configured ones come together is
//! the affair of `in_force`.

use super::in_force::{ModeScope, in_force};
use super::reload::{ReloadState, Reloader};
use super::{Policy, Site};
use crate::config::{MOST_BYTES, reading};
use crate::enforce::Mode;
use crate::identify::{Purpose, PurposeSet};
use crate::record::{replace_file, word};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The file in the state folder.
const FILE: &str = "modes.json";

/// Whom a mode is set for.
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

impl Scope {
    /// The same for each of these purposes, or as it is where there are none.
    pub fn of_each(self, purposes: Option<PurposeSet>) -> Vec<Self> {
        let Some(purposes) = purposes else { return vec![self] };
        purposes.purposes().map(|purpose| Self { purpose: Some(purpose), ..self.clone() }).collect()
    }
}

/// One mode that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// All modes that were set, in order: the general ones first, and of those for the same scope the one that is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides(pub Vec<Override>);

impl Scope {
    /// The clients that are meant, at whatever site.
    pub(super) fn whom(&self) -> ModeScope {
        match (self.all, &self.crawler, self.purpose) {
            (true, ..) => ModeScope::Everybody,
            (_, Some(name), _) => ModeScope::Crawler(name.clone()),
            (_, None, Some(purpose)) => ModeScope::Purpose(purpose),
            (false, None, None) => ModeScope::Others,
        }
    }

    /// The same with the crawler's name in the one spelling that is compared.
    fn normalised(mut self) -> Self {
        self.crawler = self.crawler.map(|name| name.to_ascii_lowercase());
        self
    }

    /// Whether to clear what was set for this clears what was set for `other`, too. What was set for everybody goes with what
    /// was set for nobody in particular.
    fn clears(&self, other: &Self) -> bool {
        other == self || other.all && *self == Self::default()
    }
}

impl Override {
    /// The same with its scope as scopes are compared, kept or of the fleet.
    fn normalised(self, persists: bool, fleet: bool) -> Self {
        Self { scope: self.scope.normalised(), persists, fleet, ..self }
    }

    /// Where it stands among others: those of all crawlers, purposes and sites come first, and what beats them all last.
    const fn place(&self) -> (bool, &Scope, bool, bool) {
        (self.scope.all, &self.scope, self.fleet, self.persists)
    }
}

impl Overrides {
    /// What was kept in a state folder; nothing where there is none.
    pub(super) fn load(state_dir: &Path) -> io::Result<Self> {
        let text = match reading::read(&state_dir.join(FILE), MOST_BYTES) {
            Ok(read) => read.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let kept: Vec<Override> = serde_json::from_slice(&text)?;
        Ok(Self(kept.into_iter().map(|kept| kept.normalised(true, false)).collect()))
    }

    fn kept(&self) -> impl Iterator<Item = &Override> {
        self.0.iter().filter(|set| set.persists)
    }

    /// Keeps what is to outlive a restart, whole or not at all.
    pub(super) fn save(&self, state_dir: &Path) -> io::Result<()> {
        let path = state_dir.join(FILE);
        let kept: Vec<&Override> = self.kept().collect();
        if kept.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        replace_file(&path, &serde_json::to_vec_pretty(&kept)?)
    }

    /// These with one more, which takes the place of an older one for the same scope.
    pub fn with(mut self, set: Override) -> Self {
        let set = Override { scope: set.scope.normalised(), fleet: false, ..set };
        self.0.retain(|other| other.scope != set.scope || other.persists && !set.persists);
        self.0.push(set);
        self.0.sort_by(|one, other| one.place().cmp(&other.place()));
        self
    }

    /// These without those for a scope.
    pub fn without(mut self, scope: &Scope) -> Self {
        let scope = scope.clone().normalised();
        self.0.retain(|other| !scope.clears(&other.scope));
        self
    }

    /// Those that are in force beside what a fleet published, the general ones first. What passes hides what is kept, and
    /// what was set here hides what the fleet published.
    pub(super) fn in_force(&self, published: &[Override]) -> Vec<Override> {
        let of_fleet = published.iter().map(|set| set.clone().normalised(true, true));
        let mut modes: Vec<Override> = self.0.iter().cloned().chain(of_fleet).collect();
        modes.sort_by(|one, other| one.place().cmp(&other.place()));
        modes.dedup_by(|hidden, shown| hidden.scope == shown.scope);
        modes
    }

    /// Whether both keep the same modes for good.
    pub(super) fn has_same_kept(&self, other: &Self) -> bool {
        self.kept().eq(other.kept())
    }
}

impl Policy {
    /// This policy with these modes over the configured ones.
    pub(super) fn overridden(mut self, overrides: &Overrides) -> Self {
        let by_hand = overrides.in_force(&self.published.modes.0);
        for site in &mut self.sites {
            let modes = in_force(&self.config, &site.config, &by_hand);
            if modes != site.modes {
                *site = Arc::new(Site { modes, ..(**site).clone() });
            }
        }
        self
    }

    /// The next policy, which is as this one.
    pub(super) fn next(&self, now: SystemTime) -> Self {
        let in_force = OnceLock::new();
        Self { generation: self.generation + 1, since: now, in_force, ..self.clone() }
    }
}

/// How long a mode that is to be kept waits for another one to be written.
const PATIENCE: Duration = Duration::from_secs(5);

impl Reloader {
    /// The modes that were set while the gateway ran, and are in force; the general ones first.
    pub fn overrides(&self) -> Vec<Override> {
        let policy = self.current();
        let mut overrides = self.known.lock().overrides.in_force(&policy.published.modes.0);
        for name in overrides.iter_mut().filter_map(|set| set.scope.crawler.as_mut()) {
            *name = policy.identifier.catalogue().spelt(name).to_owned();
        }
        overrides
    }

    /// Sets a mode over the configured ones, without reading any file; `true` when that changes something.
    ///
    /// # Errors
    /// When there is no such site, or the mode is to be kept and cannot be. Then nothing has changed.
    pub fn set_mode(&self, set: &Override) -> Result<bool, String> {
        self.change_modes(&set.scope, |overrides| overrides.with(set.clone()))
    }

    /// Goes back to what the configuration says for a scope, or for every one if that is all; `true` when that changes something.
    ///
    /// # Errors
    /// As [`Self::set_mode`].
    pub fn clear_mode(&self, scope: &Scope) -> Result<bool, String> {
        let cleared = |set: Overrides| if scope.all { Overrides::default() } else { set.without(scope) };
        self.change_modes(scope, cleared)
    }

    fn change_modes(&self, scope: &Scope, change: impl Fn(Overrides) -> Overrides) -> Result<bool, String> {
        let policy = self.current();
        if let Some(name) = scope.site.as_deref().filter(|name| policy.named(name).is_none()) {
            return Err(no_such_site(name));
        }
        let mut known = self.known.lock();
        let next = change(known.overrides.clone());
        if next == known.overrides {
            return Ok(false);
        }
        if next.has_same_kept(&known.overrides) {
            self.apply(&mut known, next, scope);
            return Ok(true);
        }
        // A disk may take its time, and nobody who sets another mode waits for it.
        drop(known);
        let unkept = |error: &dyn Display| {
            format!(
                "the mode cannot be kept in the state folder: {error}; it is not in force, and without --persist no file is needed"
            )
        };
        let busy = || unkept(&"another mode is still being written");
        let _turn = self.keeping.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let next = change(self.known.lock().overrides.clone());
        let folder = policy.config.state_dir.clone();
        let saved = reading::with_timeout(&policy.config.state_dir, move || next.save(&folder));
        saved.and_then(|saved| saved).map_err(|error| unkept(&error))?;
        let mut known = self.known.lock();
        // What was set meanwhile is none of the kept ones, for their turn is ours: it stays.
        let next = change(known.overrides.clone());
        self.apply(&mut known, next, scope);
        Ok(true)
    }

    fn apply(&self, known: &mut ReloadState, next: Overrides, scope: &Scope) {
        let (crawler, site) = (scope.crawler.as_deref(), scope.site.as_deref());
        let purpose = scope.purpose.map(Purpose::as_str);
        let current = self.current.get();
        let in_force = next.in_force(&current.published.modes.0);
        let own = scope.clone().normalised();
        let set = in_force.iter().find(|one| one.scope == own).map(|one| one.mode.as_str());
        let mode = set.unwrap_or("as configured");
        tracing::info!(crawler, purpose, site, everybody = scope.all, mode, "a mode was set by hand");
        known.overrides = next;
        let now = SystemTime::now();
        self.current.replace(current.next(now).overridden(&known.overrides));
        // Whoever set it knows it: the next reload tells of files only.
        known.told = known.told.take().map(|told| Arc::new(told.next(now).overridden(&known.overrides)));
    }
}

/// What is said where no site has this name.
pub(super) fn no_such_site(name: &str) -> String {
    format!("no site is called `{name}`; `gatewayctl status` shows their names")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(crawler: Option<&str>, site: Option<&str>, mode: Mode, persists: bool) -> Override {
        let (crawler, site) = (crawler.map(str::to_owned), site.map(str::to_owned));
        Override { scope: Scope { crawler, site, ..Scope::default() }, mode, persists, fleet: false }
    }

    #[test]
    fn a_passing_one_hides_a_kept_one_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Overrides::default().with(set(None, None, Mode::Enforce, true));
        kept.save(folder.path()).unwrap();
        let both = kept.clone().with(set(None, None, Mode::Off, false));
        assert_eq!(both.in_force(&[]), [set(None, None, Mode::Off, false)]);
        assert!(both.has_same_kept(&kept));
        both.save(folder.path()).unwrap();
        assert_eq!(
            Overrides::load(folder.path()).unwrap().in_force(&[]),
            [set(None, None, Mode::Enforce, true)]
        );
        both.without(&Scope::default()).save(folder.path()).unwrap();
        assert_eq!(Overrides::load(folder.path()).unwrap(), Overrides::default());
    }

    #[test]
    fn a_broken_file_is_an_error_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["{", "[{\"mode\":\"loud\"}]", "\u{0}"] {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(Overrides::load(folder.path()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_of_an_older_gateway_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"[{"crawler":"gptbot","site":null,"mode":"enforce","persists":true}]"#;
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let kept = Overrides::load(folder.path()).unwrap().in_force(&[]);
        assert_eq!(kept, [set(Some("gptbot"), None, Mode::Enforce, true)]);
    }

    #[test]
    fn to_clear_what_is_for_nobody_in_particular_clears_what_is_for_everybody() {
        let all = Override {
            scope: Scope { all: true, ..Scope::default() },
            mode: Mode::Off,
            persists: false,
            fleet: false,
        };
        let crawler = set(Some("gptbot"), None, Mode::Audit, false);
        let both = Overrides::default().with(all).with(crawler.clone());
        assert_eq!(both.without(&Scope::default()).in_force(&[]), [crawler]);
    }
}
