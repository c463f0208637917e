//! A set of networks that finds the most specific one around an address in a few nanoseconds.
//!
//! Published lists of crawlers' addresses nest: a /16 and some of its /24s stand side by side. The set is
//! built once, as a sorted list of the addresses at which the most specific network changes, so that a
//! question is one binary search. Not here: where the networks come from, and what they prove.

use super::address::Network;
use std::net::IpAddr;

/// Networks, ready to be asked about addresses. IPv4-mapped IPv6 addresses (RFC 4291 §2.5.5.2) count as IPv4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    v4: Steps<u32>,
    v6: Steps<u128>,
    len: usize,
}

impl Prefixes {
    /// Builds the set. Networks written twice count once.
    #[must_use]
    pub fn new(networks: impl IntoIterator<Item = Network>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in networks {
            match network.address() {
                IpAddr::V4(address) => {
                    let (first, rest) = (address.to_bits(), u32::MAX.checked_shr(network.prefix().into()));
                    v4.push(Span { first, last: first | rest.unwrap_or(0), network });
                }
                IpAddr::V6(address) => {
                    let (first, rest) = (address.to_bits(), u128::MAX.checked_shr(network.prefix().into()));
                    v6.push(Span { first, last: first | rest.unwrap_or(0), network });
                }
            }
        }
        let (v4, v6) = (Steps::new(v4), Steps::new(v6));
        let len = v4.networks + v6.networks;
        Self { v4, v6, len }
    }

    /// The most specific network that contains `address`.
    #[must_use]
    pub fn longest(&self, address: IpAddr) -> Option<Network> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.at(address.to_bits()),
            IpAddr::V6(address) => self.v6.at(address.to_bits()),
        }
    }

    /// Whether any network contains `address`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.longest(address).is_some()
    }

    /// How many different networks the set was built of.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A number that addresses of one family are.
trait Bits: Copy + Ord {
    /// The next address; none after the last.
    fn next(self) -> Option<Self>;
}

impl Bits for u32 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Bits for u128 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// A network with its first and its last address.
#[derive(Clone, Copy, Debug)]
struct Span<T> {
    first: T,
    last: T,
    network: Network,
}

/// The addresses at which the most specific network changes, ascending, and that network from there on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Steps<T> {
    starts: Vec<T>,
    owners: Vec<Option<Network>>,
    networks: usize,
}

impl<T: Bits> Steps<T> {
    /// Two prefixes either nest or have nothing in common, so one pass with a stack of the open ones does.
    fn new(mut spans: Vec<Span<T>>) -> Self {
        spans.sort_by(|a, b| a.first.cmp(&b.first).then(b.last.cmp(&a.last)));
        spans.dedup_by_key(|span| (span.first, span.last));
        let mut steps = Self { starts: Vec::new(), owners: Vec::new(), networks: spans.len() };
        let mut open: Vec<Span<T>> = Vec::new();
        for span in spans {
            while let Some(ended) = open.pop_if(|outer| outer.last < span.first) {
                steps.close(ended, &open);
            }
            steps.step(span.first, Some(span.network));
            open.push(span);
        }
        while let Some(ended) = open.pop() {
            steps.close(ended, &open);
        }
        steps
    }

    /// After `ended` its surroundings go on.
    fn close(&mut self, ended: Span<T>, open: &[Span<T>]) {
        if let Some(next) = ended.last.next() {
            self.step(next, open.last().map(|outer| outer.network));
        }
    }

