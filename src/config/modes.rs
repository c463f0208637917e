//! The tables of modes: by kind of client, by purpose, by crawler.

use super::build::Faults;
use super::file::{ClientsTable, ConfigFile};
use super::values::ModeValue;
use crate::enforce::{ClientModes, Mode};
use crate::identify::Purpose;
use std::collections::{BTreeMap, HashMap};

pub(super) fn clients(table: &ClientsTable) -> ClientModes {
    let default = ClientModes::default();
    let set = |value: Option<ModeValue>, default: Option<Mode>| value.map(|mode| mode.0).or(default);
    ClientModes {
        crawler: set(table.crawler, default.crawler),
        special_case: set(table.special_case, default.special_case),
        fetcher: set(table.fetcher, default.fetcher),
        tool: set(table.tool, default.tool),
        monitor: set(table.monitor, default.monitor),
        unnamed: set(table.unnamed, default.unnamed),
    }
}

pub(super) fn purposes(file: &ConfigFile, faults: &mut Faults<'_>) -> BTreeMap<Purpose, Mode> {
    let mut modes = BTreeMap::new();
    for (name, table) in &file.purposes {
        let purpose = name.parse::<Purpose>();
        let purpose = purpose.map_err(|unknown| format!("invalid purpose `{name}`: {unknown}"));
        if let Some(purpose) = faults.value_or_fault(table.span(), purpose) {
            modes.insert(purpose, table.as_ref().mode.0);
        }
    }
    modes
}

/// Names of crawlers compare without case, so two that differ in nothing else are one.
pub(super) fn crawlers(file: &ConfigFile, faults: &mut Faults<'_>) -> HashMap<String, Mode> {
    let mut modes = HashMap::new();
    for (name, table) in &file.crawlers {
        if modes.insert(name.to_ascii_lowercase(), table.as_ref().mode.0).is_some() {
            let message = format!("`[crawlers.{name}]` stands twice, in different spellings");
            faults.push(table.span(), message, "remove one of the two; case does not matter");
        }
    }
    modes
}
