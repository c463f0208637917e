//! `[crawlers.NAME]` and `[purposes.NAME]`: what is set for a crawler, or for all that fetch for one purpose. `exempt` and
//! `except`: who is not judged, why, and until when.

use super::faults::Faults;
use super::site::refusal_status;
use super::values::{RateValue, text_or_table, web_url, written};
use super::{Config, OriginUrl};
use crate::decide::PaceLimit;
use crate::enforce::{Mode, SetByName};
use crate::identify::Purpose;
use crate::record::timestamp;
use crate::request::address::Network;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What is set for a crawler, or for all that fetch for one purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct NamedSetting {
    /// The mode.
    pub mode: Option<Mode>,
    /// The rate.
    pub rate: Option<RateValue>,
    /// What its violations are answered with.
    pub action: Option<ActionConfig>,
    /// Those of them that are not judged.
    pub except: Vec<Exception>,
}

/// What a violation is answered with in enforce mode.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ActionConfig {
    /// A refusal, as the site gives it.
    Refuse,
    /// The way to a page about terms.
    Redirect(PageUrl),
    /// A status and what the operator wrote.
    Answer {
        /// One of those that a refusal may have.
        status: u16,
        /// The file with the body.
        body: PathBuf,
    },
    /// The answer of another server.
    Upstream(OriginUrl),
}

written! {
    /// The address of a page, as it stands in a header field.
    pub PageUrl(Box<str>) = |text| {
        let is_page = web_url(text).is_some() && !text.contains(['<', '>', '"']);
        let expected = "expected the URL of a page, such as `https://example.org/terms`";
        if is_page { Ok(text.into()) } else { Err(format!("invalid address `{text}`: {expected}")) }
    };
}

impl Config {
    /// What is set for what crawlers fetch for. `ai` stands for several and comes first: what is set for one of them alone
    /// follows, and takes its place.
    pub fn of_purposes(&self) -> impl Iterator<Item = (Purpose, &NamedSetting)> {
        self.purposes.iter().rev().flat_map(|(set, setting)| set.purposes().map(move |one| (one, setting)))
    }

    /// What `pick` finds in `[crawlers]` and `[purposes]`.
    pub fn named<'a, T>(&'a self, pick: impl Fn(&'a NamedSetting) -> Option<T>) -> SetByName<T> {
        let of_purpose = self.of_purposes().filter_map(|(purpose, set)| Some((purpose, pick(set)?)));
        let of_crawler = self.crawlers.iter().filter_map(|(name, set)| Some((name.clone(), pick(set)?)));
        SetByName::new(of_purpose, of_crawler)
    }

    /// Every setting, with the key of its table.
    pub(super) fn named_settings(&self) -> impl Iterator<Item = (String, &NamedSetting)> {
        let of_crawlers = self.crawlers.iter().map(|(name, set)| (format!("crawlers.{name}"), set));
        of_crawlers.chain(self.purposes.iter().map(|(name, set)| (format!("purposes.{name}"), set)))
    }

    /// The rates that are set; `None` for no limit, whatever robots.txt says.
    pub fn rates(&self) -> SetByName<Option<PaceLimit>> {
        self.named(|set| Some(set.rate?.0.map(|rate| PaceLimit::of_rate(rate.lines, rate.period))))
    }
}

/// Brings the names of crawlers into the one case in which they are compared, and tells of settings that set nothing.
pub(super) fn complete(config: &mut Config, faults: &mut Faults<'_>) {
    // Names of crawlers compare without case, so two that differ in nothing else are one.
    let mut seen = HashSet::new();
    for (key, set) in config.named_settings() {
        let message = format!("`[{key}]` is written twice, in different spellings");
        let hint = "remove one of the two; case does not matter";
        faults.require(seen.insert(key.to_ascii_lowercase()), &key, message, hint);
        let message = format!("`[{key}]` sets nothing: expected `mode`, `rate`, `action` or `except`");
        let hint = "write `mode = \"enforce\"` or `rate = \"60/m\"`";
        faults.require(*set != NamedSetting::default(), &key, message, hint);
        if let Some(ActionConfig::Answer { status, .. }) = set.action {
            refusal_status(status, &format!("{key}.action.answer.status"), faults);
        }
    }
    let crawlers = std::mem::take(&mut config.crawlers).into_iter();
    config.crawlers = crawlers.map(|(name, set)| (name.to_ascii_lowercase(), set)).collect();
}

/// How long before its end an exception is told of: time to ask whether it is still wanted.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Somebody who is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Exception", deny_unknown_fields, default)]
pub struct Exception {
    /// From where; from everywhere where there is none.
    pub address: Option<Network>,
    /// Why.
    pub reason: Option<String>,
    /// When it ends.
    #[serde(deserialize_with = "end")]
    #[cfg_attr(test, schemars(with = "super::tests::LocalDate"))]
    pub until: Option<SystemTime>,
}

/// The end of the day that is written, in UTC.
fn end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
    let written = toml::value::Datetime::deserialize(deserializer)?;
    let day = written.to_string().parse::<jiff::civil::Date>().ok().filter(|_| written.time.is_none());
    let end = day.and_then(|day| day.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let invalid = || format!("invalid end `{written}`: expected a day such as 2027-01-31, without quotes");
    end.map(|end| Some(end.timestamp().into())).ok_or_else(|| D::Error::custom(invalid()))
}

text_or_table!(
    Exception,
    "a network such as \"192.0.2.0/24\", or a table with `address`, `reason` and `until`",
    |network| ("address", network)
);

impl Exception {
    /// Whether it holds.
    pub fn holds(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// What is to be known of its end, where that has come or comes soon. `key` says where it is written.
    pub fn trouble(&self, key: &str, now: SystemTime) -> Option<String> {
        let until = self.until.filter(|until| *until <= now + SOON)?;
        let what = if self.holds(now) { "ends" } else { "has ended" };
        let of = self.address.map_or_else(String::new, |address| format!(" of {address}"));
        let why = self.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        Some(format!("the exception{of} in `{key}`{why} {what}: {}", timestamp(until)))
    }
}
