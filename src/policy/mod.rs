//! Everything a request needs, in one immutable value, and the one place where it is replaced.
//!
//! A request takes its [`Policy`] once and keeps it to the end, so it never sees two. [`Reloader`] builds
//! the next one from the files and swaps it in. A file with a fault is not taken: the last good one stays in force.
//!
//! Also here: [`JudgedClient::judge`], which takes a request through identify, decide and enforce; the past of each host ([`NoticeHistory`]);
//! proof of crawlers' names ([`Prover`]); the copies of origins' robots.txt ([`OriginFiles`]).

mod actions;
mod certificates;
mod changes;
mod composition;
mod copies;
mod fetched;
mod fleet;
mod history;
mod hosts;
mod judge;
mod load;
mod modes;
mod origin_file;
mod proof;
mod publications;
mod reload;
mod robots_file;
mod secrets;
mod site;
mod standing;
mod upstream;
mod watch;

pub use actions::{Exceptions, SetAction};
pub use certificates::{Certificates, ShownCertificate, Validity};
pub use changes::{ReloadReport, ReloadResult, SiteChange};
pub use composition::{NoSite, ServedLine, ServedRobots};
pub use copies::COPIES;
pub use fetched::{FetchAnswer, KeptFile, Validators, retry_after};
pub use fleet::{FleetGeneration, offer_first};
pub use history::{NoticeHistory, SiteNotice, UnknownSpan};
pub use hosts::{HostSlot, Hosts};
pub use judge::{JudgedClient, JudgedRequest, pace_of};
pub use load::{check, recogniser, trial};
pub use modes::{ModeInForce, ModeScope, ModeSource, Modes, Override, Overrides, Scope, SiteModes};
pub use origin_file::{FETCH_MARKER, FetchReport, OWN_FETCH, OriginFiles, OriginState};
pub use proof::*;
pub use publications::*;
pub use reload::{LastReload, ReloadError, Reloader, Trigger};
pub use robots_file::{RobotsFile, Unfit, fitness};
pub use secrets::{Secret, Webhook};
pub use site::{Replies, ReplyKey, Site};
pub use standing::{FleetDoubt, FleetNews, FleetStanding, OwnWord};
pub use upstream::{OriginFailures, Upstream, Upstreams};
pub use watch::watch;

use crate::config::{Config, HostPattern, SiteConfig};
use crate::decide::{NoticeTime, PaceLimit, SiteRules};
use crate::enforce::SetByName;
use crate::identify::{Card, Identifier};
use crate::record::NoticeClock;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Configuration, recognition and the compiled rules of all sites.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Rises by one with every policy that comes into force.
    pub generation: u64,
    /// When it was built, a moment before it came into force.
    pub since: SystemTime,
    /// What the operator chose, and is in force.
    pub config: Arc<Config>,
    /// The keys that the operator chose otherwise, and that wait for the next start.
    pub waiting: Vec<String>,
    /// Recognises clients.
    pub identifier: Arc<Identifier>,
    /// What TLS shows.
    pub certificates: Certificates,
    /// Rates that the operator set.
    pub rates: SetByName<Option<PaceLimit>>,
    /// What violations are answered with, where that is no refusal of the site.
    pub actions: SetByName<Arc<SetAction>>,
    /// Who is not judged.
    pub exceptions: Exceptions,
    /// What crawlers are proved by.
    pub evidence: Arc<Evidence>,
    /// What other proxies have to send, where a secret is wanted.
    pub secret: Option<Secret>,
    /// Where alerts are sent.
    pub webhook: Option<Webhook>,
    /// The catalogues beside the bundled one as last read, to tell whether they changed.
    catalogue: load::CatalogueTexts,
    /// The clock that notice runs by.
    pub clock: NoticeClock,
    /// Until when what it knows of other processes is all that they serve, in microseconds of that clock.
    known_until: Arc<AtomicU64>,
    /// What the fleet published.
    pub published: Arc<FleetGeneration>,
    /// The modes that were set by hand.
    overrides: Overrides,
    sites: Vec<Arc<Site>>,
    /// The rules of every host.
    pub hosts: Hosts,
    /// A time by which it was in force, and no former one was any more; empty until it is asked for.
    in_force: OnceLock<NoticeTime>,
}

/// A catalogue that nobody has compared with documentation for so long knows many of today's crawlers by sight only.
const STALE_DAYS: i32 = 180;

/// What is to be told of a catalogue that was last compared with documentation on the day `checked`, where that is long
/// ago.
fn staleness(checked: &str, now: SystemTime) -> Option<String> {
    let checked: jiff::civil::Date = checked.parse().ok()?;
    let today = jiff::Timestamp::try_from(now).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date();
    let days = (today - checked).get_days();
    (days > STALE_DAYS).then(|| {
        format!(
            "the catalogue of crawlers was last compared with their documentation on {checked}, {days} days ago: a newer \
             version of this program, or a `catalogue` of your own, knows those that have come since"
        )
    })
}

impl Policy {
    /// A time by which it was in force, for who has found it to be: whoever asks first sets it.
    fn in_force(&self) -> NoticeTime {
        *self.in_force.get_or_init(|| self.clock.now())
    }

