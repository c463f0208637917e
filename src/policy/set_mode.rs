//! Setting modes while the gateway runs: at once, without reading a file, whatever a reload waits for.

use super::overrides::{Override, Overrides, Scope};
use super::reload::{ReloadState, Reloader};
use crate::config::reading;
use crate::identify::Purpose;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long a mode that is to be kept waits for another one to be written.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a mode could not be set.
#[derive(Debug, thiserror::Error)]
pub enum ModeError {
    /// No site has this name.
    #[error("no site is called `{0}`; `gatewayctl status` shows their names")]
    NoSite(String),
    /// It cannot be kept for the next start.
    #[error(
        "the mode cannot be kept in the state folder: {0}; it is not in force, and without --persist no file is needed"
    )]
    NotKept(io::Error),
}

impl Reloader {
    /// The modes that were set while the gateway ran, and are in force; the general ones first.
    pub fn overrides(&self) -> Vec<Override> {
        let mut overrides = self.known.lock().overrides.in_force();
        let policy = self.current();
        for name in overrides.iter_mut().filter_map(|set| set.scope.crawler.as_mut()) {
            *name = policy.identifier.catalogue().spelt(name).to_owned();
        }
        overrides
    }

    /// Sets a mode over the configured ones, without reading any file; `true` when that changes something.
    ///
    /// # Errors
    /// When there is no such site, or the mode is to be kept and cannot be. Then nothing has changed.
    pub fn set_mode(&self, set: &Override) -> Result<bool, ModeError> {
        self.change_modes(&set.scope, |overrides| overrides.with(set.clone()))
    }

    /// Goes back to what the configuration says for a scope; `true` when that changes something.
    ///
    /// # Errors
    /// As [`Self::set_mode`].
    pub fn clear_mode(&self, scope: &Scope) -> Result<bool, ModeError> {
        self.change_modes(scope, |overrides| overrides.without(scope))
    }

    /// Goes back to what the configuration says for everybody; `true` when that changes something.
    ///
    /// # Errors
    /// When a mode was to outlive a restart, and cannot be forgotten. Then nothing has changed.
    pub fn clear_modes(&self) -> Result<bool, ModeError> {
        self.change_modes(&Scope::default(), Overrides::cleared)
    }

    fn change_modes(
        &self,
        scope: &Scope,
        change: impl Fn(Overrides) -> Overrides,
    ) -> Result<bool, ModeError> {
        let policy = self.current();
        if let Some(name) = scope.site.as_deref().filter(|name| policy.named(name).is_none()) {
            return Err(ModeError::NoSite(name.to_owned()));
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
        let _turn = self.keeping.try_lock_for(PATIENCE).ok_or_else(|| ModeError::NotKept(busy()))?;
        let next = change(self.known.lock().overrides.clone());
        let folder = policy.config.state_dir.clone();
        let saved = reading::with_timeout(&policy.config.state_dir, move || next.save(&folder));
        saved.and_then(|saved| saved).map_err(ModeError::NotKept)?;
        let mut known = self.known.lock();
        // What was set meanwhile is none of the kept ones, for their turn is ours: it stays.
        let next = change(known.overrides.clone());
        self.apply(&mut known, next, scope);
        Ok(true)
    }

    fn apply(&self, known: &mut ReloadState, next: Overrides, scope: &Scope) {
        let (crawler, site) = (scope.crawler.as_deref(), scope.site.as_deref());
        let purpose = scope.purpose.map(Purpose::as_str);
        let set = next.in_force().iter().find(|one| one.scope == *scope).map(|one| one.mode.as_str());
        let mode = set.unwrap_or("as configured");
        tracing::info!(crawler, purpose, site, everybody = scope.all, mode, "a mode was set by hand");
        known.overrides = next;
        let now = SystemTime::now();
        self.current.replace(self.current.get().next(now).overridden(&known.overrides));
        // Whoever set it knows it: the next reload tells of files only.
        known.told = known.told.take().map(|told| Arc::new(told.next(now).overridden(&known.overrides)));
    }
}

fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "another mode is still being written")
}
