//! `[crawlers.NAME]` and `[purposes.NAME]`: what is set for a crawler, or for all that fetch for one purpose.

use super::Config;
use super::faults::Faults;
use super::values::{PurposeValue, RateValue};
use crate::decide::PaceLimit;
use crate::enforce::{Mode, PaceRates};
use crate::identify::Purpose;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashSet};

/// What is set for a crawler, or for all that fetch for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedSetting {
    /// The mode.
    pub mode: Option<Mode>,
    /// The rate.
    pub rate: Option<RateValue>,
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
        }
    }
    Ok(settings)
}

impl Config {
    /// The rates that are set.
    pub fn rates(&self) -> PaceRates {
        let limit = |rate: RateValue| rate.0.map(|rate| PaceLimit::of_rate(rate.lines, rate.period));
        let of_purpose = self.purposes.iter().filter_map(|(name, set)| Some((*name, limit(set.rate?))));
        let of_crawler =
            self.crawlers.iter().filter_map(|(name, set)| Some((name.clone(), limit(set.rate?))));
        PaceRates { purposes: of_purpose.collect(), crawlers: of_crawler.collect() }
    }
}

/// Brings the names of crawlers into the one case in which they are compared, and tells of settings that set nothing.
pub(super) fn complete(config: &mut Config, faults: &mut Faults<'_>) {
    // Names of crawlers compare without case, so two that differ in nothing else are one.
    let mut seen = HashSet::new();
    for name in config.crawlers.keys() {
        let message = format!("`[crawlers.{name}]` stands twice, in different spellings");
        let hint = "remove one of the two; case does not matter";
        faults.require(seen.insert(name.to_ascii_lowercase()), &format!("crawlers.{name}"), message, hint);
    }
    let of_crawlers = config.crawlers.iter().map(|(name, set)| (format!("crawlers.{name}"), set));
    let of_purposes = config.purposes.iter().map(|(name, set)| (format!("purposes.{name}"), set));
    for (key, set) in of_crawlers.chain(of_purposes) {
        let message = format!("`[{key}]` sets nothing: expected `mode` or `rate`");
        let hint = "write `mode = \"enforce\"` or `rate = \"60/m\"`";
        faults.require(set.mode.is_some() || set.rate.is_some(), &key, message, hint);
    }
    let crawlers = std::mem::take(&mut config.crawlers).into_iter();
    config.crawlers = crawlers.map(|(name, set)| (name.to_ascii_lowercase(), set)).collect();
}