    /// Whether what it knows of other processes is all that they serve.
    fn knows_others(&self, now: NoticeTime) -> bool {
        now.0.as_micros() <= self.known_until.load(Ordering::Relaxed).into()
    }

    /// A read of what is served under these rules, which are in force, releases from all that had ended by then.
    pub fn as_of(&self, rules: &SiteRules) -> NoticeTime {
        rules.as_of.max(self.in_force())
    }

    /// What is to be told of a catalogue that is old.
    pub fn stale_catalogue(&self, now: SystemTime) -> Option<String> {
        let entries = self.identifier.catalogue().crawlers().iter();
        staleness(entries.filter_map(|crawler| crawler.checked.as_deref()).max()?, now)
    }

    /// The site that serves `host`, which is in normal form: exact, then the longest wildcard, then the
    /// default site.
    pub fn site(&self, host: &str) -> Option<&Arc<Site>> {
        let slot = self.hosts.slots.get(self.hosts.find(host)?)?;
        self.sites.get(slot.site?)
    }

    /// The site of a slot of [`Self::hosts`], and the rules of its hosts.
    pub fn found(&self, slot: Option<usize>) -> Option<(&Site, &SiteRules)> {
        let slot = self.hosts.slots.get(slot?)?;
        Some((self.sites.get(slot.site?)?, &slot.rules))
    }

    /// All sites in the order of the configuration.
    pub fn sites(&self) -> &[Arc<Site>] {
        &self.sites
    }

    /// The site that `next` follows: one that shares a host with it or else, for hosts that were nobody's
    /// own, the site that served them. Crawlers hold copies of what their host served, whatever the site was
    /// called.
    fn before(&self, next: &SiteConfig) -> Option<&Arc<Site>> {
        if next.hosts.is_empty() {
            return self.sites.iter().find(|site| site.config.hosts.is_empty());
        }
        let shares = |site: &&Arc<Site>| site.config.hosts.iter().any(|host| next.hosts.contains(host));
        let served = || next.hosts.iter().filter_map(HostPattern::exact).find_map(|name| self.site(name));
        self.sites.iter().find(shares).or_else(served)
    }

    /// Every file whose change is to be noticed.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.config.files.iter().cloned().chain(self.evidence.files())
    }

    /// The servers of all sites, and those that answer in place of refusals.
    pub fn origins(&self) -> impl Iterator<Item = (Option<&Arc<Site>>, &Upstreams)> {
        let of_sites = self.sites.iter().map(|site| (Some(site), &site.origin));
        of_sites.chain(self.actions.values().filter_map(|set| Some((None, set.servers.as_ref()?))))
    }

    /// What agents say of themselves.
    fn cards(&self) -> impl Iterator<Item = &Card> {
        self.identifier.catalogue().crawlers().iter().filter_map(|crawler| crawler.card.as_ref())
    }

    /// The site of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Site>> {
        self.sites.iter().find(|site| site.config.name == name)
    }
}

/// The single place where a policy is replaced.
#[derive(Debug)]
pub struct CurrentPolicy {
    policy: ArcSwap<Policy>,
    /// Whose turn it is to replace it. Nobody who has it reads a file or asks for a name; who applies the past of hosts may
    /// wait for a row that is being written.
    turn: Mutex<()>,
}

impl CurrentPolicy {
    /// Puts the first policy in force.
    pub fn new(policy: Policy) -> Self {
        Self { policy: ArcSwap::from_pointee(policy), turn: Mutex::default() }
    }

    /// The policy in force, which a request takes once and keeps to its end.
    pub fn get(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Puts in force what `make` makes of the policy that is, if it makes anything.
    fn update(&self, make: impl FnOnce(&Policy) -> Option<Policy>) {
        let _turn = self.turn.lock();
        let former = self.get();
        let Some(next) = make(&former) else { return };
        // A request that has taken it, and asks only after this, is told of no later time.
        former.in_force();
        let (generation, since, in_force) = (former.generation + 1, SystemTime::now(), OnceLock::new());
        self.policy.store(Arc::new(Policy { generation, since, in_force, ..next }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;
    use std::time::Duration;

    #[test]
    fn a_catalogue_is_stale_after_half_a_year() {
        let day = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400);
        assert_eq!(staleness("1970-01-01", day(180)), None);
        assert!(staleness("1970-01-01", day(181)).unwrap().contains("1970-01-01, 181 days ago"));
        assert_eq!(staleness("1970-01-01", day(0)), None);
        assert_eq!(staleness("soon", day(999)), None);
        let bundled = crate::config::catalogue::bundled().catalogue;
        assert!(bundled.crawlers().iter().any(|crawler| crawler.checked.as_deref() >= Some("2026-11-23")));
    }

    #[test]
    fn a_request_keeps_the_policy_that_it_took_and_nobody_else_does() {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let first = check(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap();
        let current = CurrentPolicy::new(first);
        let request = current.get();
        let former = Arc::downgrade(&request);
        current.update(|_| None);
        assert_eq!(current.get().generation, request.generation);
        current.update(|policy| Some(policy.clone()));
        assert_eq!(current.get().generation, request.generation + 1);
        let ended = current.get().in_force();
        assert!(
            request.in_force() <= ended,
            "what it serves is replaced, and a read of that releases nobody from it"
        );
        drop(request);
        assert!(former.upgrade().is_none());
    }
}
