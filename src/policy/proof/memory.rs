//! What name servers said, remembered for a while, and who is being asked about: bounded, without clock.

use super::answer::{ProofAnswer, Reverse};
use crate::config::VerifyOptions;
use crate::request::address::Network;
use quick_cache::unsync::Cache;
use smart_default::SmartDefault;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many addresses are remembered: some megabytes, and more than all crawlers of a busy site have. Of a /64 anybody who
/// has one has more than there is memory: those that were asked for once only go first.
const MOST: usize = 16_384;

/// How many addresses of one network may be asked about at a time, so that one cannot starve the others.
const ASKED_OF_NETWORK: usize = 32;

/// How long to wait before asking again what nobody could tell.
const RETRY: Duration = Duration::from_secs(60);

/// No answer is remembered for longer, whatever the operator wrote.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

#[derive(Clone, Debug)]
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

/// How many questions there were, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    /// A name server answered, be it that there is no name.
    pub answered: u64,
    /// None answered in time, or the answer was no use.
    pub failed: u64,
    /// Not asked, because too many were waiting.
    pub left: u64,
}

/// Answers by address, and the addresses that are being asked about.
#[derive(Debug, SmartDefault)]
pub(super) struct ProofMemory {
    #[default(Cache::new(MOST))]
    entries: Cache<IpAddr, RememberedAnswer>,
    asked: HashMap<Network, HashSet<IpAddr>>,
    /// The name servers that the answers came from; none are those of the system.
    source: Vec<SocketAddr>,
    /// Why their denials mean nothing, where that is so.
    pub(super) doubt: Option<String>,
    pub(super) counts: QuestionCounts,
}

impl ProofMemory {
    /// From now on answers count only if they came from these name servers.
    pub(super) fn use_servers(&mut self, source: &[SocketAddr]) {
        if self.source != source {
            self.entries.clear();
            source.clone_into(&mut self.source);
        }
    }

    /// What is known of `address`, and whether the caller is to ask: `true` only once until [`Self::finish_lookup`],
    /// and not where its network has as many questions open as it may.
    pub(super) fn recall(&mut self, address: IpAddr, now: Instant) -> (Option<Arc<Reverse>>, bool) {
        let entry = self.entries.get(&address).filter(|entry| now < entry.end);
        let known = entry.map(|entry| Arc::clone(&entry.reverse));
        if entry.is_some_and(|entry| now < entry.renew) {
            return (known, false);
        }
        let asked = self.asked.entry(network(address)).or_default();
        (known, asked.len() < ASKED_OF_NETWORK && asked.insert(address))
    }

    /// Nobody asks about `address` any more.
    pub(super) fn finish_lookup(&mut self, address: IpAddr) {
        let network = network(address);
        let Some(asked) = self.asked.get_mut(&network) else { return };
        asked.remove(&address);
        if asked.is_empty() {
            self.asked.remove(&network);
        }
    }

    /// Remembers an answer of the name servers that `options` names, if it counts. A failure does not displace what is still known.
    pub(super) fn store(
        &mut self,
        address: IpAddr,
        reverse: Reverse,
        certainty: ProofAnswer,
        options: &VerifyOptions,
        now: Instant,
    ) {
        if !self.source.iter().eq(options.resolvers.iter().map(|resolver| &**resolver)) {
            return;
        }
        let lifetime = match certainty {
            ProofAnswer::Yes => options.cache.min(LONGEST),
            ProofAnswer::No => options.cache_negative.min(LONGEST),
            ProofAnswer::Unknown => RETRY,
        };
        // A fifth before its end it is renewed, so that an address in use is never without an answer.
        let mut entry = RememberedAnswer {
            reverse: Arc::new(reverse),
            renew: now + lifetime / 5 * 4,
            end: now + lifetime,
        };
        let is_known = |known: &&RememberedAnswer| now < known.end && *known.reverse != Reverse::Unknown;
        if certainty == ProofAnswer::Unknown
            && let Some(known) = self.entries.get(&address).filter(is_known)
        {
            entry = RememberedAnswer { renew: now + RETRY, ..known.clone() };
        }
        self.entries.insert(address, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DurationValue;
    use std::net::Ipv4Addr;
    use std::sync::LazyLock;

    static OPTIONS: LazyLock<VerifyOptions> = LazyLock::new(|| VerifyOptions {
        cache: DurationValue(Duration::from_secs(1_000)),
        cache_negative: DurationValue(Duration::from_secs(100)),
        ..VerifyOptions::default()
    });

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
            memory.store(address(1), none(), certainty, &OPTIONS, start);
            assert_eq!(memory.recall(address(1), at(lifetime / 5 * 4 - 1)), (Some(Arc::new(none())), false));
            assert_eq!(memory.recall(address(1), at(lifetime - 1)), (Some(Arc::new(none())), true));
            memory.finish_lookup(address(1));
            assert_eq!(memory.recall(address(1), at(lifetime)), (None, true));
        }
    }

    #[test]
    fn a_failure_does_not_displace_what_is_known() {
        let (mut memory, start) = (ProofMemory::default(), Instant::now());
        memory.store(address(1), none(), ProofAnswer::No, &OPTIONS, start);
        let late = start + Duration::from_secs(90);
        memory.store(address(1), Reverse::Unknown, ProofAnswer::Unknown, &OPTIONS, late);
        assert_eq!(memory.recall(address(1), late), (Some(Arc::new(none())), false));
        memory.store(address(2), Reverse::Unknown, ProofAnswer::Unknown, &OPTIONS, start);
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
    fn one_network_does_not_displace_those_in_use() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let of_v6 = |last: u128| IpAddr::V6(std::net::Ipv6Addr::from((0x2a01_04f8_u128 << 96) + last));
        let used: Vec<IpAddr> = (0..1_000).map(|last| address(0x42f9_4200 + last * 256)).collect();
        for address in &used {
            memory.store(*address, none(), ProofAnswer::Yes, &OPTIONS, now);
            memory.recall(*address, now);
        }
        for last in 0..200_000 {
            memory.store(of_v6(last), none(), ProofAnswer::No, &OPTIONS, now);
        }
        let kept = used.iter().filter(|address| memory.recall(**address, now).0.is_some()).count();
        assert_eq!((kept, memory.entries.len() <= MOST), (used.len(), true));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let count = u32::try_from(MOST * 2).unwrap();
        for number in 0..count {
            memory.store(address(number), none(), ProofAnswer::Yes, &OPTIONS, now);
            assert!(memory.entries.len() <= MOST);
        }
        assert!(memory.recall(address(count - 1), now).0.is_some());
        memory.use_servers(&[]);
        assert!(!memory.entries.is_empty());
        memory.use_servers(&["192.0.2.53:53".parse().unwrap()]);
        memory.store(address(1), none(), ProofAnswer::Yes, &OPTIONS, now);
        assert!(memory.entries.is_empty(), "what others said counts no more");
    }
}
