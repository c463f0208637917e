//! How much of the store one network may take in a day under names that are not confirmed.
//!
//! A client can use any name, also each of the catalogue. So the names of one network share what the store keeps of them by
//! target, event and reader, in bytes, and the places for names outside the catalogue. Beyond that only counts are kept.
//!
//! Networks share places of a table by a keyed hash, so its size is fixed. A process that starts anew begins anew.

use crate::record::tally::{DAY, start_of};
use crate::request::address::Network;
use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher as _, Hash};

/// The part of the store's size that the details of one network may take in a day; those of violations twice as much.
const PART: u64 = 64;

/// Names outside the catalogue that one network may bring in a day.
const NAMES: u32 = 50;

/// Places of the table.
const PLACES: usize = 4_096;

/// Longer rows need a page of their own.
const SHORT_ROW: u64 = 900;

/// What a network has taken.
#[derive(Clone, Copy, Debug, Default)]
struct NetworkShare {
    bytes: u64,
    names: u32,
}

/// What all networks have taken on the day.
#[derive(Clone, Debug)]
pub(in crate::record) struct NetworkShares {
    state: DefaultHashBuilder,
    shares: Box<[NetworkShare]>,
    today: i64,
    max_bytes: u64,
}

/// A detail that is to be written: of which network, for which day, of how many bytes, and whether it is of a violation.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredDetail<N> {
    pub(super) network: N,
    /// Whether the name is confirmed: then no network bounds it.
    pub(super) is_confirmed: bool,
    pub(super) day: i64,
    pub(super) bytes: usize,
    pub(super) is_violation: bool,
}

impl NetworkShares {
    pub(in crate::record) fn new(max_bytes: u64) -> Self {
        let shares = vec![NetworkShare::default(); PLACES].into();
        Self { state: DefaultHashBuilder::default(), shares, today: 0, max_bytes }
    }

    /// Begins anew on another day. `now` is in microseconds.
    pub(super) fn begin(&mut self, now: i64) {
        let today = start_of(now, DAY);
        if self.today != today {
            self.today = today;
            self.shares.fill(NetworkShare::default());
        }
    }

    fn share(&mut self, network: impl Hash, day: i64) -> Option<&mut NetworkShare> {
        let place = usize::try_from(self.state.hash_one((network, day)) >> 32).unwrap_or_default();
        self.shares.get_mut(place % PLACES)
    }

    /// Whether there is room for a detail in a store of so many bytes: those of violations have the last room. Housekeeping
    /// makes room from 90 % on.
    pub(super) fn has_room(&mut self, detail: &StoredDetail<impl Hash + Copy>, bytes: u64) -> bool {
        if bytes > self.max_bytes / 100 * if detail.is_violation { 95 } else { 93 } {
            return false;
        }
        let most = self.max_bytes / PART * if detail.is_violation { 2 } else { 1 };
        let fits = |share: &mut NetworkShare| share.bytes + detail.cost() <= most;
        detail.is_confirmed || self.share(detail.network, detail.day).is_none_or(fits)
    }

    /// Takes that room.
    pub(super) fn take(&mut self, detail: &StoredDetail<impl Hash + Copy>) {
        if let Some(share) = self.share(detail.network, detail.day).filter(|_| !detail.is_confirmed) {
            share.bytes += detail.cost();
        }
    }

    /// Whether a network may bring one more name on a day. If so, that is counted.
    pub(super) fn takes_name(&mut self, network: Option<Network>, day: i64) -> bool {
        let Some(share) = self.share(network, day) else { return true };
        let may = share.names < NAMES;
        share.names += u32::from(may);
        may
    }
}

impl<N> StoredDetail<N> {
    /// About how many bytes it takes in the file.
    fn cost(&self) -> u64 {
        let bytes = self.bytes as u64;
        bytes + if bytes > SHORT_ROW { 4_096 } else { 128 }
    }
}
