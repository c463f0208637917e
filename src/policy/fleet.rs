//! The policy of a gateway that is a member of a fleet: what it offers to serve, and what it learns of the others.

use super::hosts::Hosts;
use super::site::SiteRobots;
use super::standing::{FileBytes, FleetNews, OfferedFiles, OwnFiles, SaidRows, UnlearntNews};
use super::{FleetGeneration, Policy, ReloadResult, Reloader, Site, Trigger};
use crate::config::ConfigError;
use crate::decide::{NoticeTime, Read};
use crate::record::{ReadSum, ReadTotal};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a start or a reload waits until the other members know what it is about to serve: twice their pulse.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// What a policy serves.
fn offered(policy: &Policy) -> OfferedFiles {
    policy.sites().iter().flat_map(|site| of_site(site)).collect()
}

fn bytes(policy: &Policy) -> FileBytes {
    let files = policy.sites().iter().filter_map(|site| site.robots.as_ref());
    files.map(|file| (file.digest.clone(), file.bytes.clone())).collect()
}

/// Offers what a gateway that starts serves, and waits a little. Where the others cannot be asked, it is served all the
/// same: it is what this gateway served last, as far as it knows. A file that has changed since waits as after a reload.
pub fn offer_first(reloader: &Arc<Reloader>) {
    let (policy, standing) = (reloader.current(), &reloader.standing);
    let served = standing.offer(offered(&policy), FileBytes::new, PATIENCE);
    standing.serves(offered(&policy));
    if let Err(behind) = served {
        tracing::warn!(
            behind = behind.join(", "),
            "robots.txt is served before every member of the fleet knows of it: they did not answer"
        );
    }
    if policy.sites().iter().any(|site| site.error.is_some()) {
        // It tells what it waits for by itself, and nothing waits for it.
        let reloader = Arc::clone(reloader);
        let reload = move || drop(reloader.reload(Trigger::Fleet, false));
        let _ = std::thread::Builder::new().name("fleet-reload".to_owned()).spawn(reload);
    }
}

impl Reloader {
    /// Offers what a policy is about to serve to the fleet. Sites whose file the others do not know of yet keep the one
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
        let standing = &self.standing;
        if !standing.has_begun() {
            return Ok(None);
        }
        if is_forced {
            standing.serves(offered(next));
        }
        let Err(behind) = standing.offer(offered(next), || bytes(next), Duration::ZERO) else {
            return Ok(None);
        };
        let fault = waits(next, &behind);
        next.keep_files(previous, |site| !standing.may_serve_now(&of_site(site)), &fault.message);
        if standing.serves_meanwhile(offered(next)) { Ok(Some(fault)) } else { Err(fault) }
    }
}

/// What a site serves.
fn of_site(site: &Site) -> OfferedFiles {
    let file = site.robots.as_ref().map(|file| file.digest.clone());
    let hosts = site.config.patterns().filter(|_| !site.is_unknown);
    hosts.map(|host| (host, BTreeSet::from([file.clone()]))).collect()
}

fn waits(policy: &Policy, behind: &[String]) -> ConfigError {
    let whom = match behind.len() {
        0 => "the database of the fleet, which cannot be asked".to_owned(),
        1..=4 => behind.join(", "),
        more => {
            format!("{} and {} more", behind.iter().take(3).cloned().collect::<Vec<_>>().join(", "), more - 3)
        }
    };
    let message = format!(
        "a robots.txt that changed waits for {whom}: it is served by itself once every member of the fleet knows of it or \
         its lease has run out; `gatewayctl fleet forget NAME` has it wait for that member no longer, and `gatewayctl \
         reload --now` for none"
    );
    ConfigError::whole(policy.config.path.as_deref().unwrap_or_else(|| Path::new("")), message)
}

