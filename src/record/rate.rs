//! How many lines of the journal one sender may have: a crawler of one network whose name is confirmed, or all others there.
//!
//! Bounded: senders are counted in a sketch of fixed size, which is emptied when a period is over. It may count a few lines
//! of others to a sender, never fewer than its own.

use super::tally::network;
use crate::identify::{Identity, Proof};
use crate::request::address::Network;
use pingora_limits::rate::Rate;
use std::fmt;
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

/// How many numbers each of the [`HASHES`] of the sketch has: 1 MiB in all.
const SLOTS: usize = 32_768;

/// By how many hashes a sender is counted. The least of their numbers counts.
const HASHES: usize = 2;

/// Who has had how many lines lately.
pub(super) struct RateTable {
    lines: isize,
    rates: Rate,
}

impl fmt::Debug for RateTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RateTable").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl RateTable {
    pub(super) fn new(rate: JournalRate) -> Self {
        let lines = isize::try_from(rate.lines).unwrap_or(isize::MAX);
        Self { lines, rates: Rate::new_with_estimator_config(rate.period, HASHES, SLOTS) }
    }

    /// Whether the sender may have one more line now.
    pub(super) fn admits(&self, sender: LineSender<'_>) -> bool {
        self.rates.observe(&sender, 1) <= self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Basis, ClientKind};
    use std::sync::Arc;

    const RATE: JournalRate = JournalRate { lines: 100, period: Duration::from_secs(3_600) };

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
                admitted(&table, LineSender::new(&identity, proof, Some(address.into())), 150)
            };
            names.zip(kinds.into_iter().cycle()).map(sum).sum::<usize>()
        };
        assert_eq!(lines(Proof::Unchecked, [192, 0, 2, 1]), 100);
        assert_eq!(lines(Proof::Contradicted, [192, 0, 2, 1]), 100);
        let confirmed = lines(Proof::Confirmed, [192, 0, 2, 1]);
        assert!((336 * 98..=336 * 100).contains(&confirmed), "{confirmed}");
    }

    /// How many of `count` lines at once are admitted.
    fn admitted(table: &RateTable, sender: LineSender<'_>, count: usize) -> usize {
        (0..count).filter(|_| table.admits(sender)).count()
    }

    #[test]
    fn a_sender_has_its_lines_and_others_have_lines_of_their_own() {
        let table = RateTable::new(RATE);
        for other in [sender("GPTBot", 2), sender("GPTBot", 3), sender("bingbot", 2)] {
            assert_eq!(admitted(&table, other, 150), 100, "{other:?}");
        }
        let table = RateTable::new(JournalRate { lines: 100, period: Duration::from_millis(50) });
        assert!(admitted(&table, sender("GPTBot", 2), 500) >= 100);
        std::thread::sleep(Duration::from_millis(60));
        assert!(admitted(&table, sender("GPTBot", 2), 500) >= 100, "the period is over");
    }
}
