//! `[crawlers.NAME]` and `[purposes.NAME]`: what is set for a crawler, or for all that fetch for one purpose.

use super::faults::Faults;
use super::site::refusal_status;
use super::values::{ListedAs, PurposeValue, RateValue, TextOrTable, web_url, written};
use super::{Config, Exception, OriginUrl};
use crate::decide::PaceLimit;
use crate::enforce::{Mode, SetByName};
use crate::identify::Purpose;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

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
    #[serde(with = "ListedAs::<TextOrTable<Exception>>")]
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
    #[serde(rename = "answer")]
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
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub PageUrl(Box<str>) = |text| {
        let is_page = web_url(text).is_some() && !text.contains(['<', '>', '"']);
        let expected = "expected the URL of a page, such as `https://example.org/terms`";
        if is_page { Ok(text.into()) } else { Err(format!("invalid address `{text}`: {expected}")) }
    };
}

impl NamedSetting {
    /// The file that it names.
    pub(super) const fn file(&mut self) -> Option<&mut PathBuf> {
        match &mut self.action {
            Some(ActionConfig::Answer { body, .. }) => Some(body),
            _ => None,
        }
    }
}

/// `ai` stands for several, each of which may have settings of its own.
pub(super) fn of_purposes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Purpose, NamedSetting>, D::Error> {
    let mut written: Vec<_> =
        BTreeMap::<PurposeValue, NamedSetting>::deserialize(deserializer)?.into_iter().collect();
    written.sort_by_key(|(set, _)| set.0.purposes().count());
    let mut settings: BTreeMap<Purpose, NamedSetting> = BTreeMap::new();
    for (set, setting) in written {
        for purpose in set.0.purposes() {
            let own = settings.entry(purpose).or_default();
            (own.mode, own.rate) = (own.mode.or(setting.mode), own.rate.or(setting.rate));
            own.action = own.action.take().or_else(|| setting.action.clone());
            own.except.extend_from_slice(&setting.except);
        }
    }
    Ok(settings)
}

impl Config {
    /// What `pick` finds in `[crawlers]` and `[purposes]`.
    pub fn named<'a, T>(&'a self, pick: impl Fn(&'a NamedSetting) -> Option<T>) -> SetByName<T> {
        let of_purpose = self.purposes.iter().filter_map(|(name, set)| Some((*name, pick(set)?)));
        let of_crawler = self.crawlers.iter().filter_map(|(name, set)| Some((name.clone(), pick(set)?)));
        SetByName::new(of_purpose, of_crawler)
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
    for name in config.crawlers.keys() {
        let message = format!("`[crawlers.{name}]` is written twice, in different spellings");
        let hint = "remove one of the two; case does not matter";
        faults.require(seen.insert(name.to_ascii_lowercase()), &format!("crawlers.{name}"), message, hint);
    }
    let of_crawlers = config.crawlers.iter().map(|(name, set)| (format!("crawlers.{name}"), set));
    let of_purposes = config.purposes.iter().map(|(name, set)| (format!("purposes.{name}"), set));
    for (key, set) in of_crawlers.chain(of_purposes) {
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
