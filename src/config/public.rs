//! `[public]`: the page about crawlers that the site shows to everybody.

use super::values::{DurationValue, WrittenAs};
use serde::Deserialize;
use std::path::PathBuf;
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

const fn default_interval() -> Duration {
    Duration::from_secs(60 * 60)
}
