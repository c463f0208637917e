//! Exact counts since the start of the process: of the whole, and by site, client and verdict.
//!
//! Every set of counters is bounded by the configuration: there are as many as sites. Raising one takes no
//! lock. Names that clients make up are counted by the tally, not here.
//!
//! `/metrics`, `gatewayctl status` and alerts read these counts. The report does not: it reads the store.

use super::doors::DoorTotals;
use super::event::EventKind;
use super::latency::JudgingLatency;
use super::origins::OriginTotals;
use super::sharded::{Counters, Sharded};
use super::unknown_hosts::UnknownHosts;
use crate::enforce::Action;
use crate::identify::{ClientKind, Proof};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use strum::{EnumCount as _, VariantArray as _};

/// What a request that reached a site turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// It was judged, and this came of it.
    Judged(EventKind, Action),
    /// Robots.txt does not speak to it: a person's client, an exempt address, a mode that is off.
    NotJudged,
    /// It asked for `/robots.txt`, and was answered with this status.
    RobotsTxt(u16),
}

impl RequestClass {
    /// Every word for a verdict, in the order of the counters.
    pub const VERDICTS: [&str; 8] =
        ["allowed", "violation", "stale", "variant", "spoof", "pace", "not-judged", "robots-txt"];

    /// How many of them are for clients that are judged: one for each kind of event.
    const JUDGED: usize = 6;

    const fn index(self) -> usize {
        match self {
            Self::Judged(kind, _) => kind as usize,
            Self::NotJudged => Self::JUDGED,
            Self::RobotsTxt(_) => Self::JUDGED + 1,
        }
    }
}

/// The statuses that `/robots.txt` is answered with.
const ROBOTS_STATUSES: [u16; 4] = [200, 304, 404, 405];

const VERDICTS: usize = RequestClass::VERDICTS.len();

/// Counters of one site.
#[derive(Debug, Default)]
pub struct SiteTotals {
    verdicts: Sharded<{ ClientKind::COUNT * VERDICTS }>,
    /// Refusals by client.
    pub refusals: Counters<ClientKind, { ClientKind::COUNT }>,
    /// Requests answered 429 for their pace, by client; they are no refusals.
    pub slowed: Counters<ClientKind, { ClientKind::COUNT }>,
    /// Judged requests by what supported the name they gave.
    pub proofs: Counters<Proof, { Proof::COUNT }>,
    robots: Sharded<{ ROBOTS_STATUSES.len() }>,
}

impl SiteTotals {
    fn count(&self, client: ClientKind, proof: Proof, class: RequestClass) {
        self.verdicts.add(client as usize * VERDICTS + class.index(), 1);
        match class {
            RequestClass::Judged(kind, action) => {
                self.proofs.count(proof);
                if action.keeps_out() {
                    let counters = if kind == EventKind::Pace { &self.slowed } else { &self.refusals };
                    counters.count(client);
                }
            }
            RequestClass::RobotsTxt(status) => {
                let index = ROBOTS_STATUSES.iter().position(|known| *known == status);
                self.robots.add(index.unwrap_or(ROBOTS_STATUSES.len()), 1);
            }
            RequestClass::NotJudged => {}
        }
    }

    /// Requests by client and verdict, a word of [`RequestClass::VERDICTS`]. Clients that are never judged have
    /// no verdicts but two.
    pub fn verdicts(&self) -> impl Iterator<Item = (ClientKind, &'static str, u64)> {
        let words = || RequestClass::VERDICTS.into_iter().enumerate();
        ClientKind::VARIANTS.iter().copied().flat_map(move |client| {
            let spoken_of =
                words().filter(move |(index, _)| client.is_judged() || *index >= RequestClass::JUDGED);
            spoken_of.map(move |(index, word)| {
                (client, word, self.verdicts.get(client as usize * VERDICTS + index))
            })
        })
    }

    /// Answers to `/robots.txt` by status.
    pub fn robots(&self) -> impl Iterator<Item = (u16, u64)> {
        ROBOTS_STATUSES.into_iter().enumerate().map(|(index, status)| (status, self.robots.get(index)))
    }

