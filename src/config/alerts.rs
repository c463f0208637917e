//! `[alerts]`: whom the gateway tells of what needs a look.

use super::values::{DurationValue, WrittenAs};
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
    #[serde(default = "default_interval", with = "WrittenAs::<DurationValue>")]
    pub every: Duration,
    /// PEM file of the certificates that the receiver is believed by in place of the built-in ones.
    pub ca: Option<PathBuf>,
}

const fn default_interval() -> Duration {
    Duration::from_secs(30)
}
