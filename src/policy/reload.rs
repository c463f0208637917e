//! Replacing the policy of a running gateway: one at a time, whole, or not at all.

use super::changes::{Fault, ReloadReport, ReloadResult, SiteChange};
use super::load::{Loaded, Manner, Names, load};
use super::overrides::{Override, Overrides, Scope};
use super::{CurrentPolicy, Policy, Site};
use crate::config::{Arguments, Config, ConfigErrors};
use crate::record::{ReadBook, Recorder, timestamp};
use serde::Serialize;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What set a reload off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A file changed.
    Watch,
    /// SIGHUP.
    Signal,
    /// `gatewayctl reload`.
    Control,
}

/// The last reload that was asked for, or that changed or refused something.
#[derive(Clone, Debug, Serialize)]
pub struct LastReload {
    time: String,
    trigger: Trigger,
    result: ReloadResult,
    errors: Vec<Fault>,
}

/// Rebuilds the policy from the files it came from.
#[derive(Debug)]
pub struct Reloader {
    current: Arc<CurrentPolicy>,
    arguments: Arguments,
    reads: Arc<ReadBook>,
    recorder: Arc<Recorder>,
    history: Mutex<History>,
    counts: Counts,
}

/// What the operator knows already.
#[derive(Debug, Default)]
struct History {
    last: Option<LastReload>,
    /// The policy that was in force when the operator last asked for a reload. A watched file is in force
    /// before anybody can type the command, and its author still wants to be told what it changed.
    told: Option<Arc<Policy>>,
    /// Modes that were set while the gateway ran.
    overrides: Overrides,
}

/// Why a mode could not be set.
#[derive(Debug)]
pub enum ModeError {
    /// No site has this name.
    NoSite(String),
    /// It cannot be kept for the next start.
    NotKept(io::Error),
}

impl fmt::Display for ModeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSite(name) => {
                write!(out, "no site is called `{name}`; `gatewayctl status` shows their names")
            }
            Self::NotKept(error) => write!(out, "the mode cannot be kept in the state folder: {error}"),
        }
    }
}

impl std::error::Error for ModeError {}

/// Attempts since the start, readable while one is under way.
#[derive(Debug, Default)]
struct Counts {
    changed: AtomicU64,
    unchanged: AtomicU64,
    refused: AtomicU64,
}

/// How many reloads there were, by what came of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReloadCounts {
    /// A new policy came into force.
    pub changed: u64,
    /// The files said what was in force already.
    pub unchanged: u64,
    /// Something was refused.
    pub refused: u64,
}

impl LastReload {
    /// Everything it refused.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.errors.iter()
    }
}

impl Counts {
    fn count(&self, result: ReloadResult) {
        let counter = match result {
            ReloadResult::Changed => &self.changed,
            ReloadResult::Unchanged => &self.unchanged,
            ReloadResult::Refused => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Reloader {
    /// A reloader for the policy that `arguments` led to.
    #[must_use]
    pub fn new(
        current: Arc<CurrentPolicy>,
        arguments: Arguments,
        reads: Arc<ReadBook>,
        recorder: Arc<Recorder>,
    ) -> Self {
        let policy = current.get();
        let overrides = Overrides::load(&policy.config.state_dir).unwrap_or_else(|error| {
            tracing::error!(
                "the modes that were set with `gatewayctl mode --persist` cannot be read: {error}"
            );
            Overrides::default()
        });
        if !overrides.in_force().is_empty() {
            current.replace(policy.next(SystemTime::now()).overridden(&overrides));
        }
        let history = History { told: Some(current.get()), overrides, ..History::default() };
        Self { current, arguments, reads, recorder, history: Mutex::new(history), counts: Counts::default() }
    }

    /// The policy in force.
    #[must_use]
    pub fn current(&self) -> Arc<Policy> {
        self.current.get()
    }

    /// The last reload that was asked for, or that changed or refused something.
    #[must_use]
    pub fn last(&self) -> Option<LastReload> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).last.clone()
    }

    /// How many reloads there were since the start.
    #[must_use]
    pub fn counts(&self) -> ReloadCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { changed, unchanged, refused } = &self.counts;
        ReloadCounts { changed: read(changed), unchanged: read(unchanged), refused: read(refused) }
    }

