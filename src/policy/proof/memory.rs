//! What name servers said, remembered for a while, and who is being asked about: bounded, without clock.

use super::answer::{ProofAnswer, Reverse};
use crate::request::address::Network;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many addresses are remembered: some megabytes, and more than all crawlers of a busy site have.
const MOST: usize = 16_384;

/// How many addresses of one network are remembered. A /24 has no more; of a /64 anybody who has one has
/// more than there is memory.
const MOST_OF_NETWORK: usize = 256;

/// How many addresses of one network may be asked about at a time, so that one cannot starve the others.
const ASKED_OF_NETWORK: usize = 32;

/// How long to wait before asking again what nobody could tell.
const RETRY: Duration = Duration::from_secs(60);

/// No answer is remembered for longer, whatever the operator wrote.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// How long answers are remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetimes {
    pub(super) positive: Duration,
    pub(super) negative: Duration,
}

#[derive(Debug)]
struct RememberedAnswer {
    reverse: Arc<Reverse>,
    /// From then on it is asked again, while it still counts.
    renew: Instant,
    end: Instant,
}

/// The addresses that one host may have at will: a /64, or where IPv4 is scarce a /24.
pub(super) fn network(address: IpAddr) -> Network {
    Network::around(address, 24, 64)
}

/// Answers by address, and the addresses that are being asked about.
#[derive(Debug, Default)]
pub(super) struct ProofMemory {
    entries: HashMap<IpAddr, RememberedAnswer>,
    /// How many of the entries are of each network.
    remembered: HashMap<Network, usize>,
    asked: HashSet<IpAddr>,
    /// How many of those asked about are of each network.
    asked_of: HashMap<Network, usize>,
    /// When what had ended was last dropped for the sake of one network.
    swept: Option<Instant>,
    /// The name servers that the answers came from; none are those of the system.
    source: Vec<SocketAddr>,
}

impl ProofMemory {
    /// From now on answers count only if they came from these name servers.
    pub(super) fn use_servers(&mut self, source: &[SocketAddr]) {
        if self.source != source {
            self.entries.clear();
            self.remembered.clear();
            source.clone_into(&mut self.source);
        }
    }

    /// Whether answers of these name servers count.
    pub(super) fn uses_servers(&self, source: &[SocketAddr]) -> bool {
        self.source == source
    }

    /// What is known of `address`, and whether the caller is to ask: `true` only once until [`Self::finish_lookup`],
    /// and not where its network has as many questions open, or answers kept, as it may.
    pub(super) fn recall(&mut self, address: IpAddr, now: Instant) -> (Option<Arc<Reverse>>, bool) {
        let entry = self.entries.get(&address).filter(|entry| now < entry.end);
        let due = entry.is_none_or(|entry| now >= entry.renew);
        let known = entry.map(|entry| Arc::clone(&entry.reverse));
        let ask = due && !self.asked.contains(&address) && self.has_room(address, now);
        if ask {
            self.asked.insert(address);
            *self.asked_of.entry(network(address)).or_default() += 1;
        }
        (known, ask)
    }

    fn has_room(&mut self, address: IpAddr, now: Instant) -> bool {
        let network = network(address);
        let is_full = |memory: &Self| memory.remembered.get(&network).is_some_and(|n| *n >= MOST_OF_NETWORK);
        // What has ended still counts until somebody looks, which is too dear to do for every request.
        if is_full(self) && self.swept.is_none_or(|swept| now.duration_since(swept) >= RETRY) {
            self.swept = Some(now);
            self.sweep(now);
        }
        let asked = self.asked_of.get(&network).copied().unwrap_or_default();
        asked < ASKED_OF_NETWORK && (!is_full(self) || self.entries.contains_key(&address))
    }

    /// Nobody asks about `address` any more.
    pub(super) fn finish_lookup(&mut self, address: IpAddr) {
        if self.asked.remove(&address) {
            let network = network(address);
            let left = self.asked_of.get(&network).map_or(0, |count| count.saturating_sub(1));
            match left {
                0 => drop(self.asked_of.remove(&network)),
                _ => drop(self.asked_of.insert(network, left)),
            }
        }
    }

    /// Remembers an answer. A failure does not displace what is still known.
    pub(super) fn store(
        &mut self,
        address: IpAddr,
        reverse: Reverse,
        certainty: ProofAnswer,
        lifetimes: Lifetimes,
        now: Instant,
    ) {
        let lifetime = match certainty {
            ProofAnswer::Yes => lifetimes.positive.min(LONGEST),
            ProofAnswer::No => lifetimes.negative.min(LONGEST),
            ProofAnswer::Unknown => RETRY,
        };
        let is_known = |entry: &&mut RememberedAnswer| now < entry.end && *entry.reverse != Reverse::Unknown;
        if certainty == ProofAnswer::Unknown
            && let Some(entry) = self.entries.get_mut(&address).filter(is_known)
        {
            entry.renew = now + RETRY;
            return;
        }
        if self.entries.len() >= MOST && !self.entries.contains_key(&address) {
            self.make_room(now);
        }
        // A fifth before its end it is renewed, so that an address in use is never without an answer.
        let (renew, end) = (now + lifetime / 5 * 4, now + lifetime);
        let entry = RememberedAnswer { reverse: Arc::new(reverse), renew, end };
        if self.entries.insert(address, entry).is_none() {
            *self.remembered.entry(network(address)).or_default() += 1;
        }
    }

