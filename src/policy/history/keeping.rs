//! What the past asks for while the gateway runs, and what it tells an operator.

use super::NoticeHistory;
use crate::decide::{NoticePeriod, NoticeTime, SiteRules};
use crate::policy::modes::no_such_site;
use crate::policy::{HostSlot, Policy, ReloadError, ReloadReport, ReloadResult, Reloader, Site};
use crate::record::{
    FleetWaiver, HOLDS, NotedWaiver, ROWS_LOOK, RowsError, format_span, timestamp, whole_micros,
};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long after rows were written last the time is noted.
const NOTED: Duration = Duration::from_secs(30);

/// How long a change of notice waits for a reload to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes of robots.txt files are handed to the recorder at a time.
const AT_ONCE: usize = 8 * 1024 * 1024;

/// How far the version in force of a site binds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteNotice {
    /// From when on it binds everybody; `None` where it does, or where that cannot be said.
    pub binds_from: Option<SystemTime>,
    /// How many crawlers have read it.
    pub read_by: usize,
    /// Whether another process or member still serves another version, which excuses everybody.
    pub is_served_otherwise: bool,
    /// What nobody knows of the time before: while it lasts nobody is accused.
    pub unknown: Vec<UnknownSpan>,
    /// Whom it binds at once, by the operator's word.
    pub waived_for: Vec<String>,
}

/// Something that nobody knows of what a site served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSpan {
    /// What, as the subject of a sentence.
    pub what: &'static str,
    /// Until when crawlers could hold it; `None` while that goes on.
    pub until: Option<SystemTime>,
}

/// A time to come, and how far away it is.
fn when(time: SystemTime) -> String {
    let left = time.duration_since(SystemTime::now()).unwrap_or_default();
    format!("{} (in {})", timestamp(time), format_span(left))
}

impl SiteNotice {
    /// Takes up the past of one host.
    fn add(&mut self, rules: &SiteRules, period: NoticePeriod, now: NoticeTime, time: SystemTime) {
        for old in &rules.former {
            let until = old.until.map(|until| until.after(period.notice));
            if until.is_some_and(|until| until <= now) {
                continue;
            }
            let until = until.and_then(|until| time.checked_add(until.since(now)));
            match (&old.version, until) {
                (Err(doubt), _) => self.add_unknown(doubt.what(), until),
                (Ok(_), None) => self.is_served_otherwise = true,
                (Ok(_), Some(_)) => self.binds_from = self.binds_from.max(until),
            }
        }
        if self.is_served_otherwise {
            self.binds_from = None;
        }
        self.add_waivers(rules, |at| period.covers(at, now));
    }

    /// Notes something unknown; of several hosts what lasts longest.
    fn add_unknown(&mut self, what: &'static str, until: Option<SystemTime>) {
        match self.unknown.iter_mut().find(|known| known.what == what) {
            Some(known) => known.until = known.until.zip(until).map(|(one, other)| one.max(other)),
            None => self.unknown.push(UnknownSpan { what, until }),
        }
    }

    /// A word against notice ends with the notice that it set aside.
    fn add_waivers(&mut self, rules: &SiteRules, is_within: impl Fn(NoticeTime) -> bool) {
        let former = rules.former.iter().filter(|old| old.version.is_ok()).filter_map(|old| old.until);
        let within: Vec<NoticeTime> = former.filter(|until| is_within(*until)).collect();
        for waiver in &*rules.waivers {
            let whom = waiver.crawler.as_deref().unwrap_or("everyone");
            let is_new = !self.waived_for.iter().any(|known| known == whom);
            if is_new && within.iter().any(|until| *until <= waiver.at) {
                self.waived_for.push(whom.to_owned());
            }
        }
    }
}

impl fmt::Display for SiteNotice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("in force; ")?;
        match self.binds_from {
            _ if self.is_served_otherwise => out.write_str(
                "does not bind everyone yet: another gateway of the fleet, or with the same state folder, still serves \
                 another version",
            )?,
            Some(time) if self.waived_for.iter().any(|whom| whom == "everyone") => {
                write!(out, "notice ends at {}", when(time))?;
            }
            Some(time) => write!(out, "binds everyone from {}", when(time))?,
            None => out.write_str("binds everyone")?,
        }
        let plural = if self.read_by == 1 { "crawler has" } else { "crawlers have" };
        write!(out, "; {} {plural} read it", self.read_by)?;
        if !self.waived_for.is_empty() {
            write!(out, "; notice is waived for {}", self.waived_for.join(", "))?;
        }
        for UnknownSpan { what, until } in &self.unknown {
            write!(out, "; {what} is unknown, so no violations are counted ")?;
            match until {
                Some(until) => write!(out, "until {}", when(*until))?,
                None => out.write_str("until that changes")?,
            }
        }
        Ok(())
    }
}

impl NoticeHistory {
    /// Has what is in force bind everybody at once, on the hosts of `site` or on all, and one crawler or everybody.
    pub(super) fn waive(
        &mut self,
        policy: &Policy,
        site: Option<usize>,
        crawler: Option<&str>,
    ) -> Result<(), RowsError> {
        let of_site = |slot: &&HostSlot| slot.site == site;
        let hosts: Option<Vec<Box<str>>> = site
            .map(|_| policy.hosts.slots.iter().filter(of_site).map(|slot| slot.pattern.clone()).collect());
        let crawler: Option<Box<str>> = crawler.map(|name| name.to_ascii_lowercase().into());
        let mut next = self.own.clone();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let said = FleetWaiver { id: whole_micros(now), hosts, crawler };
        let (is_for_others, at) = (policy.config.fleet.is_some(), self.own.clock.now());
        next.waive(NotedWaiver { said, is_for_others, at });
        self.write(next)
    }
}