    /// Reads every file again and, if anything changed, puts one new policy in force.
    ///
    /// Asked for by an operator (`Trigger::Control`), it tells what changed since the operator last asked.
    /// Waits for a reload that is under way: two never interleave.
    pub fn reload(&self, trigger: Trigger, accept_empty: bool) -> ReloadReport {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = self.current.get();
        let names = if trigger == Trigger::Watch { Names::LookUnknown } else { Names::Look };
        let errors = self.attempt(&previous, &history.overrides, Manner { accept_empty, names });
        let current = self.current.get();
        let report = self.report(&previous, &current, &errors);
        let mended = history.last.as_ref().is_some_and(|last| !last.errors.is_empty());
        let repeated = history.last.as_ref().is_some_and(|last| last.errors == report.errors);
        self.counts.count(report.result);
        if trigger != Trigger::Watch || report.result != ReloadResult::Unchanged || mended {
            log(trigger, &report, repeated);
            let (result, errors) = (report.result, report.errors.clone());
            history.last = Some(LastReload { time: timestamp(SystemTime::now()), trigger, result, errors });
        }
        if trigger != Trigger::Control {
            return report;
        }
        let told = history.told.replace(Arc::clone(&current)).unwrap_or(previous);
        self.report(&told, &current, &errors)
    }

    /// Builds and adopts the next policy; every fault that keeps something from coming into force.
    fn attempt(&self, previous: &Policy, overrides: &Overrides, manner: Manner) -> Vec<Fault> {
        let now = SystemTime::now();
        let loaded =
            Config::load(&self.arguments).and_then(|config| load(config, Some(previous), manner, now));
        match loaded {
            Ok(Loaded { policy, unfit }) => {
                let policy = policy.overridden(overrides);
                let ranges: Vec<Fault> = policy.evidence.faults().iter().map(Fault::from).collect();
                if differs(previous, &policy) {
                    warn_of_restart(&previous.config, &policy.config);
                    policy.record_versions(Some(previous), &self.recorder);
                    self.current.replace(policy);
                }
                unfit.iter().map(Fault::from).chain(ranges).collect()
            }
            Err(ConfigErrors(errors)) => errors.iter().map(Fault::from).collect(),
        }
    }

