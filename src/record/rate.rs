//! How many lines of the journal one sender may have: a crawler of one network whose name is confirmed, or all others there.
//!
//! Bounded: senders are kept by a keyed hash, in sets of so many. One is forgotten where its set is full, once it could send a
//! whole period's lines at once: that changes nothing. Who finds no place shares one with others like that.

use super::tally::network;
use crate::identify::{Identity, Proof};
use crate::request::address::Network;
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::Mutex;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::time::Duration;

/// So many lines in a period, all at once or one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalRate {
    /// Lines, one at least.
    pub lines: u32,
    /// The period.
    pub period: Duration,
}

/// Who has a line written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LineSender<'a> {
    /// `None` for a name that is not confirmed: a client could use another for each line, the catalogue's too.
    confirmed: Option<&'a str>,
    network: Option<Network>,
}

impl<'a> LineSender<'a> {
    pub(super) fn new(identity: &'a Identity, proof: Proof, address: Option<IpAddr>) -> Self {
        let confirmed = identity.crawler.as_deref().filter(|_| proof == Proof::Confirmed);
        Self { confirmed, network: address.map(network) }
    }

    /// What it is called in a message.
    pub(super) fn name(self) -> &'a str {
        self.confirmed.unwrap_or("a network, under names that are not confirmed")
    }
}

/// Sets of senders, by the low bits of the hash.
const SETS: usize = 64;

/// Places of a set.
const PLACES: usize = 128;

/// Where all have their place that found none, and whoever's hash that is.
const OTHERS: u64 = 0;

/// When who will have had as many lines as it may by then, in nanoseconds of uptime; by the hash of the sender.
type RateSet = Mutex<HashMap<u64, u64>>;

/// Who has had how many lines lately.
#[derive(Debug)]
pub(super) struct RateTable {
    /// Nanoseconds that a line is worth, and that may be spent at once.
    line: u64,
    period: u64,
    state: DefaultHashBuilder,
    sets: Box<[RateSet]>,
}

impl RateTable {
    pub(super) fn new(rate: JournalRate) -> Self {
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let period = nanoseconds(rate.period);
        Self {
            line: (period / u64::from(rate.lines.max(1))).max(1),
            period,
            state: DefaultHashBuilder::default(),
            sets: (0..SETS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether the sender may have one more line `now`, by the machine's uptime.
    pub(super) fn admits(&self, sender: LineSender<'_>, now: Duration) -> bool {
        let hash = self.state.hash_one(sender);
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let at = usize::try_from(hash).unwrap_or_default() % SETS;
        let Some(set) = self.sets.get(at) else { return true };
        let mut set = set.lock();
        if set.len() >= PLACES && !set.contains_key(&hash) {
            set.retain(|_, paid_until| *paid_until > now);
        }
        let has_place = set.len() < PLACES || set.contains_key(&hash);
        let known = set.entry(if has_place { hash } else { OTHERS }).or_default();
        let paid_until = (*known).max(now).saturating_add(self.line);
        let fits = paid_until - now <= self.period;
        if fits {
            *known = paid_until;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Basis, ClientKind};
    use std::sync::Arc;

    const START: Duration = Duration::from_secs(1_000);

    const RATE: JournalRate = JournalRate { lines: 100, period: Duration::from_secs(1) };

    fn sender(crawler: &str, network: u8) -> LineSender<'_> {
        let network = Some(super::network(IpAddr::from([192, 0, network, 1])));
        LineSender { confirmed: Some(crawler), network }
    }

    /// As many lines as the whole catalogue would have, one name after the other.
    #[test]
    fn names_that_are_not_confirmed_share_the_lines_of_their_network() {
        let lines = |proof, address: [u8; 4]| {
            let table = RateTable::new(RATE);
            let names = (0..336).map(|number| format!("bot{number}"));
            let kinds = [ClientKind::Crawler, ClientKind::Tool, ClientKind::Monitor, ClientKind::Fetcher];
            let sum = |(name, client): (String, ClientKind)| {
                let identity = Identity {
                    client,
                    crawler: Some(name.into()),
                    purpose: None,
                    tokens: Arc::new([]),
                    star: true,
                    basis: Basis::Catalogue,
                };
                admitted(&table, LineSender::new(&identity, proof, Some(address.into())), 150, START)
            };
            names.zip(kinds.into_iter().cycle()).map(sum).sum::<usize>()
        };
        assert_eq!(lines(Proof::Unchecked, [192, 0, 2, 1]), 100);
        assert_eq!(lines(Proof::Contradicted, [192, 0, 2, 1]), 100);
        assert_eq!(lines(Proof::Confirmed, [192, 0, 2, 1]), 336 * 100);
    }

    /// How many of `count` lines at once are admitted.
    fn admitted(table: &RateTable, sender: LineSender<'_>, count: usize, now: Duration) -> usize {
        (0..count).filter(|_| table.admits(sender, now)).count()
    }

    #[test]
    fn a_sender_has_its_lines_at_once_and_then_one_by_one() {
        let (table, one) = (RateTable::new(RATE), sender("GPTBot", 2));
        let start = START;
        assert_eq!(admitted(&table, one, 500, start), 100);
        assert_eq!(admitted(&table, one, 5, start + Duration::from_millis(10)), 1);
        assert_eq!(admitted(&table, one, 500, start + Duration::from_millis(260)), 25);
        assert_eq!(admitted(&table, one, 500, start + Duration::from_secs(60)), 100);
    }

    #[test]
    fn others_have_lines_of_their_own() {
        let table = RateTable::new(RATE);
        for other in [sender("GPTBot", 2), sender("GPTBot", 3), sender("bingbot", 2)] {
            assert_eq!(admitted(&table, other, 150, START), 100, "{other:?}");
        }
    }

    #[test]
    fn the_table_is_bounded_and_never_admits_more_than_its_rate() {
        let table = RateTable::new(JournalRate { lines: 2, period: Duration::from_secs(1) });
        let places = SETS * (PLACES + 1);
        let many = |number: usize, at| {
            let name = number.to_string();
            admitted(&table, sender(&name, 2), 3, at)
        };
        // Without a bound each would have two.
        let lines: usize = (0..4 * places).map(|number| many(number, START)).sum();
        assert!((places..=2 * places).contains(&lines), "{lines} of {places} places");
        // A second later all are forgotten, and that is right.
        let later = START + Duration::from_secs(1);
        assert_eq!(many(0, later), 2);
    }
}
