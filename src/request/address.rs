//! Addresses: networks in CIDR notation, and which address of a request is the client's.
//!
//! The walk over `X-Forwarded-For` believes a hop only while the next nearer one is trusted, so a
//! client cannot choose the address it is judged and reported under.

use super::prefixes::Prefixes;
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// One network: an address and a prefix length, or a single address. An IPv4-mapped IPv6 address counts as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(pub(super) IpNet);

impl Network {
    /// Whether `address` lies in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// The network of `address` with the given prefix lengths, in whole: /24 and /48 group clients.
    pub fn around(address: IpAddr, v4_prefix: u8, v6_prefix: u8) -> Self {
        let address = address.to_canonical();
        let prefix = if address.is_ipv4() { v4_prefix.min(32) } else { v6_prefix.min(128) };
        Self(IpNet::new(address, prefix).map_or_else(|_| address.into(), |net| net.trunc()))
    }

    /// The network's lowest address.
    pub fn address(&self) -> IpAddr {
        self.0.addr()
    }

    /// The length of its prefix in bits: up to 32 for IPv4, up to 128 for IPv6.
    pub fn prefix(&self) -> u8 {
        self.0.prefix_len()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Why a text is not a [`Network`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid network `{0}`: expected an address or CIDR such as `10.0.0.0/8` or `2001:db8::/32`")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let error = || NetworkError(text.to_owned());
        let address = || text.parse().map(|address: IpAddr| IpNet::from(address));
        let net = text.parse::<IpNet>().or_else(|_| address()).map_err(|_| error())?;
        // A mapped address is IPv4; its prefix would have to be read as one of 128 bits, or of 32.
        let is_mapped = net.addr().to_canonical() != net.addr();
        if is_mapped && net.prefix_len() != net.max_prefix_len() {
            return Err(error());
        }
        Ok(Self::around(net.addr(), net.prefix_len(), net.prefix_len()))
    }
}

/// Whether an address is of this host or of a network at hand, where a proxy of the operator's own stands.
pub const fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Whether it is the address of one host on the public internet, by the special-purpose registries of RFC 6890 and what has
/// been added to them. One that is not says nothing about who sent a request: it is a proxy's, a neighbour's or nobody's.
pub const fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => !is_special(v4.octets()),
        // Of IPv6 `2000::/3` alone is given out (RFC 4291 §2.4). In there are protocol assignments, Teredo among them (RFC
        // 2928, RFC 4380 §2.6), documentation (RFC 3849, RFC 9637) and 6to4, the address of a relay (RFC 3056 §2).
        IpAddr::V6(v6) => match v6.segments() {
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
            [first, ..] => first >> 13 == 1,
        },
    }
}

/// Whether these bytes of an IPv4 address are in a special-purpose registry.
const fn is_special([first, second, third, _]: [u8; 4]) -> bool {
    match first {
        // "This network" (RFC 791 §3.2), private, loopback; multicast, reserved and broadcast (RFC 1112 §4).
        0 | 10 | 127 | 224.. => true,
        // Behind a carrier's translator (RFC 6598 §7).
        100 => second & 0xc0 == 64,
        // Link-local.
        169 => second == 254,
        // Private (RFC 1918 §3).
        172 => second & 0xf0 == 16,
        // IETF protocol assignments (RFC 6890 §2.1), documentation (RFC 5737), relays to IPv6 (RFC 7526 §5), private.
        192 => matches!((second, third), (0, 0 | 2) | (88, 99) | (168, _)),
        // Benchmarking (RFC 2544 §C.2.2), documentation.
        198 => matches!((second, third), (18 | 19, _) | (51, 100)),
        203 => matches!((second, third), (0, 113)),
        _ => false,
    }
}

/// The client's address: the peer, or, behind trusted proxies, the nearest hop of `X-Forwarded-For`
/// that is not itself trusted. `None` when the chain of trusted proxies ends at a hop that is no address:
/// then nobody knows the client, and it must not pass for the proxy.
///
/// `forwarded_for` yields the header's lines in order. The list is walked from its right end, since
/// each proxy appends the address it saw; everything left of the first untrusted hop is only a claim
/// of that hop. The lines are bytes, since a client may write anything before what a proxy appends.
pub fn client_address<'a, L>(peer: IpAddr, trusted: &Prefixes, forwarded_for: L) -> Option<IpAddr>
where
    L: IntoIterator<Item = &'a [u8]>,
    L::IntoIter: DoubleEndedIterator,
{
    let mut client = peer.to_canonical();
    if !trusted.contains(client) {
        return Some(client);
    }
    let hops = forwarded_for.into_iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    for hop in hops {
        client = hop_address(hop.trim_ascii())?;
        if !trusted.contains(client) {
            break;
        }
    }
    Some(client)
}

