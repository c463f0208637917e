//! Replacing the policy of a running gateway: one at a time, whole, or not at all.
//!
//! Reading may take its time. Nobody waits for it but who asked for it: modes are set (`modes`), and what is
//! in force is told, meanwhile.

use super::changes::{ReloadReport, ReloadResult, SiteChange, hold_back};
use super::fetched::Teller;
use super::load::{LoadOptions, load};
use super::modes::Overrides;
use super::robots_file::RobotsFile;
use super::{CurrentPolicy, FleetStanding, NoticeHistory, OriginFiles, Policy};
use crate::config::{Arguments, Config, ConfigError, ConfigErrors};
use crate::record::{Counters, ReadBook, Recorder, timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use strum::EnumCount as _;

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
    /// How many reloads there were since the start, by what came of them.
    pub reloads: Counters<ReloadResult, { ReloadResult::COUNT }>,
    pub(super) known: Mutex<ReloadState>,
}

/// What is known apart from the policy. Its lock is held for no longer than it takes to read or change it.
#[derive(Debug, Default)]
pub(super) struct ReloadState {
    last: Option<LastReload>,
    /// The policy that was in force when the operator last asked for a reload. A watched file is in force
    /// before anybody can type the command, and its author still wants to be told what it changed.
    told: Option<Arc<Policy>>,
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
        match Overrides::load(&policy.config.state_dir) {
            Ok(kept) if kept == Overrides::default() => {}
            Ok(kept) => current.update(|policy| Some(policy.clone().with_modes(kept))),
            Err(error) => tracing::error!(
                "the modes that were set with `gatewayctl mode --persist` cannot be read: {error}"
            ),
        }
        reads.robots_seen.restore(&history.own.robots_seen, history.own.clock.now());
        let known = Mutex::new(ReloadState { told: Some(current.get()), ..ReloadState::default() });
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
            reloads: Counters::default(),
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
        let _turn = self.turn.try_lock_for(PATIENCE).ok_or(ReloadError::Busy)?;
        let (former, now) = (self.current(), SystemTime::now());
        let loaded = Config::load(&self.arguments).and_then(|mut config| {
            let waiting = hold_back(&self.started, &mut config);
            let options = LoadOptions { accept_empty, is_to_serve: true };
            let (policy, unfit) = load(config, Some(&former), &self.origin_files, options, now)?;
            Ok((Policy { waiting, ..policy }, unfit))
        });
        if !are_unchanged() {
            return Err(ReloadError::FileChanged);
        }
        let errors: Vec<ConfigError> = match loaded {
            Ok((policy, mut errors)) => {
                errors.extend_from_slice(&policy.evidence.faults);
                errors.extend(self.adopt(policy, &former, is_forced).unwrap_or_else(Some));
                errors
            }
            Err(ConfigErrors(errors)) => {
                let held_back = errors.first().map(|by| changes_held_back(&former, by));
                errors.iter().cloned().chain(held_back.into_iter().flatten()).collect()
            }
        };
        self.write_copies();
        let report = self.report(&former, &errors);
        self.reloads.count(report.result);
        let mut known = self.known.lock();
        let before = known.last.as_ref().map(|last| &*last.errors).unwrap_or_default();
        let by_itself = matches!(trigger, Trigger::Watch | Trigger::Origin | Trigger::Fleet);
        if !by_itself || report.result != ReloadResult::Unchanged || !before.is_empty() {
            report.log(trigger, *before == *errors);
            let (time, result) = (timestamp(now), report.result);
            known.last = Some(LastReload { time, trigger, result, errors: errors.clone() });
        }
        if trigger != Trigger::Control {
            return Ok(report);
        }
        let told = known.told.replace(self.current()).unwrap_or(former);
        drop(known);
        Ok(self.report(&told, &errors))
    }

    /// The same in an emergency: nobody of a fleet is waited for.
    ///
    /// # Errors
    /// As [`Self::reload`].
    pub fn reload_now(&self, accept_empty: bool) -> Result<ReloadReport, ReloadError> {
        self.reload_if(Trigger::Control, accept_empty, true, &|| true)
    }

    /// Puts a policy in force, if it differs from the one that is, once rows say what it serves, and the fleet knows of that or it
    /// `is_forced`. A mode that was set while it was built is in it. What waits for the fleet is told.
    ///
    /// # Errors
    /// Why nothing of it is in force.
    fn adopt(
        &self,
        mut next: Policy,
        previous: &Policy,
        is_forced: bool,
    ) -> Result<Option<ConfigError>, ConfigError> {
        let waits = self.offered(&mut next, previous, is_forced)?;
        let _serving = self.serving.lock();
        let previous = self.current();
        // It stands written for as long as others may judge by what they knew.
        while self.history.lock().adopt(&mut next, Some(&previous))? {
            self.wait_for_others();
        }
        // It may wait for the store. The files in force are the same after a mode was set.
        self.record_versions(&next, Some(&previous));
        self.current
            .update(|former| differs(former, &next).then(|| next.with_modes(former.overrides.clone())));
        if self.history.lock().end_former(&self.current()) {
            self.apply_history();
        }
        Ok(waits)
    }

    /// What has become of `previous`.
    fn report(&self, previous: &Policy, errors: &[ConfigError]) -> ReloadReport {
        let current = self.current();
        let result = match errors {
            [] if differs(previous, &current) => ReloadResult::Changed,
            [] => ReloadResult::Unchanged,
            _ => ReloadResult::Refused,
        };
        let sites = current.sites().iter().map(|site| {
            let old = previous.named(&site.config.name);
            SiteChange::new(old.map(|site| &**site), site, self.notice(&current, site).to_string())
        });
        let restart = current.waiting.clone();
        let config = previous.config.changed_keys(&current.config);
        ReloadReport { result, sites: sites.collect(), config, restart, errors: errors.to_vec() }
    }
}

/// Each robots.txt that changed, and cannot come into force while a fault of another file holds everything up.
fn changes_held_back(previous: &Policy, by: &ConfigError) -> impl Iterator<Item = ConfigError> {
    previous.sites().iter().filter_map(|site| {
        let path = site.config.robots.file.as_deref().filter(|_| !site.config.robots.is_composed())?;
        let file = RobotsFile::read(path).ok().filter(|file| Some(file.id) != site.version())?;
        let message = format!(
            "this robots.txt changed to {}, which is not in force: {} has a fault; mend that first",
            file.id,
            by.path.display()
        );
        Some(ConfigError::whole(path, message))
    })
}

impl Policy {
    /// What was read, and decides how requests are treated; what is compared otherwise is not in it.
    fn decisive(&self) -> impl PartialEq {
        let Self { config, waiting, secret, webhook, actions, exceptions, published, .. } = self;
        let sites = self.sites.iter();
        let sites = sites.map(|site| (site.version(), &site.error, site.is_unknown, &site.origin.ca));
        let sites: Vec<_> = sites.collect();
        let identifier = Arc::as_ptr(&self.identifier);
        (config, waiting, secret, webhook, actions, exceptions, published, identifier, sites)
    }
}

/// Whether a request could be treated differently under `next`, whatever modes were set by hand.
fn differs(previous: &Policy, next: &Policy) -> bool {
    previous.decisive() != next.decisive()
        || !previous.evidence.is_as(&next.evidence)
        || !previous.certificates.is_as(&next.certificates)
}