    fn of_verdict(&self, wanted: usize) -> u64 {
        (0..ClientKind::COUNT).map(|client| self.verdicts.get(client * VERDICTS + wanted)).sum()
    }
}

/// Counters that any thread may raise. None is ever lost: they depend on no queue.
#[derive(Debug, Default)]
pub struct Totals {
    requests: Sharded<1>,
    /// The counters of every site there was since the start, by name.
    pub sites: ArcSwap<BTreeMap<Box<str>, Arc<SiteTotals>>>,
    faults: AtomicU64,
    malformed: AtomicU64,
    no_site: AtomicU64,
    /// Requests with a browser's header from addresses of a crawler of the catalogue, by its name.
    pub hidden: Mutex<BTreeMap<Arc<str>, u64>>,
    /// The hosts of requests that are for no site's.
    pub unknown_hosts: UnknownHosts,
    /// How long judging took, robots.txt being answered included.
    pub judging: JudgingLatency,
    /// What is asked of origins.
    pub origins: OriginTotals,
    /// What other proxies ask.
    pub doors: DoorTotals,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TotalsSnapshot {
    /// Requests seen, judged or not.
    pub requests: u64,
    /// Requests of clients that robots.txt speaks to.
    pub judged: u64,
    /// Violations.
    pub violations: u64,
    /// Requests disallowed only by some version the client could hold.
    pub stale: u64,
    /// Variants of a disallowed path.
    pub variants: u64,
    /// Allowed requests under a borrowed name.
    pub spoofed: u64,
    /// Requests that came faster than they were asked to.
    pub too_fast: u64,
    /// Those of them that were answered 429.
    pub slowed: u64,
    /// Refusals of what the rules disallow.
    pub refused: u64,
    /// Answers to `/robots.txt`.
    pub robots_txt: u64,
    /// Faults of the gateway's own stages that were caught, the request being forwarded unjudged.
    pub faults: u64,
    /// Requests that were no requests (RFC 9112 §3), answered with 400.
    pub malformed: u64,
    /// Requests for a host that is no site's, answered with 421.
    pub no_site: u64,
}

impl Totals {
    /// Counts one request that reached a site.
    pub fn request(&self) {
        self.requests.add(0, 1);
    }

    /// Counts what a request to `site`, a name of the configuration, turned out to be.
    pub fn count(&self, site: &str, client: ClientKind, proof: Proof, class: RequestClass) {
        if let Some(counters) = self.sites.load().get(site) {
            return counters.count(client, proof, class);
        }
        self.site(site).count(client, proof, class);
    }

    /// Counts one caught fault.
    pub fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one request that was none (RFC 9112 §3).
    pub fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one request for a host that is no site's.
    pub fn no_site(&self, host: &str, now: SystemTime) -> bool {
        self.no_site.fetch_add(1, Ordering::Relaxed);
        self.unknown_hosts.note(host, now)
    }

    /// The counters of a site, which exist from now on.
    pub fn site(&self, name: &str) -> Arc<SiteTotals> {
        self.sites.rcu(|sites| {
            if sites.contains_key(name) {
                return Arc::clone(sites);
            }
            let mut more = BTreeMap::clone(sites);
            more.insert(name.into(), Arc::default());
            Arc::new(more)
        });
        self.sites.load().get(name).map(Arc::clone).unwrap_or_default()
    }