    /// The modes that were set while the gateway ran, and are in force; the general ones first.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).overrides.in_force()
    }

    /// Sets a mode over the configured ones, without reading any file; `true` when that changes something.
    ///
    /// # Errors
    /// When there is no such site, or the mode is to be kept and cannot be. Then nothing has changed.
    pub fn set_mode(&self, set: Override) -> Result<bool, ModeError> {
        self.change_modes(&set.scope.clone(), |overrides| overrides.with(set))
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
        self.change_modes(&Scope::default(), |_| Overrides::default())
    }

    fn change_modes(
        &self,
        scope: &Scope,
        change: impl FnOnce(Overrides) -> Overrides,
    ) -> Result<bool, ModeError> {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.current.get();
        if let Some(name) = scope.site.as_deref().filter(|name| policy.named(name).is_none()) {
            return Err(ModeError::NoSite(name.to_owned()));
        }
        let next = change(history.overrides.clone());
        if next == history.overrides {
            return Ok(false);
        }
        if !next.keeps_as(&history.overrides) {
            next.save(&policy.config.state_dir).map_err(ModeError::NotKept)?;
        }
        let (crawler, site) = (scope.crawler.as_deref(), scope.site.as_deref());
        let set = next.in_force().iter().find(|one| one.scope == *scope).map(|one| one.mode.as_str());
        let mode = set.unwrap_or("as configured");
        tracing::info!(crawler, site, mode, "a mode was set by hand");
        history.overrides = next;
        let now = SystemTime::now();
        self.current.replace(policy.next(now).overridden(&history.overrides));
        // Whoever set it knows it: the next reload tells of files only.
        let told = history.told.take().map(|told| Arc::new(told.next(now).overridden(&history.overrides)));
        history.told = told;
        Ok(true)
    }

    fn report(&self, previous: &Policy, current: &Policy, errors: &[Fault]) -> ReloadReport {
        let changed = differs(previous, current);
        let result = match (errors.is_empty(), changed) {
            (false, _) => ReloadResult::Refused,
            (true, true) => ReloadResult::Changed,
            (true, false) => ReloadResult::Unchanged,
        };
        let sites = current.sites().iter().map(|site| {
            let old = previous.named(&site.config.name);
            SiteChange::new(old.map(|site| &**site), site, self.notice(current, site))
        });
        ReloadReport { result, sites: sites.collect(), errors: errors.to_vec() }
    }

    /// "in force; enforced for everyone from TIME; N crawlers have read it".
    #[must_use]
    pub fn notice(&self, policy: &Policy, site: &Site) -> String {
        let notice = policy.config.period.notice;
        let latest = site.rules.former().first().map(|former| former.replaced).max(site.rules.dropped());
        let until = latest.and_then(|replaced| replaced.checked_add(notice));
        let since = until.filter(|end| *end > SystemTime::now()).map_or_else(
            || "enforced for everyone".to_owned(),
            |end| format!("enforced for everyone from {}", timestamp(end)),
        );
        let readers = site.version().map_or(0, |version| self.reads.readers_of(&site.config.name, version));
        let have_read = if readers == 1 {
            "1 crawler has read it".to_owned()
        } else {
            format!("{readers} crawlers have read it")
        };
        format!("in force; {since}; {have_read}")
    }
}

/// Whether a request could be treated differently under `next`.
fn differs(previous: &Policy, next: &Policy) -> bool {
    let same_site = |(old, new): (&Arc<Site>, &Arc<Site>)| {
        old.version() == new.version()
            && old.config == new.config
            && old.modes == new.modes
            && old.origin.ca == new.origin.ca
            && old.error == new.error
    };
    previous.config != next.config
        || !Arc::ptr_eq(&previous.identifier, &next.identifier)
        || !previous.evidence.is_as(&next.evidence)
        || !previous.certificates.is_as(&next.certificates)
        || previous.sites().len() != next.sites().len()
        || !previous.sites().iter().zip(next.sites()).all(same_site)
}

/// Sockets, threads and folders are taken when the process starts.
fn warn_of_restart(old: &Config, new: &Config) {
    let keys = [
        ("listen", old.listen != new.listen || old.listeners != new.listeners),
        ("limits.h2_streams", old.limits.h2_streams != new.limits.h2_streams),
        ("admin", old.admin != new.admin || old.admin_token != new.admin_token),
        ("control", old.control != new.control),
        ("state_dir", old.state_dir != new.state_dir),
        ("journal", old.journal != new.journal),
        ("access_log", old.access_log != new.access_log),
        ("store", old.store != new.store),
        ("threads", old.threads != new.threads),
        ("log", old.log != new.log),
    ];
    for (key, _) in keys.into_iter().filter(|(_, changed)| *changed) {
        tracing::warn!(key, "this key changed and takes effect when the gateway is started again");
    }
}

fn log(trigger: Trigger, report: &ReloadReport, repeated: bool) {
    for site in report.sites.iter().filter(|site| site.old_version != site.new_version) {
        tracing::info!(
            site = site.site,
            old_version = site.old_version,
            new_version = site.new_version,
            added = site.added,
            removed = site.removed,
            "robots.txt changed: {}",
            site.notice
        );
    }
    match report.result {
        ReloadResult::Refused if !repeated => {
            for fault in &report.errors {
                tracing::error!(?trigger, "reload refused, the last good policy is kept: {}", fault);
            }
        }
        ReloadResult::Refused => {}
        ReloadResult::Changed => tracing::info!(?trigger, "a new policy is in force"),
        ReloadResult::Unchanged => tracing::info!(?trigger, "the files say again what is in force"),
    }
}
