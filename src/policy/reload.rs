//! Replacing the policy of a running gateway: one at a time, whole, or not at all.
//!
//! Reading may take its time. Nobody waits for it but who asked for it: modes are set (`overrides`), and what is
//! in force is told, meanwhile.

use super::changes::{ReloadReport, ReloadResult, SiteChange, hold_back};
use super::fetched::Teller;
use super::load::{LoadOptions, load};
use super::overrides::Overrides;
use super::robots_file::RobotsFile;
use super::{CurrentPolicy, FleetStanding, NoticeHistory, OriginFiles, Policy, Site, fleet};
use crate::config::{Arguments, Config, ConfigError, ConfigErrors};
use crate::record::{ReadBook, Recorder, RowsError, timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long a reload waits for another one to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// What set a reload off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A file changed.
    Watch,
    /// SIGHUP.
    Signal,
    /// `gatewayctl reload`.
    Control,
    /// An origin has another robots.txt.
    Origin,
    /// The fleet knows what waited for it.
    Fleet,
}

/// The last reload that was asked for, or that changed or refused something.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastReload {
    /// When.
    pub time: String,
    /// What set it off.
    pub trigger: Trigger,
    /// What came of it.
    pub result: ReloadResult,
    /// Everything it refused.
    pub errors: Vec<ConfigError>,
}

/// Rebuilds the policy from the files it came from.
#[derive(Debug)]
pub struct Reloader {
    pub(super) current: Arc<CurrentPolicy>,
    arguments: Arguments,
    /// What the process was started with.
    pub(super) started: Arc<Config>,
    pub(super) reads: Arc<ReadBook>,
    /// How far a fleet lets this gateway go.
    pub standing: Arc<FleetStanding>,
    pub(super) recorder: Arc<Recorder>,
    /// What was served. Its lock is held for as long as a disk takes.
    pub(crate) history: Mutex<NoticeHistory>,
    /// The robots.txt of origins.
    pub origin_files: Arc<OriginFiles>,
    /// Whose turn it is to read files and to look names up, which may take its time.
    pub(super) turn: Mutex<()>,
    /// Whose turn it is to write what is served, and to put it in force: a look in between would end what is not served yet.
    pub(super) serving: Mutex<()>,
    /// Whose turn it is to write the modes that are kept.
    pub(super) keeping: Mutex<()>,
    pub(super) known: Mutex<ReloadState>,
}

/// What is known apart from the policy. Its lock is held for no longer than it takes to read or change it, and to
/// swap the policy: neither for a file, nor for a name, nor while a policy is built.
#[derive(Debug, Default)]
pub(super) struct ReloadState {
    last: Option<LastReload>,
    counts: BTreeMap<ReloadResult, u64>,
    /// The policy that was in force when the operator last asked for a reload. A watched file is in force
    /// before anybody can type the command, and its author still wants to be told what it changed.
    pub(super) told: Option<Arc<Policy>>,
    /// Modes that were set while the gateway ran.
    pub(super) overrides: Overrides,
    /// Why changes of files are found by looking only.
    pub(super) unwatched: Option<String>,
    /// What was told of copies.
    pub(super) teller: Teller,
}

/// Why nothing came of a reload; the policy is as it was.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// Another reload takes its time.
    #[error(
        "another reload is under way, and was not done within {} s; the policy is as it was, try again later",
        PATIENCE.as_secs()
    )]
    Busy,
    /// A file may have been read in half.
    #[error("a file changed while it was read; the policy is as it was")]
    FileChanged,
}

/// The policy that was in force, and the one that is; twice the same where nothing changed.
type PolicySwap = (Arc<Policy>, Arc<Policy>);

impl Reloader {
    /// A reloader for the policy that `arguments` led to.
    pub fn new(
        current: Arc<CurrentPolicy>,
        arguments: Arguments,
        reads: Arc<ReadBook>,
        recorder: Arc<Recorder>,
        history: NoticeHistory,
        origin_files: Arc<OriginFiles>,
    ) -> Self {
        let policy = current.get();
        let overrides = Overrides::load(&policy.config.state_dir).unwrap_or_else(|error| {
            tracing::error!(
                "the modes that were set with `gatewayctl mode --persist` cannot be read: {error}"
            );
            Overrides::default()
        });
        if !overrides.in_force(&policy.published.modes.0).is_empty() {
            current.replace(policy.next(SystemTime::now()).overridden(&overrides));
        }
        reads.robots_seen.restore(&history.own.robots_seen, history.own.clock.now());
        let known =
            Mutex::new(ReloadState { told: Some(current.get()), overrides, ..ReloadState::default() });
        let reloader = Self {
            current,
            arguments,
            started: Arc::clone(&policy.config),
            reads,
            standing: Arc::default(),
            recorder,
            history: Mutex::new(history),
            origin_files,
            turn: Mutex::default(),
            serving: Mutex::default(),
            keeping: Mutex::default(),
            known,
        };
        reloader.record_versions(&reloader.current(), None);
        reloader
    }

