//! Which addresses are those of one host on the public internet.
//!
//! From the special-purpose registries of RFC 6890 and what has been added to them. An address that is
//! not public says nothing about who sent a request: it is a proxy's, a neighbour's or nobody's.

use crate::request::prefixes::Prefixes;
use std::net::IpAddr;
use std::sync::LazyLock;

/// Networks whose addresses are no public hosts'. "This network" (RFC 791 §3.2), private ones (RFC 1918 §3), behind a
/// carrier's translator (RFC 6598 §7), loopback, link-local, IETF protocol assignments (RFC 6890 §2.1), documentation (RFC
/// 5737), relays to IPv6 (RFC 7526 §5), benchmarks (RFC 2544 §C.2.2), multicast, and what is reserved or broadcast (RFC 1112
/// §4). Of IPv6 all but `2000::/3`, which alone is given out (RFC 4291 §2.4), and in there protocol assignments, Teredo among
/// them (RFC 2928, RFC 4380 §2.6), documentation (RFC 3849, RFC 9637) and 6to4, the address of a relay (RFC 3056 §2).
const SPECIAL: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 \
     192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 \
     ::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1";

static SPECIAL_NETWORKS: LazyLock<Prefixes> =
    LazyLock::new(|| SPECIAL.split_whitespace().filter_map(|network| network.parse().ok()).collect());

pub(in crate::policy) fn is_public(address: IpAddr) -> bool {
    !SPECIAL_NETWORKS.contains(address)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