    fn step(&mut self, start: T, owner: Option<Network>) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.owners.pop();
        }
        self.starts.push(start);
        self.owners.push(owner);
    }

    fn at(&self, address: T) -> Option<Network> {
        let after = self.starts.partition_point(|start| *start <= address);
        self.owners.get(after.checked_sub(1)?).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn set(networks: &[&str]) -> Prefixes {
        Prefixes::new(networks.iter().map(|text| text.parse::<Network>().unwrap()))
    }

    fn longest(set: &Prefixes, address: &str) -> Option<String> {
        set.longest(address.parse().unwrap()).map(|network| network.to_string())
    }

    #[test]
    fn the_most_specific_network_wins() {
        let set =
            set(&["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3", "192.0.2.0/24", "10.1.2.0/24"]);
        assert_eq!(set.len(), 5);
        for (address, expected) in [
            ("10.0.0.0", Some("10.0.0.0/8")),
            ("10.1.0.0", Some("10.1.0.0/16")),
            ("10.1.2.2", Some("10.1.2.0/24")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.4", Some("10.1.2.0/24")),
            ("10.1.3.0", Some("10.1.0.0/16")),
            ("10.2.0.0", Some("10.0.0.0/8")),
            ("10.255.255.255", Some("10.0.0.0/8")),
            ("11.0.0.0", None),
            ("9.255.255.255", None),
            ("192.0.2.255", Some("192.0.2.0/24")),
            ("192.0.3.0", None),
            ("::ffff:10.1.2.3", Some("10.1.2.3/32")),
            ("2001:db8::1", None),
        ] {
            assert_eq!(longest(&set, address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn both_families_and_both_ends_of_the_space() {
        let set = set(&["2001:db8::/32", "2001:db8:0:1::/64", "ffff::/16", "255.255.255.0/24", "0.0.0.0/8"]);
        assert_eq!(longest(&set, "2001:db8:0:1::9").as_deref(), Some("2001:db8:0:1::/64"));
        assert_eq!(longest(&set, "2001:db8:0:2::").as_deref(), Some("2001:db8::/32"));
        assert_eq!(longest(&set, "2001:db9::"), None);
        assert!(set.contains("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap()));
        assert!(set.contains("255.255.255.255".parse().unwrap()));
        assert!(set.contains("0.0.0.0".parse().unwrap()));
        assert!(!set.contains("1.0.0.0".parse().unwrap()) && !set.contains("fffe::".parse().unwrap()));
        let all = Prefixes::new(["0.0.0.0/0", "::/0"].map(|text| text.parse::<Network>().unwrap()));
        assert!(all.contains("203.0.113.9".parse().unwrap()) && all.contains("::".parse().unwrap()));
        assert!(!Prefixes::default().contains("::".parse().unwrap()) && Prefixes::default().is_empty());
    }

    /// A small generator, so that a failure can be repeated.
    fn random(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(*state >> 32).unwrap()
    }

    /// One address in three is IPv6. Few different leading bits, so that networks nest and touch.
    fn random_address(state: &mut u64) -> IpAddr {
        let bits = random(state);
        match random(state) % 3 {
            0 => IpAddr::V6(Ipv6Addr::from(u128::from(bits & 0xF00F) << 112)),
            _ => IpAddr::V4(Ipv4Addr::from(bits & 0xF000_1FFF)),
        }
    }

    #[test]
    fn agrees_with_looking_at_every_network() {
        let mut state = 7;
        for round in 0..60 {
            let network = |state: &mut u64| {
                let length = |most: u32, bits: u32| u8::try_from(bits % (most + 1)).unwrap();
                let (v4, v6) = (length(32, random(state)), length(20, random(state)));
                Network::around(random_address(state), v4, v6)
            };
            let networks: Vec<Network> = (0..40).map(|_| network(&mut state)).collect();
            let set = Prefixes::new(networks.iter().copied());
            for _ in 0..400 {
                let address = random_address(&mut state);
                let around = networks.iter().filter(|network| network.contains(address));
                let expected = around.max_by_key(|network| network.prefix()).map(ToString::to_string);
                assert_eq!(set.longest(address).map(|n| n.to_string()), expected, "{address}, round {round}");
            }
        }
    }

    #[test]
    fn a_question_takes_nanoseconds() {
        let mut state = 3;
        let networks = (0..5_000_u32).map(|number| {
            let address = IpAddr::V4(Ipv4Addr::from(random(&mut state)));
            Network::around(address, 20 + u8::try_from(number % 13).unwrap(), 0)
        });
        let set = Prefixes::new(networks.collect::<Vec<_>>());
        let addresses: Vec<IpAddr> =
            (0..4_096).map(|_| IpAddr::V4(Ipv4Addr::from(random(&mut state)))).collect();
        let start = std::time::Instant::now();
        let mut found = 0_u32;
        for _ in 0..50 {
            found += addresses.iter().map(|address| u32::from(set.contains(*address))).sum::<u32>();
        }
        let each = start.elapsed().as_nanos() / (50 * 4_096);
        println!("{} networks: {each} ns for each of 204,800 questions, {found} inside", set.len());
        // Generous: an unoptimised build on a busy machine.
        assert!(each < 20_000, "{each} ns");
    }
}