    /// The policy in force.
    pub fn current(&self) -> Arc<Policy> {
        self.current.get()
    }

    /// The last reload that was asked for, or that changed or refused something.
    pub fn last(&self) -> Option<LastReload> {
        self.known.lock().last.clone()
    }

    /// Why changes of files are found by looking, where not all of them can be watched.
    pub fn unwatched(&self) -> Option<String> {
        self.known.lock().unwatched.clone()
    }

    /// How many reloads there were since the start that had this result.
    pub fn count(&self, result: ReloadResult) -> u64 {
        self.known.lock().counts.get(&result).copied().unwrap_or_default()
    }

    /// Reads every file again and, if anything changed, puts one new policy in force.
    ///
    /// Asked for by an operator (`Trigger::Control`), it tells what changed since the operator last asked.
    ///
    /// # Errors
    /// When another reload is under way, and does not end soon: two never interleave. Then nothing was read.
    pub fn reload(&self, trigger: Trigger, accept_empty: bool) -> Result<ReloadReport, ReloadError> {
        self.reload_if(trigger, accept_empty, false, &|| true)
    }

    /// The same where the files, once they are read, are found to have been left alone (`are_unchanged`).
    ///
    /// # Errors
    /// As [`Self::reload`], and when they were not. Then nothing comes of what was read.
    pub(super) fn reload_if(
        &self,
        trigger: Trigger,
        accept_empty: bool,
        is_forced: bool,
        are_unchanged: &dyn Fn() -> bool,
    ) -> Result<ReloadReport, ReloadError> {
        let mut turn = Some(self.turn.try_lock_for(PATIENCE).ok_or(ReloadError::Busy)?);
        let by_itself = matches!(trigger, Trigger::Watch | Trigger::Origin | Trigger::Fleet);
        let options = LoadOptions { accept_empty, is_to_serve: true };
        let ((former, mut current), mut errors) = self.attempt(options, is_forced, are_unchanged)?;
        let announced = self.history.lock().announced();
        if let Some(announced) = announced {
            // What the others answer is taken up in a turn of its own, and whether they do is seen then.
            drop(turn.take());
            let _ = self.standing.wait(announced, fleet::PATIENCE);
            turn = self.turn.try_lock_for(PATIENCE);
            // Where this attempt comes to nothing, what came of the first one stands and is told.
            if turn.is_some()
                && let Ok(((_, waited), faults)) = self.attempt(options, is_forced, are_unchanged)
            {
                (current, errors) = (waited, faults);
            }
        }
        let _turn = turn;
        self.write_copies();
        let report = self.report(&former, &current, &errors);
        let mut known = self.known.lock();
        *known.counts.entry(report.result).or_default() += 1;
        let mended = known.last.as_ref().is_some_and(|last| !last.errors.is_empty());
        let repeated = known.last.as_ref().is_some_and(|last| last.errors == report.errors);
        if !by_itself || report.result != ReloadResult::Unchanged || mended {
            report.log(trigger, repeated);
            let (result, errors) = (report.result, report.errors.clone());
            known.last = Some(LastReload { time: timestamp(SystemTime::now()), trigger, result, errors });
        }
        if trigger != Trigger::Control {
            return Ok(report);
        }
        // A mode may have been set since the swap. It stands in both of these.
        let current = self.current.get();
        let told = known.told.replace(Arc::clone(&current)).unwrap_or(former);
        drop(known);
        Ok(self.report(&told, &current, &errors))
    }

    /// The same in an emergency: nobody of a fleet is waited for.
    ///
    /// # Errors
    /// As [`Self::reload`].
    pub fn reload_now(&self, accept_empty: bool) -> Result<ReloadReport, ReloadError> {
        self.reload_if(Trigger::Control, accept_empty, true, &|| true)
    }