impl Reloader {
    /// How far the version in force of a site binds.
    pub fn notice(&self, policy: &Policy, site: &Site) -> SiteNotice {
        let (now, time) = (policy.clock.now(), SystemTime::now());
        let index = policy.sites().iter().position(|one| one.config.name == site.config.name);
        let mut notice = SiteNotice::default();
        for slot in policy.hosts.slots.iter().filter(|slot| index.is_some() && slot.site == index) {
            notice.add(&slot.rules, policy.config.period(), now, time);
        }
        if site.version().is_some() {
            let is_here =
                |host: &str| policy.site(host).is_some_and(|one| one.config.name == site.config.name);
            notice.read_by = self.reads.readers_of(site.rules.current().rules, is_here);
        }
        notice
    }

    /// Has the version in force bind at once after a reload: on one site or on all, and one crawler or everybody.
    /// Where the reload refused anything, it does not.
    ///
    /// # Errors
    /// When there is no such site, or it cannot be noted. Then nothing has changed but by the reload.
    pub fn bind_now(
        &self,
        report: &mut ReloadReport,
        site: Option<&str>,
        crawler: Option<&str>,
    ) -> Result<(), String> {
        if report.result == ReloadResult::Refused {
            return Ok(());
        }
        let _turn = self.turn.try_lock_for(PATIENCE).ok_or_else(|| ReloadError::Busy.to_string())?;
        let policy = self.current();
        let index = site
            .map(|name| {
                let found = policy.sites().iter().position(|site| site.config.name == name);
                found.ok_or_else(|| no_such_site(name))
            })
            .transpose()?;
        let waived = self.history.lock().waive(&policy, index, crawler);
        waived.map_err(|error| error.to_string())?;
        tracing::warn!(
            site,
            crawler,
            "notice is waived by hand: the version in force binds every crawler at once"
        );
        self.apply_history();
        self.standing.wake.notify_one();
        let policy = self.current();
        for change in &mut report.sites {
            if let Some(site) = policy.named(&change.site) {
                change.notice = self.notice(&policy, site).to_string();
            }
        }
        Ok(())
    }

    /// Puts the policy in force again, with the past as it is now.
    pub(in crate::policy) fn apply_history(&self) {
        self.current.update(|policy| {
            let mut next = policy.clone();
            self.history.lock().give(&mut next);
            Some(next)
        });
    }

    /// Waits until the other processes of the state folder certainly know what is about to be served. What they begin to serve
    /// meanwhile, the policy in force goes on to learn.
    pub(in crate::policy) fn wait_for_others(&self) {
        let begun = Instant::now();
        while begun.elapsed() < HOLDS {
            thread::sleep(ROWS_LOOK);
            if self.history.lock().hear() {
                self.apply_history();
            }
        }
    }

    fn note_last_noted(&self) {
        if let Some(noted) = self.history.lock().last_noted() {
            self.recorder.set_rows_noted(noted);
        }
    }

    /// Has the recorder note which versions are in force, as far as `previous` does not say the same.
    pub(in crate::policy) fn record_versions(&self, policy: &Policy, previous: Option<&Policy>) {
        let mut waiting = 0;
        for site in policy.sites() {
            let known = previous.and_then(|policy| policy.named(&site.config.name));
            let is_same = |known: &Site| !known.is_unknown && known.version() == site.version();
            if site.is_unknown || known.is_some_and(|known| is_same(known)) {
                continue;
            }
            let bytes = site.robots.as_ref().map(|file| &*file.bytes);
            self.recorder.in_force(&site.config.name, bytes, site.since);
            waiting += bytes.map_or(0, <[u8]>::len);
            if waiting > AT_ONCE {
                self.recorder.flush();
                waiting = 0;
            }
        }
    }

    /// Looks after the past from now on, on a thread of its own: processes that end, and the time.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn keep_history(self: &Arc<Self>) -> io::Result<()> {
        let reloader = Arc::downgrade(self);
        let keep = move || {
            loop {
                thread::sleep(ROWS_LOOK);
                let Some(reloader) = reloader.upgrade() else { return };
                reloader.look_at_history();
            }
        };
        thread::Builder::new().name("history".to_owned()).spawn(keep).map(drop)
    }

    pub(super) fn look_at_history(&self) {
        // A reload that reads files may take its time, and others wait for no longer than a look: it goes on meanwhile. One that
        // is about to serve what it read looks by itself.
        let Some(_serving) = self.serving.try_lock() else {
            self.history.lock().hear();
            return;
        };
        if self.history.lock().look(&self.current()) {
            self.apply_history();
        }
        if self.recorder.has_begun_a_store() {
            self.record_versions(&self.current(), None);
        }
        if self.current().clock.now().since(self.history.lock().own.noted) > NOTED {
            self.note_time();
        }
        self.note_last_noted();
    }

    /// Notes that nothing is served any more.
    pub fn close_history(&self) {
        self.note_time();
        self.history.lock().close();
        self.note_last_noted();
    }

    fn note_time(&self) {
        let seen = self.reads.robots_seen.all(self.current().clock.now());
        self.history.lock().note_time(seen);
    }
}
