//! Addresses whose connections of HTTP/2 end in errors again and again. Some clients take such an end for "try again", and
//! do so without a pause: each try costs a TLS handshake.

use crate::request::address::Network;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How many such connections an address may have within [`WINDOW`]. Then it is turned away until that is over.
const MOST: u32 = 250;
const WINDOW: Duration = Duration::from_secs(60);

/// How many addresses are remembered.
const ADDRESSES: usize = 4_096;

/// The addresses, when the first error of each came and how many there were since.
#[derive(Debug, Default)]
pub(super) struct Offenders(Mutex<HashMap<Network, (Instant, u32)>>);

impl Offenders {
    /// A connection of `client` has ended in an error.
    pub(super) fn note(&self, client: Network, now: Instant) {
        let mut errors = self.0.lock();
        let is_recent = |since: Instant| now.saturating_duration_since(since) < WINDOW;
        if errors.len() >= ADDRESSES && !errors.contains_key(&client) {
            errors.retain(|_, (since, _)| is_recent(*since));
            if errors.len() >= ADDRESSES {
                return;
            }
        }
        let (since, count) = errors.entry(client).or_insert((now, 0));
        if !is_recent(*since) {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
    }

    /// Whether `client` is turned away.
    pub(super) fn contain(&self, client: Network, now: Instant) -> bool {
        let is_one = |(since, count): &(Instant, u32)| {
            *count >= MOST && now.saturating_duration_since(*since) < WINDOW
        };
        self.0.lock().get(&client).is_some_and(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn client(number: u32) -> Network {
        Network::around(IpAddr::V4(Ipv4Addr::from_bits(number)), 32, 64)
    }

    #[test]
    fn an_address_is_turned_away_for_what_is_left_of_a_minute() {
        let (offenders, start) = (Offenders::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for number in 0..MOST {
            assert!(!offenders.contain(client(1), at(0)), "{number}");
            offenders.note(client(1), at(0));
        }
        assert!(offenders.contain(client(1), at(59)) && !offenders.contain(client(2), at(59)));
        assert!(!offenders.contain(client(1), at(60)));
        offenders.note(client(1), at(61));
        assert!(!offenders.contain(client(1), at(62)), "it begins anew");
    }

    #[test]
    fn so_many_addresses_are_remembered_and_no_more() {
        let (offenders, start) = (Offenders::default(), Instant::now());
        for number in 0..2 * ADDRESSES {
            offenders.note(client(u32::try_from(number).unwrap()), start);
        }
        assert_eq!(offenders.0.lock().len(), ADDRESSES);
        offenders.note(client(u32::MAX), start + WINDOW);
        assert_eq!(offenders.0.lock().len(), 1);
    }
}