    /// Builds and adopts the next policy; every fault that keeps something from coming into force. One that `is_forced` waits for nobody of a fleet.
    fn attempt(
        &self,
        options: LoadOptions,
        is_forced: bool,
        are_unchanged: &dyn Fn() -> bool,
    ) -> Result<(PolicySwap, Vec<ConfigError>), ReloadError> {
        let (previous, now) = (self.current.get(), SystemTime::now());
        let loaded = Config::load(&self.arguments).and_then(|mut config| {
            let waiting = hold_back(&self.started, &mut config);
            let (policy, unfit) = load(config, Some(&previous), &self.origin_files, options, now)?;
            policy.look_up_origins();
            Ok((Policy { waiting, ..policy }, unfit))
        });
        if !are_unchanged() {
            return Err(ReloadError::FileChanged);
        }
        let (mut policy, mut errors) = match loaded {
            Ok(loaded) => loaded,
            Err(ConfigErrors(mut errors)) => {
                let held_back = changes_held_back(&previous, errors.first());
                errors.extend(held_back);
                return Ok(((Arc::clone(&previous), previous), errors));
            }
        };
        errors.extend_from_slice(&policy.evidence.faults);
        let adopted = self.offered(&mut policy, &previous, is_forced).and_then(|waits| {
            errors.extend(waits);
            Ok(self.adopt(policy)?)
        });
        let swap = adopted.unwrap_or_else(|fault| {
            errors.push(fault);
            (Arc::clone(&previous), previous)
        });
        Ok((swap, errors))
    }

    /// Puts a policy in force, if it differs from the one that is, once rows say what it serves. A mode that was set while it was built is in it.
    fn adopt(&self, mut next: Policy) -> Result<PolicySwap, RowsError> {
        let _serving = self.serving.lock();
        let previous = self.current.get();
        // It stands written for as long as others may judge by what they knew.
        while self.history.lock().adopt(&mut next, Some(&previous))? {
            self.wait_for_others();
        }
        // It may wait for the store. The files in force are the same after a mode was set.
        self.record_versions(&next, Some(&previous));
        let known = self.known.lock();
        let former = self.current.get();
        let next = Policy { generation: former.generation + 1, ..next }.overridden(&known.overrides);
        if differs(&former, &next) {
            self.current.replace(next);
        }
        drop(known);
        if self.history.lock().end_former(&self.current.get()) {
            self.apply_history();
        }
        Ok((former, self.current.get()))
    }

    fn report(&self, previous: &Policy, current: &Policy, errors: &[ConfigError]) -> ReloadReport {
        let changed = differs(previous, current);
        let result = match (errors.is_empty(), changed) {
            (false, _) => ReloadResult::Refused,
            (true, true) => ReloadResult::Changed,
            (true, false) => ReloadResult::Unchanged,
        };
        let sites = current.sites().iter().map(|site| {
            let old = previous.named(&site.config.name);
            SiteChange::new(old.map(|site| &**site), site, self.notice(current, site).to_string())
        });
        let restart = current.waiting.clone();
        let config = previous.config.changed_keys(&current.config);
        ReloadReport { result, sites: sites.collect(), config, restart, errors: errors.to_vec() }
    }
}

/// Each robots.txt that changed, and cannot come into force while another file holds everything up.
fn changes_held_back(previous: &Policy, error: Option<&ConfigError>) -> Vec<ConfigError> {
    let Some(error) = error else { return Vec::new() };
    let changed = |site: &Arc<Site>| {
        let path = site.config.robots.file.as_deref().filter(|_| !site.config.robots.is_composed())?;
        let file = RobotsFile::read(path).ok().filter(|file| Some(file.id) != site.version())?;
        let message = format!(
            "this robots.txt changed to {}, which is not in force: {} has a fault; mend that first",
            file.id,
            error.path.display()
        );
        Some(ConfigError::whole(path, message))
    };
    previous.sites().iter().filter_map(changed).collect()
}

/// Whether a request could be treated differently under `next`.
fn differs(previous: &Policy, next: &Policy) -> bool {
    let same_site = |(old, new): (&Arc<Site>, &Arc<Site>)| {
        old.version() == new.version()
            && old.config == new.config
            && old.modes == new.modes
            && old.origin.ca == new.origin.ca
            && old.error == new.error
            && old.is_unknown == new.is_unknown
    };
    previous.config != next.config
        || previous.waiting != next.waiting
        || !Arc::ptr_eq(&previous.identifier, &next.identifier)
        || !previous.evidence.is_as(&next.evidence)
        || !previous.certificates.is_as(&next.certificates)
        || previous.secret != next.secret
        || previous.webhook != next.webhook
        || previous.actions != next.actions
        || previous.exceptions != next.exceptions
        || previous.published != next.published
        || previous.sites().len() != next.sites().len()
        || !previous.sites().iter().zip(next.sites()).all(same_site)
}
