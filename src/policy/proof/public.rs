//! Which addresses are those of one host on the public internet.
//!
//! From the special-purpose registries of RFC 6890 and what has been added to them. An address that is
//! not public says nothing about who sent a request: it is a proxy's, a neighbour's or nobody's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(in crate::policy) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = matches!(
        address.octets(),
        // "This network" (RFC 791 §3.2), and what is reserved or broadcast (RFC 1112 §4).
        [0 | 240..=255, ..]
            // Shared behind a carrier's translator (RFC 6598 §7).
            | [100, 64..=127, ..]
            // IETF protocol assignments (RFC 6890 §2.1).
            | [192, 0, 0, _]
            // Relays to IPv6 (RFC 7526 §5).
            | [192, 88, 99, _]
            // Benchmarks (RFC 2544 §C.2.2).
            | [198, 18 | 19, ..]
    );
    !(is_special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

/// Only `2000::/3` is given out (RFC 4291 §2.4), so everything else is special already.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_special = matches!(
        address.segments(),
        // Protocol assignments, Teredo among them (RFC 2928, RFC 4380 §2.6), and documentation (RFC 3849).
        [0x2001, 0..=0x01ff | 0x0db8, ..]
            // More documentation (RFC 9637).
            | [0x3fff, 0..=0x0fff, ..]
            // 6to4: the address of a relay (RFC 3056 §2).
            | [0x2002, ..]
    );
    !is_special && address.segments().first().is_some_and(|first| first >> 13 == 1)
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
