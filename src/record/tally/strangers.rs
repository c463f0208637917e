//! Which made-up names deserve a place of their own: those that come from several networks, or over time.
//!
//! A name outside the catalogue is whatever a client wrote. The store keeps so many of them a day by name; if the first
//! ones took all places, one client could take them within a second, and a new crawler would have no row. So only half
//! of the places go to the first that come, and the others to names that were seen from two networks, or in two spans of
//! ten minutes. To know those, names are remembered here for a while: a few for each network, so that whoever makes up
//! a great many forgets its own.

use super::account::FirstNetworks;
use super::batch::CountBatch;
use super::instant::{DAY, start_of};
use crate::record::network::NetworkId;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher as _;

/// Two sightings within one span of so many seconds are one.
const SPAN: i64 = 600;

/// Networks share rows of the table by a keyed hash.
const ROWS: usize = 128;

/// How many names of a row are remembered, the last ones.
const REMEMBERED: usize = 64;

/// How many names of a row may be found deserving on one day: whoever knows how to be found so cannot take all places.
const DESERVING: u16 = 64;

/// A name that was seen.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    /// A keyed hash of the name.
    name: u64,
    network: NetworkId,
    span: i64,
    is_deserving: bool,
}

/// The names that were seen first from one of a row's networks.
#[derive(Clone, Debug, Default)]
struct NetworkRow {
    sightings: Vec<Sighting>,
    /// Which of them is forgotten next.
    next: usize,
    day: i64,
    deserving: u16,
}

/// The names that are remembered.
#[derive(Debug, Default)]
pub(in crate::record) struct Strangers {
    state: DefaultHashBuilder,
    rows: Vec<NetworkRow>,
    /// Where a name is: its row, and its place there.
    places: HashMap<u64, (usize, usize)>,
}

impl Strangers {
    /// Marks the names of a batch that deserve a place. To be asked once for each batch.
    pub(in crate::record) fn mark_deserving(&mut self, batch: &mut CountBatch) {
        for (subject, account) in batch.accounts.iter_mut().filter(|(_, account)| !account.is_known) {
            if let Some((name, (first, last))) = subject.crawler.as_deref().zip(account.first_and_last()) {
                account.is_deserving = self.is_deserving(name, account.networks, first, last);
            }
        }
    }

    /// Notes that a name was seen between two instants, and says whether it deserves a place.
    fn is_deserving(&mut self, name: &str, networks: FirstNetworks, first: i64, last: i64) -> bool {
        let name = self.state.hash_one(name);
        let [first_span, last_span] = [first, last].map(|at| start_of(at, SPAN));
        let [network, other] = networks.both();
        let known = self.sighting(name);
        let Sighting { network: first_network, span, is_deserving, .. } = known.unwrap_or_else(|| {
            self.remember(Sighting { name, network, span: first_span, is_deserving: false })
        });
        let is_elsewhere = |network: NetworkId| network.is_known() && network != first_network;
        let is_seen_twice = is_elsewhere(network) || is_elsewhere(other) || last_span != span;
        is_deserving || (is_seen_twice && self.grant(name, start_of(last, DAY)))
    }

    fn sighting(&self, name: u64) -> Option<Sighting> {
        let (row, place) = self.places.get(&name)?;
        self.rows.get(*row)?.sightings.get(*place).copied()
    }

    /// Puts a name into the row of its network, in place of the oldest there.
    fn remember(&mut self, sighting: Sighting) -> Sighting {
        self.rows.resize_with(ROWS, NetworkRow::default);
        let at = usize::try_from(self.state.hash_one(sighting.network)).unwrap_or_default() % ROWS;
        if let Some(row) = self.rows.get_mut(at) {
            let place = row.next;
            row.next = (place + 1) % REMEMBERED;
            if let Some(oldest) = row.sightings.get_mut(place) {
                self.places.remove(&oldest.name);
                *oldest = sighting;
            } else {
                row.sightings.push(sighting);
            }
            self.places.insert(sighting.name, (at, place));
        }
        sighting
    }

    /// Finds a name deserving, if its row may have one more on that day.
    fn grant(&mut self, name: u64, day: i64) -> bool {
        let Some((row, place)) = self.places.get(&name).copied() else { return false };
        let Some(row) = self.rows.get_mut(row) else { return false };
        if row.day != day {
            (row.day, row.deserving) = (day, 0);
        }
        let may = row.deserving < DESERVING;
        if let Some(sighting) = row.sightings.get_mut(place).filter(|_| may) {
            sighting.is_deserving = true;
            row.deserving += 1;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    const MINUTE: i64 = 60_000_000;

    fn networks(last: &[u8]) -> FirstNetworks {
        let mut networks = FirstNetworks::default();
        for last in last {
            networks.add(NetworkId::of(Some(IpAddr::from([192, 0, *last, 1]))));
        }
        networks
    }

    fn sees(strangers: &mut Strangers, name: &str, network: u8, minute: i64) -> bool {
        strangers.is_deserving(name, networks(&[network]), minute * MINUTE, minute * MINUTE)
    }

    #[test]
    fn two_networks_or_two_spans_deserve_a_place() {
        let mut strangers = Strangers::default();
        assert!(
            !sees(&mut strangers, "a", 1, 0) && !sees(&mut strangers, "a", 1, 9),
            "one network, one span"
        );
        assert!(sees(&mut strangers, "a", 2, 9) && sees(&mut strangers, "a", 1, 9), "and so from then on");
        assert!(!sees(&mut strangers, "b", 1, 0) && sees(&mut strangers, "b", 1, 10));
        assert!(strangers.is_deserving("c", networks(&[1, 1, 2]), 0, 0), "within one batch");
        assert!(strangers.is_deserving("d", networks(&[1]), 0, 30 * MINUTE));
        assert!(!strangers.is_deserving("e", networks(&[]), 0, 0));
        assert!(!sees(&mut strangers, "f", 1, 0));
        assert!(!strangers.is_deserving("f", networks(&[]), 0, 0), "no address is no other network");
    }

    #[test]
    fn a_flood_forgets_its_own_names_and_no_others() {
        let mut strangers = Strangers::default();
        // Networks of other rows than the flood's.
        let row = |strangers: &Strangers, network: u8| {
            let [network, _] = networks(&[network]).both();
            strangers.state.hash_one(network) % 128
        };
        let other = (2..=u8::MAX).find(|other| row(&strangers, *other) != row(&strangers, 1)).unwrap();
        assert!(!sees(&mut strangers, "new", other, 0));
        let deserving =
            (0..100_000).filter(|number| sees(&mut strangers, &format!("x{number}"), 1, 0)).count();
        assert_eq!(deserving, 0);
        assert!(sees(&mut strangers, "new", 1, 1), "also from the flood's own network");
        assert!(strangers.places.len() <= REMEMBERED * 2);
        let held: usize = strangers.rows.iter().map(|row| row.sightings.len()).sum();
        assert_eq!(held, strangers.places.len());
    }

    #[test]
    fn a_network_that_knows_how_has_few_places() {
        let mut strangers = Strangers::default();
        let mut deserving = 0;
        for round in 0..100_i64 {
            for number in 0..60 {
                let name = format!("{}-{number}", round / 2);
                deserving += usize::from(sees(&mut strangers, &name, 1, round * 10));
            }
        }
        assert_eq!(deserving, usize::from(DESERVING), "of 3,000 that come again");
        assert!(
            !sees(&mut strangers, "next", 1, 1_440) && sees(&mut strangers, "next", 1, 1_450),
            "a new day"
        );
    }
}
