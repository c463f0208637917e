//! One site of the configuration.

use super::faults::Faults;
use super::host_pattern::HostPattern;
use super::origin::Origin;
use super::robots::RobotsConfig;
use super::robots_tags::RobotsTag;
use super::values::{DurationValue, TextOrTable, WrittenAs};
use crate::enforce::{Contradicted, Mode, PaceChoice, RefusalPolicy, SiteChoices, Variants};
use crate::record::Reads;
use crate::request::target::PathParameters;
use serde::Deserialize;
use std::time::Duration;

/// The name of the site without hosts.
const DEFAULT_SITE: &str = "default";

/// A refusal may only say "not this, and it is not the server's fault" (RFC 9110 §15.5).
const REFUSAL_STATUS: [u16; 6] = [402, 403, 404, 410, 429, 451];

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
    #[serde(with = "WrittenAs::<TextOrTable<Origin>>")]
    pub origin: Origin,
    /// What its robots.txt is made of.
    #[serde(with = "WrittenAs::<TextOrTable<RobotsConfig>>")]
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
    #[serde(with = "WrittenAs::<DurationValue>")]
    retry_after: Duration,
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

/// Notes where `status`, which is written as `key`, is none that a refusal may have.
pub(super) fn refusal_status(status: u16, key: &str, faults: &mut Faults<'_>) {
    let message = format!("invalid status `{status}` of refusals");
    let hint = "write 402, 403, 404, 410, 429 or 451";
    faults.require(REFUSAL_STATUS.contains(&status), key, message, hint);
}
