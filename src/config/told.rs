//! `[alerts]` and `[public]`: who is told of what the gateway sees, beside the operator.

use super::values::{DurationValue, WrittenAs, seconds};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Where alerts go, and how often the gateway looks for one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AlertsConfig {
    /// The file with the URL and, on a second line, the secret that alerts are signed with.
    pub webhook_file: PathBuf,
    /// How often the gateway looks.
    #[serde(default = "seconds::<30>", with = "WrittenAs::<DurationValue>")]
    pub every: Duration,
    /// PEM file of the certificates that the receiver is believed by in place of the built-in ones.
    pub ca: Option<PathBuf>,
}

/// Where the page is written, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublicConfig {
    /// The folder of the page, its feed and its badge. A server has to show it to the world.
    pub folder: PathBuf,
    /// How often it is written.
    #[serde(default = "seconds::<3600>", with = "WrittenAs::<DurationValue>")]
    pub every: Duration,
}