impl Policy {
    /// Has sites that wait keep the file that is served there.
    fn keep_files(&mut self, previous: &Self, waits: impl Fn(&Site) -> bool, why: &str) {
        let is_renewed = !Arc::ptr_eq(&previous.identifier, &self.identifier);
        for site in self.sites.iter_mut().filter(|site| waits(site)) {
            let Some(former) = previous.before(&site.config) else { continue };
            let robots = SiteRobots::of(former);
            let kept = site.with_robots(if is_renewed { robots.renewed() } else { robots });
            *site = Arc::new(Site { since: former.since, error: Some(why.to_owned()), ..kept });
        }
        self.hosts = Hosts::plain(&self.sites);
    }
}

/// What the exchange with the other members asks and tells.
impl Reloader {
    /// The time on the clock that notice runs by, in microseconds: later for each process of a state folder that starts later.
    pub fn time(&self) -> u64 {
        u64::try_from(self.current().clock.now().0.as_micros()).unwrap_or(u64::MAX)
    }

    /// The last stamp that is noted; 0 where there is none.
    pub fn stamp(&self) -> u64 {
        self.history.stamp()
    }

    /// A stamp that had been given before any read under a policy that was built then, in microseconds.
    pub fn stamp_of(&self, as_of: u64) -> u64 {
        self.history.stamp_of(NoticeTime(Duration::from_micros(as_of)))
    }

    /// What this gateway serves, and is about to.
    pub fn own(&self) -> OwnFiles {
        let policy = self.current();
        // What ends from now on, others cannot know to be over.
        let covers = self.history.last_ended();
        // Another process of the state folder may go on to serve what it began with.
        let mut files = self.history.served_here();
        let own = offered(&policy);
        // A host that no site names is not asked for here.
        files.retain(|host, files| own.contains_key(host) || files.iter().any(Option::is_some));
        for (host, file) in own {
            files.entry(host).or_default().extend(file);
        }
        self.standing.speak(&mut files);
        let error = self.last().and_then(|last| last.errors.first().map(ConfigError::in_one_line));
        OwnFiles {
            files,
            past: self.history.ended_here(),
            notice: policy.config.notice,
            waived: self.history.own_waivers(),
            covers,
            serving: policy
                .sites()
                .iter()
                .map(|site| (site.config.name.clone(), site.version().map(|id| id.to_string())))
                .collect(),
            error,
        }
    }

    /// The bytes of these files, as far as its policy or what waits has them.
    pub fn bytes(&self) -> FileBytes {
        let mut known = bytes(&self.current());
        known.extend(self.standing.wanted_bytes());
        known
    }

    /// Which of the files that rows name are not known.
    pub fn missing(&self, rows: &SaidRows) -> Vec<Box<str>> {
        self.history.missing(rows)
    }

    /// Notes news, on the disk and in the policy in force.
    ///
    /// # Errors
    /// Where that cannot be done now.
    pub fn learn(&self, news: FleetNews) -> Result<(), UnlearntNews> {
        let _turn = self.turn.try_lock_for(Duration::from_secs(1)).ok_or(UnlearntNews::Busy)?;
        if !self.history.learn(&self.current(), news) {
            return Err(UnlearntNews::Faulty);
        }
        self.apply_history();
        Ok(())
    }

    /// Notes reads that others saw, each with a stamp that was given before it.
    pub fn learn_reads(&self, reads: Vec<(u64, ReadTotal)>) {
        // It counts from `settle` after it is known here, which is later than it was.
        let at = self.current().clock.now();
        let place = |(stamp, read): (u64, ReadTotal)| {
            let placed = Read { as_of: self.history.time_before(stamp), at, ..read.read() };
            ReadTotal { sum: ReadSum::of(placed, read.sum.seen), ..read }
        };
        self.reads.restore(&reads.into_iter().map(place).collect::<Vec<_>>());
    }

    /// The last generation that the policy has.
    pub fn taken_generation(&self) -> i64 {
        self.current().published.number
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
        if self.standing.may_go_on()
            && let Ok(report) = self.reload(Trigger::Fleet, false)
            && report.result == ReloadResult::Refused
            && self.standing.may_go_on()
        {
            // It is told by the reload itself. What it is refused for has nothing to do with the fleet, which knows of it.
            self.standing.withdraw();
        }
    }
}
