//! A set of networks that finds the most specific one around an address.
//!
//! Published lists of crawlers' addresses nest: a /16 and some of its /24s stand side by side. Not here: where the
//! networks come from, and what they prove.

use super::address::Network;
use ipnet::IpNet;
use prefix_trie::joint::JointPrefixMap;
use std::net::IpAddr;

/// Something for each of many networks, of which the most specific around an address counts. IPv4-mapped IPv6 addresses
/// (RFC 4291 §2.5.5.2) count as IPv4.
#[derive(Clone, Debug)]
pub struct PrefixMap<T>(JointPrefixMap<IpNet, T>);

/// Networks alone.
pub type Prefixes = PrefixMap<()>;

impl<T> PrefixMap<T> {
    /// Of what is for the same network the last counts.
    pub fn of(all: impl IntoIterator<Item = (Network, T)>) -> Self {
        Self(all.into_iter().map(|(network, of)| (network.0, of)).collect())
    }

    /// The most specific network that contains `address`, and what is for it.
    pub fn longest(&self, address: IpAddr) -> Option<(Network, &T)> {
        self.0.get_lpm(&address.to_canonical().into()).map(|(network, of)| (Network(network), of))
    }

    /// Whether any network contains `address`. Most operators name none: then nothing is looked up.
    pub fn contains(&self, address: IpAddr) -> bool {
        !self.is_empty() && self.longest(address).is_some()
    }

    /// The networks.
    pub fn networks(&self) -> impl Iterator<Item = Network> + '_ {
        self.0.iter().map(|(network, _)| Network(network))
    }

    /// How many different networks there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Prefixes {
    /// Adds a network.
    pub fn insert(&mut self, network: Network) {
        self.0.insert(network.0, ());
    }
}

/// By their networks.
impl PartialEq for Prefixes {
    fn eq(&self, other: &Self) -> bool {
        self.networks().eq(other.networks())
    }
}

impl Eq for Prefixes {}

impl<T> Default for PrefixMap<T> {
    fn default() -> Self {
        Self(JointPrefixMap::default())
    }
}

impl FromIterator<Network> for Prefixes {
    /// Networks that are written twice count once.
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        Self::of(networks.into_iter().map(|network| (network, ())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn set(networks: &[&str]) -> Prefixes {
        networks.iter().map(|text| text.parse::<Network>().unwrap()).collect()
    }

    fn longest(set: &Prefixes, address: &str) -> Option<String> {
        set.longest(address.parse().unwrap()).map(|(network, ())| network.to_string())
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
    fn sets_are_equal_that_have_the_same_networks() {
        let both = ["192.0.2.0/24", "2001:db8::/32"];
        assert_eq!(set(&both), set(&[both[1], both[0], both[1]]));
        for others in [&[][..], &both[..1], &both[1..], &["192.0.2.0/25", both[1]]] {
            assert_ne!(set(&both), set(others), "{others:?}");
            assert_ne!(set(others), set(&both), "{others:?}");
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
        let all: Prefixes =
            ["0.0.0.0/0", "::/0"].map(|text| text.parse::<Network>().unwrap()).into_iter().collect();
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
            let set: Prefixes = networks.iter().copied().collect();
            for _ in 0..400 {
                let address = random_address(&mut state);
                let around = networks.iter().filter(|network| network.contains(address));
                let expected = around.max_by_key(|network| network.prefix()).map(ToString::to_string);
                let found = set.longest(address).map(|(network, ())| network.to_string());
                assert_eq!(found, expected, "{address}, round {round}");
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
        let set: Prefixes = networks.collect();
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
