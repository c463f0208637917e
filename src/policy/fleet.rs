//! The policy of a gateway that is a member of a fleet: what it offers to serve, and what it learns of the others.

use super::history::{served, version_of};
use super::standing::{FleetNews, OwnWord};
use super::{FleetGeneration, Policy, ReloadResult, Reloader, Site, Trigger};
use crate::config::ConfigError;
use crate::decide::Read;
use crate::record::{ReadSum, ReadTotal};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a start or a reload waits until the other members know what it is about to serve: twice their pulse.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits a little until the others know what a gateway that starts serves. Where they cannot be asked, it is served all the
/// same: it is what this gateway served last, as far as it knows. A file that has changed since waits as after a reload.
pub fn offer_first(reloader: &Reloader) {
    let opened = reloader.history.lock().opened;
    if let Err(behind) = reloader.standing.wait(opened, PATIENCE) {
        tracing::warn!(
            behind = behind.join(", "),
            "robots.txt is served before every member of the fleet knows of it: they did not answer"
        );
    }
}

impl Reloader {
    /// Announces what a policy is about to serve to the fleet. Sites whose file the others do not know of yet keep the one
    /// that is served; the fault says what that waits for.
    ///
    /// # Errors
    /// The fault, where a site that is new cannot be kept back by itself.
    pub(super) fn offered(
        &self,
        next: &mut Policy,
        previous: &Policy,
        is_forced: bool,
    ) -> Result<Option<ConfigError>, ConfigError> {
        if next.config.fleet.is_none() {
            return Ok(None);
        }
        while self.history.lock().announce(next)? {
            self.wait_for_others();
        }
        let (in_force, opened) = (served(previous), self.history.lock().opened);
        // The other members need not hear of a file that says the same as the one in force, nor of one that is not known yet.
        let is_news = |site: &Site| {
            let version = version_of(site);
            let is_old = |host: Box<str>| in_force.at.get(&host).is_some_and(|one| one.is_same(&version));
            !site.is_unknown && !site.config.patterns().all(is_old)
        };
        if is_forced || !next.sites().iter().any(|site| is_news(site)) {
            return Ok(None);
        }
        let Err(behind) = self.standing.wait(opened, PATIENCE) else { return Ok(None) };
        let fault = waits_for(next, &behind);
        next.keep_files(previous, is_news, &fault.message);
        if next.sites().iter().any(|site| is_news(site)) { Err(fault) } else { Ok(Some(fault)) }
    }

    /// Whether what waits for the others need not any more.
    pub fn may_go_on(&self) -> bool {
        self.history.lock().announced().is_some_and(|opened| self.standing.may_serve(opened))
    }
}

fn waits_for(policy: &Policy, behind: &[String]) -> ConfigError {
    let whom = match behind {
        [] => "the database of the fleet, which cannot be asked".to_owned(),
        behind => behind.join(", "),
    };
    let message = format!(
        "a robots.txt that changed waits for {whom}: it is served by itself once every member of the fleet knows of it or \
         its lease has run out; `gatewayctl fleet forget NAME` has it wait for that member no longer, and `gatewayctl \
         reload --now` for none"
    );
    ConfigError::whole(&policy.config.path.clone().unwrap_or_default(), message)
}

impl Policy {
    /// Has sites that wait keep the file that is served there.
    fn keep_files(&mut self, previous: &Self, waits: impl Fn(&Site) -> bool, why: &str) {
        let kept = |site: &Arc<Site>| {
            let former = previous.before(&site.config).filter(|_| waits(site))?;
            let (is_unknown, error) = (former.is_unknown, Some(why.to_owned()));
            Some(Arc::new(Site { is_unknown, error, ..site.serving(former.robots.clone(), self) }))
        };
        self.sites = self.sites.iter().map(|site| kept(site).unwrap_or_else(|| Arc::clone(site))).collect();
    }
}

/// What the exchange with the other members asks and tells.
impl Reloader {
    /// What this gateway says of itself.
    pub fn word(&self) -> OwnWord {
        let policy = self.current();
        let version = |site: &Site| site.version().map(|id| id.to_string());
        let serving = policy.sites().iter().map(|site| (site.config.name.clone(), version(site))).collect();
        let error = self.last().and_then(|last| last.errors.first().map(ConfigError::in_one_line));
        OwnWord { serving, error, ..self.history.lock().word(&policy) }
    }

    /// Notes news, on the disk and in the policy in force; `false` where they cannot be written.
    pub fn learn(&self, news: FleetNews) -> bool {
        let _serving = self.serving.lock();
        let is_learnt = self.history.lock().learn(&self.current(), news).is_ok();
        if is_learnt {
            self.apply_history();
        }
        is_learnt
    }

    /// Notes reads that others saw, each with a stamp that was given before it.
    pub fn learn_reads(&self, reads: Vec<(u64, ReadTotal)>) {
        // It counts from `settle` after it is known here, which is later than it was.
        let at = self.current().clock.now();
        let history = self.history.lock();
        let place = |(stamp, read): (u64, ReadTotal)| {
            let placed = Read { as_of: history.time_before(stamp), at, ..read.read() };
            ReadTotal { sum: ReadSum::of(placed, read.sum.seen), ..read }
        };
        self.reads.restore(&reads.into_iter().map(place).collect::<Vec<_>>());
    }

    /// The last generation of which all was in force.
    pub fn applied_generation(&self) -> i64 {
        let policy = self.current();
        let (published, applied) = (&policy.published, &self.standing.applied);
        let waits = |site: &&Arc<Site>| site.error.is_some() && published.robots(&site.config.name).is_some();
        if !policy.sites().iter().any(|site| waits(&site)) {
            applied.store(published.number, Ordering::Relaxed);
        }
        applied.load(Ordering::Relaxed)
    }

    /// Takes a generation: on the disk, and in force as far as nothing waits.
    ///
    /// # Errors
    /// Why nothing of it is.
    pub fn take_generation(&self, number: i64, document: &str) -> Result<(), String> {
        FleetGeneration::keep(number, document, &self.current().config.state_dir)?;
        // What keeps it from coming into force is told by the reload, and shown by `fleet`.
        self.reload(Trigger::Fleet, false).map(drop).map_err(|busy| busy.to_string())
    }

    /// What waited for the others need not wait any more.
    pub fn go_on(&self) {
        if self.may_go_on()
            && let Ok(report) = self.reload(Trigger::Fleet, false)
            && report.result == ReloadResult::Refused
            && self.may_go_on()
        {
            // It is told by the reload itself. What it is refused for has nothing to do with the fleet, which knows of it.
            self.history.lock().withdraw();
        }
    }
}
