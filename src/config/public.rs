//! `[public]`: the page about crawlers that the site shows to everybody.

use super::error::rebase;
use super::faults::Faults;
use super::values::{DurationValue, WrittenAs};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the page is written, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublicConfig {
    /// The folder of the page, its feed and its badge. A server has to show it to the world.
    pub folder: PathBuf,
    /// How often it is written.
    #[serde(default = "default_interval", with = "WrittenAs::<DurationValue>")]
    pub every: Duration,
}

/// To write it takes reading all counts that are kept.
const SHORTEST: Duration = Duration::from_secs(60);

const fn default_interval() -> Duration {
    Duration::from_secs(60 * 60)
}

impl PublicConfig {
    pub(super) fn rebase(&mut self, base: &Path) {
        rebase(base, [&mut self.folder]);
    }

    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        let message = "`every` is too short: expected `1m` or more";
        faults.require(self.every >= SHORTEST, "public.every", message, "the default is \"1h\"");
    }
}
