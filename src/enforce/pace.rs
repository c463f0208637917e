//! What is done about crawlers that come faster than they were asked to.

use super::mode::of_crawler_or_purpose;
use super::{Action, Mode, may_be_refused};
use crate::decide::PaceLimit;
use crate::identify::{Identity, Purpose};
use crate::request::target::RequestTarget;
use std::collections::{BTreeMap, HashMap};

/// What a site does about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaceChoice {
    /// Count them.
    #[default]
    Report,
    /// Answer 429 in enforce mode.
    Enforce,
}

/// Rates that the operator set; `None` for no limit, whatever robots.txt says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaceRates {
    /// For what a crawler fetches for.
    pub purposes: BTreeMap<Purpose, Option<PaceLimit>>,
    /// For a crawler by name, in lower case.
    pub crawlers: HashMap<String, Option<PaceLimit>>,
}

impl PaceRates {
    /// The rate set for `identity`, where there is one: the crawler's own before that of its purpose.
    #[must_use]
    pub fn of(&self, identity: &Identity) -> Option<Option<PaceLimit>> {
        of_crawler_or_purpose(&self.crawlers, &self.purposes, identity)
    }
}

/// What is done with a request that comes too fast.
#[must_use]
pub fn enforce_pace(
    mode: Mode,
    choice: PaceChoice,
    identity: &Identity,
    target: &RequestTarget<'_>,
) -> Action {
    let refuses = choice == PaceChoice::Enforce && may_be_refused(mode, identity, target);
    if refuses { Action::Refuse } else { Action::Forward }
}
