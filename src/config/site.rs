//! One site of the configuration.

use super::error::Faults;
use super::host_pattern::HostPattern;
use super::origin::{Origin, OriginTable};
use super::robots::{RobotsConfig, RobotsTable};
use super::values::{DurationValue, TextOrTable};
use crate::enforce::{Contradicted, Mode, PaceChoice, RefusalPolicy, SiteChoices, Variants};
use crate::record::Reads;
use crate::request::target::PathParameters;
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// The name of the site without hosts.
const DEFAULT_SITE: &str = "default";

/// A refusal may only say "not this, and it is not the server's fault" (RFC 9110 §15.5).
const REFUSAL_STATUS: [u16; 6] = [402, 403, 404, 410, 429, 451];

/// A site: its hosts, where its requests go, and by which file they are judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteConfig {
    /// Its first host, or `default`.
    pub name: String,
    /// Its hosts; none for the default site.
    pub hosts: Vec<HostPattern>,
    /// Its origin; without servers where only other proxies ask about it.
    pub origin: Origin,
    /// What its robots.txt is made of.
    pub robots: RobotsConfig,
    /// Its own mode.
    pub mode: Option<Mode>,
    /// What it does where the rules leave a choice.
    pub choices: SiteChoices,
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
    /// How it refuses.
    pub refusal: RefusalPolicy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SiteTable {
    #[serde(default)]
    pub(super) hosts: Vec<Spanned<String>>,
    pub(super) origin: Option<Spanned<TextOrTable<OriginTable>>>,
    robots: Option<Spanned<TextOrTable<RobotsTable>>>,
    mode: Option<Mode>,
    #[serde(default)]
    contradicted: Contradicted,
    #[serde(default)]
    variants: Variants,
    #[serde(default)]
    crawl_delay: PaceChoice,
    #[serde(default, with = "PathParametersForm")]
    path_parameters: PathParameters,
    reads: Option<Reads>,
    #[serde(default)]
    accept_signature: bool,
    content_usage: Option<bool>,
    #[serde(default)]
    redirect_https: bool,
    #[serde(default)]
    refusal: RefusalTable,
}

#[derive(Deserialize)]
#[serde(remote = "PathParameters", rename_all = "kebab-case")]
enum PathParametersForm {
    Keep,
    Drop,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RefusalTable {
    status: Option<Spanned<u16>>,
    contact: Option<String>,
    retry_after: Option<DurationValue>,
}

impl SiteConfig {
    /// The first of its hosts that is one name.
    pub fn exact_host(&self) -> Option<&str> {
        self.hosts.iter().find_map(HostPattern::exact)
    }

    /// Whether `host`, in normal form, is a name that the operator gave it. One without hosts answers to every name.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        let of_robots = self.robots.origin().and_then(|from| from.host.as_deref());
        self.hosts.iter().any(|pattern| pattern.admits(host)) || of_robots == Some(host)
    }

    /// Its hosts as the ledger names them, `*` where it serves every other.
    pub fn patterns(&self) -> impl Iterator<Item = Box<str>> + '_ {
        let default = self.hosts.is_empty().then(|| "*".into());
        self.hosts.iter().map(|host| host.to_string().into()).chain(default)
    }

    /// The default site, of which nothing is said but its origin.
    pub(super) fn of_origin(origin: Origin) -> Self {
        let (name, robots) = (DEFAULT_SITE.to_owned(), RobotsConfig::of_origin());
        Self { name, origin, robots, ..Self::default() }
    }

    /// Checks a site's table; faults are collected, and a site with one is left out.
    pub(super) fn from_table(table: SiteTable, base: &Path, faults: &mut Faults<'_>) -> Option<Self> {
        let hosts = faults.values_or_faults(&table.hosts, str::parse::<HostPattern>);
        let origin = match table.origin {
            Some(origin) => Origin::from_key(origin, base, faults),
            None => Some(Origin::default()),
        };
        let refusal = refusal(table.refusal, faults);
        let has_origin = origin.as_ref().is_none_or(|origin| !origin.servers.is_empty());
        let robots = match table.robots {
            Some(key) => {
                let span = key.span();
                RobotsConfig::from_key(key, base, faults).filter(|robots| {
                    let is_askable = has_origin || robots.origin().is_none_or(|from| from.url.is_some());
                    if !is_askable {
                        let hint = "add `url`, or a `file`, or `from = \"none\"`";
                        faults.push(span, "a site without `origin` has none to take a robots.txt from", hint);
                    }
                    is_askable
                })
            }
            None if has_origin => Some(RobotsConfig::of_origin()),
            None => Some(RobotsConfig::default()),
        };
        let (hosts, origin, robots) = (hosts?, origin?, robots?);
        Some(Self {
            name: hosts.first().map_or_else(|| DEFAULT_SITE.to_owned(), ToString::to_string),
            hosts,
            origin,
            robots,
            mode: table.mode,
            choices: SiteChoices {
                variants: table.variants,
                contradicted: table.contradicted,
                crawl_delay: table.crawl_delay,
            },
            path_parameters: table.path_parameters,
            reads: table.reads,
            redirect_https: table.redirect_https,
            accept_signature: table.accept_signature,
            content_usage: table.content_usage,
            refusal,
        })
    }
}

fn refusal(table: RefusalTable, faults: &mut Faults<'_>) -> RefusalPolicy {
    let default = RefusalPolicy::default();
    if let Some(status) = table.status.as_ref().filter(|status| !REFUSAL_STATUS.contains(status.as_ref())) {
        let message = format!("invalid status `{}` of refusals", status.as_ref());
        faults.push(status.span(), message, "write 402, 403, 404, 410, 429 or 451");
    }
    RefusalPolicy {
        status: table.status.map_or(default.status, Spanned::into_inner),
        contact: table.contact,
        retry_after_seconds: table.retry_after.map_or(default.retry_after_seconds, |time| time.0.as_secs()),
    }
}
