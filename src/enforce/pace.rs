//! What is done about crawlers that come faster than they were asked to.

use super::{Action, Mode, may_be_refused};
use crate::identify::Identity;
use crate::request::target::RequestTarget;

/// What a site does about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PaceChoice {
    /// Count them.
    #[default]
    Report,
    /// Answer 429 in enforce mode.
    Enforce,
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