    /// The counts now.
    pub fn snapshot(&self) -> TotalsSnapshot {
        let sites = self.sites.load();
        let of = |index| sites.values().map(|site| site.of_verdict(index)).sum();
        let sum = |count: fn(&SiteTotals) -> u64| sites.values().map(|site| count(site)).sum();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TotalsSnapshot {
            requests: self.requests.get(0),
            judged: (0..RequestClass::JUDGED).map(|index| -> u64 { of(index) }).sum(),
            violations: of(EventKind::Violation as usize),
            stale: of(EventKind::Stale as usize),
            variants: of(EventKind::Variant as usize),
            spoofed: of(EventKind::Spoof as usize),
            too_fast: of(EventKind::Pace as usize),
            slowed: sum(|site| site.slowed.all().map(|(_, count)| count).sum()),
            refused: sum(|site| site.refusals.all().map(|(_, count)| count).sum()),
            robots_txt: sum(|site| site.robots().map(|(_, count)| count).sum()),
            faults: read(&self.faults),
            malformed: read(&self.malformed),
            no_site: read(&self.no_site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(totals: &Totals, site: &str, client: ClientKind, kind: EventKind, action: Action) {
        totals.count(site, client, Proof::Unchecked, RequestClass::Judged(kind, action));
    }

    #[test]
    fn each_kind_has_its_own_counter() {
        let totals = Totals::default();
        for (kind, action) in [
            (EventKind::Violation, Action::Refuse),
            (EventKind::Violation, Action::Forward),
            (EventKind::Stale, Action::Forward),
            (EventKind::Variant, Action::Refuse),
            (EventKind::Spoof, Action::Forward),
            (EventKind::Pace, Action::Refuse),
            (EventKind::Allowed, Action::Forward),
        ] {
            judged(&totals, "a", ClientKind::Crawler, kind, action);
        }
        totals.count("a", ClientKind::Browser, Proof::Unchecked, RequestClass::NotJudged);
        totals.count("a", ClientKind::Browser, Proof::Unchecked, RequestClass::RobotsTxt(304));
        let counts = totals.snapshot();
        assert_eq!((counts.judged, counts.violations, counts.stale), (7, 2, 1));
        assert_eq!((counts.variants, counts.spoofed, counts.refused), (1, 1, 2));
        assert_eq!((counts.too_fast, counts.slowed), (1, 1));
        assert_eq!(counts.robots_txt, 1);
    }

    #[test]
    fn the_words_of_events_are_those_of_verdicts() {
        for kind in [
            EventKind::Violation,
            EventKind::Stale,
            EventKind::Variant,
            EventKind::Spoof,
            EventKind::Pace,
            EventKind::Allowed,
        ] {
            let index = RequestClass::Judged(kind, Action::Forward).index();
            assert_eq!(kind.as_str(), RequestClass::VERDICTS[index]);
        }
        assert_eq!(RequestClass::VERDICTS[RequestClass::NotJudged.index()], "not-judged");
        assert_eq!(RequestClass::VERDICTS[RequestClass::RobotsTxt(200).index()], "robots-txt");
    }

    #[test]
    fn clients_stand_in_the_order_of_their_numbers() {
        for (number, client) in ClientKind::VARIANTS.iter().copied().enumerate() {
            assert_eq!(client as usize, number);
        }
    }

    #[test]
    fn sites_are_counted_apart_even_when_threads_meet_them_at_once() {
        let totals = Totals::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..400 {
                        let site = ["a", "b", "c", "d"][number % 4];
                        judged(&totals, site, ClientKind::Tool, EventKind::Violation, Action::Refuse);
                    }
                });
            }
        });
        let sites = totals.sites.load();
        assert_eq!(sites.keys().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        for site in sites.values() {
            let found: Vec<_> = site.verdicts().filter(|(.., count)| *count > 0).collect();
            assert_eq!(found, [(ClientKind::Tool, "violation", 800)]);
            assert_eq!(site.refusals.all().map(|(_, count)| count).sum::<u64>(), 800);
            assert_eq!(site.proofs.all().collect::<Vec<_>>()[2], (Proof::Unchecked, 800));
        }
    }

    #[test]
    fn people_have_no_verdicts_that_rules_speak() {
        let totals = Totals::default();
        let words: Vec<_> = totals
            .site("a")
            .verdicts()
            .filter(|(client, ..)| *client == ClientKind::Browser)
            .map(|(_, word, _)| word)
            .collect();
        assert_eq!(words, ["not-judged", "robots-txt"]);
    }
}