    /// Makes room for many newcomers at once, so that the search is paid for rarely.
    fn make_room(&mut self, now: Instant) {
        self.sweep(now);
        if self.entries.len() >= MOST / 4 * 3 {
            self.drop_quarter();
            self.sweep(now);
        }
    }

    /// Drops what has ended, and counts the rest.
    fn sweep(&mut self, now: Instant) {
        self.entries.retain(|_, entry| now < entry.end);
        self.remembered.clear();
        for address in self.entries.keys() {
            *self.remembered.entry(network(*address)).or_default() += 1;
        }
    }

    fn drop_quarter(&mut self) {
        let mut ends: Vec<Instant> = self.entries.values().map(|entry| entry.end).collect();
        let quarter = ends.len() / 4;
        let (_, bound, _) = ends.select_nth_unstable(quarter);
        let bound = *bound;
        self.entries.retain(|_, entry| entry.end > bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const LIFETIMES: Lifetimes =
        Lifetimes { positive: Duration::from_secs(1_000), negative: Duration::from_secs(100) };

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(number))
    }

    fn none() -> Reverse {
        Reverse::Names(Vec::new())
    }

    #[test]
    fn one_asks_at_a_time() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        assert_eq!(memory.recall(address(1), now), (None, true));
        assert_eq!(memory.recall(address(1), now), (None, false));
        assert_eq!(memory.recall(address(2), now), (None, true));
        memory.finish_lookup(address(1));
        assert_eq!(memory.recall(address(1), now), (None, true));
    }

    #[test]
    fn an_answer_counts_until_its_end_and_is_renewed_before() {
        for (certainty, lifetime) in [(ProofAnswer::Yes, 1_000), (ProofAnswer::No, 100)] {
            let (mut memory, start) = (ProofMemory::default(), Instant::now());
            let at = |seconds| start + Duration::from_secs(seconds);
            memory.store(address(1), none(), certainty, LIFETIMES, start);
            assert_eq!(memory.recall(address(1), at(lifetime / 5 * 4 - 1)), (Some(Arc::new(none())), false));
            assert_eq!(memory.recall(address(1), at(lifetime - 1)), (Some(Arc::new(none())), true));
            memory.finish_lookup(address(1));
            assert_eq!(memory.recall(address(1), at(lifetime)), (None, true));
        }
    }

    #[test]
    fn a_failure_does_not_displace_what_is_known() {
        let (mut memory, start) = (ProofMemory::default(), Instant::now());
        memory.store(address(1), none(), ProofAnswer::No, LIFETIMES, start);
        let late = start + Duration::from_secs(90);
        memory.store(address(1), Reverse::Unknown, ProofAnswer::Unknown, LIFETIMES, late);
        assert_eq!(memory.recall(address(1), late), (Some(Arc::new(none())), false));
        memory.store(address(2), Reverse::Unknown, ProofAnswer::Unknown, LIFETIMES, start);
        assert_eq!(memory.recall(address(2), start), (Some(Arc::new(Reverse::Unknown)), false));
        assert_eq!(memory.recall(address(2), start + RETRY), (None, true));
    }

    #[test]
    fn one_network_cannot_starve_the_others() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let of_v6 = |last: u128| IpAddr::V6(std::net::Ipv6Addr::from((0x2a01_04f8_u128 << 96) + last));
        let asked = (0..1_000).filter(|last| memory.recall(of_v6(*last), now).1).count();
        assert_eq!(asked, ASKED_OF_NETWORK);
        let asked = (0..256).filter(|last| memory.recall(address(0x5fd8_e300 + last), now).1).count();
        assert_eq!(asked, ASKED_OF_NETWORK);
        assert!(memory.recall(address(0x42f9_4201), now).1, "another network");
        memory.finish_lookup(of_v6(0));
        memory.finish_lookup(of_v6(0));
        assert!(memory.recall(of_v6(2_000), now).1 && !memory.recall(of_v6(2_001), now).1);
    }

    #[test]
    fn one_network_does_not_fill_the_memory() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let of_v6 = |last: u128| IpAddr::V6(std::net::Ipv6Addr::from((0x2a01_04f8_u128 << 96) + last));
        let mut learn = |address| {
            let ask = memory.recall(address, now).1;
            memory.finish_lookup(address);
            if ask {
                memory.store(address, none(), ProofAnswer::No, LIFETIMES, now);
            }
            ask
        };
        assert_eq!((0..5_000).filter(|last| learn(of_v6(*last))).count(), MOST_OF_NETWORK);
        assert!(learn(address(0x42f9_4201)));
        let late = now + LIFETIMES.negative;
        assert!(memory.recall(of_v6(4_000), late).1, "what has ended makes room");
    }

    #[test]
    fn the_memory_is_bounded() {
        let (mut memory, start) = (ProofMemory::default(), Instant::now());
        let count = u32::try_from(MOST * 2).unwrap();
        for number in 0..count {
            let now = start + Duration::from_micros(number.into());
            memory.store(address(number), none(), ProofAnswer::Yes, LIFETIMES, now);
            assert!(memory.entries.len() <= MOST);
        }
        assert!(memory.entries.contains_key(&address(count - 1)));
        assert!(memory.uses_servers(&[]));
        memory.use_servers(&[]);
        assert!(!memory.entries.is_empty());
        let other: SocketAddr = "192.0.2.53:53".parse().unwrap();
        memory.use_servers(&[other]);
        assert!(memory.entries.is_empty() && memory.uses_servers(&[other]) && !memory.uses_servers(&[]));
    }
}
