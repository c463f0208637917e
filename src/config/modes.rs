//! The tables of modes, by kind of client, by purpose, by crawler; of the last two also rates.

use super::error::Faults;
use super::file::ConfigFile;
use super::values::RateValue;
use crate::decide::PaceLimit;
use crate::enforce::{Mode, PaceRates};
use crate::identify::{Purpose, PurposeSet};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use toml::Spanned;

/// The modes and the rates of `[purposes]` and `[crawlers]`.
#[derive(Default)]
pub(super) struct NamedSettings {
    pub(super) purposes: BTreeMap<Purpose, Mode>,
    pub(super) crawlers: HashMap<String, Mode>,
    pub(super) rates: PaceRates,
}

/// What is set for a crawler, or for all that fetch for one purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrawlerTable {
    mode: Option<Mode>,
    rate: Option<RateValue>,
}

impl NamedSettings {
    pub(super) fn of(file: &ConfigFile, faults: &mut Faults<'_>) -> Self {
        let mut set = Self::default();
        for (name, table) in &file.purposes {
            let set_of = name.parse::<PurposeSet>().map_err(|unknown| unknown.to_string());
            let Some(set_of) = faults.value_or_fault(table.span(), set_of) else { continue };
            let CrawlerTable { mode, rate } = table.as_ref();
            require_either(table, &format!("[purposes.{name}]"), faults);
            // `ai` comes before each of its own, which stay what they are set to.
            for purpose in set_of.purposes() {
                set.purposes.extend(mode.map(|mode| (purpose, mode)));
                set.rates.purposes.extend(rate.map(|rate| (purpose, limit(rate))));
            }
        }
        // Names of crawlers compare without case, so two that differ in nothing else are one.
        let mut seen = HashSet::new();
        for (name, table) in &file.crawlers {
            let lower = name.to_ascii_lowercase();
            if !seen.insert(lower.clone()) {
                let message = format!("`[crawlers.{name}]` stands twice, in different spellings");
                faults.push(table.span(), message, "remove one of the two; case does not matter");
            }
            let CrawlerTable { mode, rate } = table.as_ref();
            require_either(table, &format!("[crawlers.{name}]"), faults);
            set.crawlers.extend(mode.map(|mode| (lower.clone(), mode)));
            set.rates.crawlers.extend(rate.map(|rate| (lower, limit(rate))));
        }
        set
    }
}

fn require_either(table: &Spanned<CrawlerTable>, name: &str, faults: &mut Faults<'_>) {
    if table.as_ref().mode.is_none() && table.as_ref().rate.is_none() {
        let message = format!("`{name}` sets nothing: expected `mode` or `rate`");
        faults.push(table.span(), message, "write `mode = \"enforce\"` or `rate = \"60/m\"`");
    }
}

fn limit(rate: RateValue) -> Option<PaceLimit> {
    rate.0.map(|rate| PaceLimit::of_rate(rate.lines, rate.period))
}
