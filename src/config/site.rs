//! One site of the configuration, and its hosts as an operator writes them: exact, or with a leading `*.`. And the other name
//! that most sites have: with `www.` in front, or without.

use super::faults::Faults;
use super::origin::Origin;
use super::robots::{RobotsConfig, RobotsTag};
use super::values::{DurationValue, written};
use crate::enforce::{Contradicted, Mode, PaceChoice, RefusalPolicy, SiteChoices, Variants};
use crate::record::Reads;
use crate::request::host;
use crate::request::target::PathParameters;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;
use url::Host;

/// The name of the site without hosts.
const DEFAULT_SITE: &str = "default";

/// A site: its hosts, where its requests go, and by which file they are judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SiteConfig {
    /// Its first host, or `default`.
    #[serde(skip)]
    pub name: String,
    /// Its hosts; none for the default site.
    pub hosts: Vec<HostPattern>,
    /// Its origin; without servers where only other proxies ask about it.
    pub origin: Origin,
    /// What its robots.txt is made of.
    pub robots: RobotsConfig,
    /// Its own mode.
    pub mode: Option<Mode>,
    /// What is done about names that were shown to be false.
    pub contradicted: Contradicted,
    /// What is done about variants of disallowed paths.
    pub variants: Variants,
    /// Whether crawl delays are enforced.
    pub crawl_delay: PaceChoice,
    /// Whether its origin drops path parameters.
    pub path_parameters: PathParameters,
    /// Whether the gateway sees every read of its robots.txt; `None` where requests are to show it.
    pub reads: Option<Reads>,
    /// Whether plain requests are sent to the same place under `https`.
    pub redirect_https: bool,
    /// Whether whoever is refused is asked to sign.
    pub accept_signature: bool,
    /// Whether forwarded answers carry the `Content-Usage` preference that applies; `None` where the configuration as a
    /// whole says.
    pub content_usage: Option<bool>,
    /// What its forwarded answers say of themselves to robots; `None` where the configuration as a whole says.
    pub robots_tags: Option<Vec<RobotsTag>>,
    /// How it refuses.
    #[serde(with = "RefusalForm")]
    pub refusal: RefusalPolicy,
}

/// As the file writes it; the layer of refusals reads no formats.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "RefusalPolicy", deny_unknown_fields, default)]
pub(super) struct RefusalForm {
    status: u16,
    contact: Option<String>,
    #[serde(deserialize_with = "duration")]
    #[cfg_attr(test, schemars(with = "DurationValue"))]
    retry_after: Duration,
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    DurationValue::deserialize(deserializer).map(|time| *time)
}

impl SiteConfig {
    /// The first of its hosts that is one name.
    pub fn exact_host(&self) -> Option<&str> {
        self.hosts.iter().find_map(HostPattern::exact)
    }

    /// Whether `host`, in normal form, is a name that the operator gave it. One without hosts answers to every name.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        let of_robots = self.robots.origin().and_then(|from| from.host.as_ref()).map(|host| &*host.0);
        self.hosts.iter().any(|pattern| pattern.admits(host)) || of_robots == Some(host)
    }

    /// Its hosts as rows name them, `*` where it serves every other.
    pub fn patterns(&self) -> impl Iterator<Item = Box<str>> + '_ {
        let default = self.hosts.is_empty().then(|| "*".into());
        self.hosts.iter().map(|host| host.to_string().into()).chain(default)
    }

    /// The default site, of which nothing is said but its origin.
    pub(super) fn of_origin(origin: Origin) -> Self {
        Self { name: DEFAULT_SITE.to_owned(), origin, ..Self::default() }
    }

    /// What it does where the rules leave a choice.
    pub const fn choices(&self) -> SiteChoices {
        let Self { variants, contradicted, crawl_delay, .. } = *self;
        SiteChoices { variants, contradicted, crawl_delay }
    }

    /// Fills in what follows from the rest, and notes what is wrong with what is written as `key`.
    pub(super) fn complete(&mut self, key: &str, faults: &mut Faults<'_>) {
        self.name = self.hosts.first().map_or_else(|| DEFAULT_SITE.to_owned(), ToString::to_string);
        let (origin, robots) = (format!("{key}.origin"), format!("{key}.robots"));
        if faults.has(&origin) {
            self.origin.check(&origin, faults);
        }
        self.robots.check(&robots, faults);
        if self.origin.servers.is_empty() && !faults.has(&robots) {
            self.robots = RobotsConfig::none();
        }
        let is_askable =
            !self.origin.servers.is_empty() || self.robots.origin().is_none_or(|from| from.url.is_some());
        let message = "a site without `origin` has none to take a robots.txt from";
        let hint = "add `url`, or a `file`, or `from = \"none\"`";
        faults.require(is_askable || faults.has(&origin), &robots, message, hint);
        refusal_status(self.refusal.status, &format!("{key}.refusal.status"), faults);
    }
}

/// Notes where `status`, which is written as `key`, is none that a refusal may have: it may only say "not this, and it is not
/// the server's fault" (RFC 9110 §15.5).
pub(super) fn refusal_status(status: u16, key: &str, faults: &mut Faults<'_>) {
    let message = format!("invalid status `{status}` of refusals");
    let hint = "write 402, 403, 404, 410, 429 or 451";
    faults.require([402, 403, 404, 410, 429, 451].contains(&status), key, message, hint);
}

written! {
    /// `example.org`, or `*.example.org` for every name below it, the domain itself not among them.
    #[derive(Hash)]
    pub HostPattern(Box<str>) = |text| {
        // As no client sends it (RFC 3986 §3.2.2).
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Err(format!("invalid host `{text}`: write an address of IPv6 in brackets: `[{address}]`"));
        }
        let (below, name) = text.split_at(if text.starts_with("*.") { 2 } else { 0 });
        // As clients send it: in punycode and lower case (RFC 5891 §5).
        let host = Host::parse(name).ok().filter(|_| !name.contains('*')).map(|host| host.to_string());
        let host = host.map(|host| host::normalise(&host).into_owned()).filter(|host| !host.is_empty());
        let expected = "expected a name such as `example.org` or `*.example.org`, without scheme and port";
        host.map(|host| format!("{below}{host}").into()).ok_or_else(|| format!("invalid host `{text}`: {expected}"))
    };
}

impl fmt::Display for HostPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl HostPattern {
    /// The name, where it is one.
    pub fn exact(&self) -> Option<&str> {
        (!self.starts_with("*.")).then_some(&**self)
    }

    /// Whether a host, in normal form, is one of these.
    pub fn admits(&self, host: &str) -> bool {
        match self.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None => ***self == *host,
        }
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
