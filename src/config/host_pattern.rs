//! Host names of a site as an operator writes them: exact, or with a leading `*.`. And the other name that most sites
//! have: with `www.` in front, or without.

use super::values::from_text;
use crate::request::host;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use url::Host;

/// `example.org`, or `*.example.org` for every name below it, the domain itself not among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern(Box<str>);

impl HostPattern {
    /// The name, where it is one.
    pub fn exact(&self) -> Option<&str> {
        (!self.0.starts_with("*.")).then_some(&*self.0)
    }

    /// Whether a host, in normal form, is one of these.
    pub fn admits(&self, host: &str) -> bool {
        match self.0.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None => *self.0 == *host,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

from_text!(HostPattern);

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // As no client sends it (RFC 3986 §3.2.2).
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Err(format!(
                "invalid host `{text}`: write an address of IPv6 in brackets: `[{address}]`"
            ));
        }
        let expected = "expected a name such as `example.org` or `*.example.org`, without scheme and port";
        let error = || format!("invalid host `{text}`: {expected}");
        let (below, name) = text.split_at(if text.starts_with("*.") { 2 } else { 0 });
        // As clients send it: in punycode and lower case (RFC 5891 §5).
        let host = Host::parse(name).ok().filter(|_| !name.contains('*')).ok_or_else(error)?.to_string();
        let normal = host::normalise(&host);
        if normal.is_empty() {
            return Err(error());
        }
        Ok(Self(format!("{below}{normal}").into()))
    }
}

/// The name that a visitor of `host` may type, too; `None` for one where that would be a guess.
pub fn www_sibling(host: &str) -> Option<String> {
    if let Some(bare) = host.strip_prefix("www.") {
        return bare.contains('.').then(|| bare.to_owned());
    }
    let labels: Vec<&str> = host.split('.').collect();
    let is_site = match *labels.as_slice() {
        [_, top] => top.bytes().all(|byte| byte.is_ascii_alphabetic()) || top.starts_with("xn--"),
        // `example.co.uk`, and not `shop.example.org`.
        [_, second, top] => second.len() <= 3 && top.len() == 2,
        _ => false,
    };
    is_site.then(|| format!("www.{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        text.parse::<HostPattern>().ok().map(|pattern| pattern.to_string())
    }

    #[test]
    fn names_are_brought_to_the_form_a_client_sends() {
        assert_eq!(shown("Example.ORG.").as_deref(), Some("example.org"));
        assert_eq!(shown("*.Example.org").as_deref(), Some("*.example.org"));
        assert_eq!(shown("b\u{fc}cher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(shown("[::1]").as_deref(), Some("[::1]"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for bad in ["", "*", "*.", "a.*.b", "http://example.org", "example.org:80", "a b", "."] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_of_ipv6_is_told_to_stand_in_brackets() {
        for (text, written) in [("::1", "[::1]"), ("2001:DB8::1", "[2001:db8::1]")] {
            let error = text.parse::<HostPattern>().unwrap_err();
            assert_eq!(
                error,
                format!("invalid host `{text}`: write an address of IPv6 in brackets: `{written}`")
            );
        }
    }

    #[test]
    fn a_site_has_a_sibling_and_a_part_of_one_has_none() {
        for (host, other) in [
            ("example.org", "www.example.org"),
            ("www.example.org", "example.org"),
            ("example.co.uk", "www.example.co.uk"),
            ("www.shop.example.org", "shop.example.org"),
            ("example.xn--p1ai", "www.example.xn--p1ai"),
        ] {
            assert_eq!(www_sibling(host).as_deref(), Some(other));
        }
        for host in ["shop.example.org", "localhost", "www.localhost", "192.0.2.1", "10.1", ""] {
            assert_eq!(www_sibling(host), None, "{host}");
        }
    }
}
