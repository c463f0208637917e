//! The network of a client as one number: what tells senders apart where an address would say too much.

use std::net::IpAddr;

/// A /24 of IPv4 or a /48 of IPv6, as reads of robots.txt are kept by; or none, where no address is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NetworkId(u64);

/// Tell the families apart; the networks of either have 48 bits at most.
const V4: u64 = 1 << 62;
const V6: u64 = 1 << 61;

impl NetworkId {
    /// Of a client without a known address.
    pub(super) const NONE: Self = Self(0);

    /// The network of an address.
    pub(super) fn of(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            Some(IpAddr::V4(v4)) => Self(V4 | u64::from(v4.to_bits() >> 8)),
            Some(IpAddr::V6(v6)) => Self(V6 | u64::try_from(v6.to_bits() >> 80).unwrap_or_default()),
            None => Self::NONE,
        }
    }

    /// Whether an address is known.
    pub(super) fn is_known(self) -> bool {
        self != Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_a_24_or_a_48() {
        let id = |address: &str| NetworkId::of(address.parse().ok());
        assert_eq!(id("192.0.2.1"), id("192.0.2.255"));
        assert_eq!(id("192.0.2.1"), id("::ffff:192.0.2.7"));
        assert_eq!(id("2001:db8:1::1"), id("2001:db8:1:ffff::1"));
        let all = ["192.0.2.1", "192.0.3.1", "0.0.0.0", "2001:db8:1::", "2001:db8:2::", "::1", ""].map(id);
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|other| one != other), "{at}");
        }
        assert!(!id("").is_known() && id("::").is_known());
    }
}