/// Reads `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
fn hop_address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?;
    let plain = hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    plain.or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_contains_its_addresses_only() {
        assert!(network("10.0.0.0/8").contains(address("10.255.0.1")));
        assert!(!network("10.0.0.0/8").contains(address("11.0.0.1")));
        assert!(network("0.0.0.0/0").contains(address("203.0.113.9")));
        assert!(!network("0.0.0.0/0").contains(address("2001:db8::1")));
        assert!(!network("::/0").contains(address("203.0.113.9")));
        assert!(network("2001:db8::/32").contains(address("2001:db8:ffff::1")));
        assert!(network("192.0.2.7").contains(address("::ffff:192.0.2.7")));
    }

    #[test]
    fn prints_as_it_is_written() {
        for text in ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "0.0.0.0/0", "::/0"] {
            assert_eq!(network(text).to_string(), text);
        }
        assert_eq!(Network::around(address("198.51.100.77"), 24, 48).to_string(), "198.51.100.0/24");
        assert_eq!(Network::around(address("2001:db8:1:2::3"), 24, 48).to_string(), "2001:db8:1::/48");
    }

    #[test]
    fn refuses_what_is_no_network() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/129",
            "localhost",
            "10.0.0.0/",
            "::ffff:10.0.0.0/104",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    fn walked(peer: &str, trusted: &[&str], lines: &[&str]) -> String {
        let trusted = trusted.iter().map(|text| network(text)).collect();
        let lines = lines.iter().map(|line| line.as_bytes());
        client_address(address(peer), &trusted, lines).map_or_else(String::new, |client| client.to_string())
    }

    #[test]
    fn nobody_passes_for_the_proxy_by_writing_nonsense() {
        let trusted = ["127.0.0.1"];
        assert_eq!(walked("127.0.0.1", &trusted, &["unknown"]), "");
        assert_eq!(walked("127.0.0.1", &trusted, &["198.51.100.4, \u{e9}"]), "");
        assert_eq!(walked("127.0.0.1", &trusted, &[""]), "");
    }

    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_claims() {
        assert_eq!(walked("203.0.113.9", &["10.0.0.0/8"], &["192.0.2.1"]), "203.0.113.9");
        assert_eq!(walked("203.0.113.9", &[], &["192.0.2.1"]), "203.0.113.9");
    }

    #[test]
    fn the_walk_goes_right_to_left_and_stops_at_the_first_untrusted_hop() {
        let trusted = ["10.0.0.0/8", "127.0.0.1"];
        assert_eq!(walked("127.0.0.1", &trusted, &["192.0.2.1, 198.51.100.4, 10.1.1.1"]), "198.51.100.4");
        assert_eq!(walked("127.0.0.1", &trusted, &["192.0.2.1", "198.51.100.4"]), "198.51.100.4");
        assert_eq!(walked("127.0.0.1", &trusted, &[]), "127.0.0.1");
        assert_eq!(walked("127.0.0.1", &trusted, &["\u{e9}, 198.51.100.4, 10.1.1.1"]), "198.51.100.4");
        assert_eq!(walked("127.0.0.1", &trusted, &["[2001:db8::1]:99"]), "2001:db8::1");
    }

    #[test]
    fn addresses_of_hosts_are_public() {
        for address in [
            "66.249.66.1",
            "8.8.8.8",
            "1.0.0.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.1",
            "2001:4860:4801:10::1",
            "2001:200::1",
            "2a00::1",
            "3fff:1000::1",
            "::ffff:66.249.66.1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn special_addresses_are_not() {
        for address in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.9",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "64:ff9b::808:808",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:808:808::1",
            "3fff::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    /// The registries, as networks.
    const SPECIAL: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 \
         192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 \
         ::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1";

    #[test]
    fn special_networks_end_where_the_registries_say() {
        let networks: Vec<Network> = SPECIAL.split_whitespace().map(network).collect();
        for net in networks.iter().map(|network| network.0) {
            let ends = match (net.network(), net.broadcast()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => [
                    IpAddr::from(u32::from(first).wrapping_sub(1).to_be_bytes()),
                    first.into(),
                    last.into(),
                    IpAddr::from(u32::from(last).wrapping_add(1).to_be_bytes()),
                ],
                (IpAddr::V6(first), IpAddr::V6(last)) => [
                    IpAddr::from(u128::from(first).wrapping_sub(1).to_be_bytes()),
                    first.into(),
                    last.into(),
                    IpAddr::from(u128::from(last).wrapping_add(1).to_be_bytes()),
                ],
                _ => unreachable!(),
            };
            for address in ends {
                let is_special = networks.iter().any(|network| network.contains(address));
                assert_eq!(is_public(address), !is_special, "{address}");
            }
        }
    }
}
