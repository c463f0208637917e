//! `[alerts]`: whom the gateway tells of what needs a look.

use super::build::Faults;
use super::defaults;
use super::values::DurationValue;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// Where alerts go, and how often the gateway looks for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertsConfig {
    /// The file with the URL and, on a second line, the secret that alerts are signed with.
    pub webhook_file: PathBuf,
    /// How often the gateway looks.
    pub every: Duration,
    /// PEM file of the certificates that the receiver is believed by in place of the built-in ones.
    pub ca: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertsTable {
    webhook_file: PathBuf,
    every: Option<Spanned<DurationValue>>,
    ca: Option<PathBuf>,
}

/// A look reads the store.
const SHORTEST: Duration = Duration::from_secs(1);

/// Checks the table.
pub(super) fn build(
    table: Option<AlertsTable>,
    base: &Path,
    faults: &mut Faults<'_>,
) -> Option<AlertsConfig> {
    let table = table?;
    let every = table.every.map_or(defaults::ALERTS_EVERY, |every| {
        if every.as_ref().0 < SHORTEST {
            faults.push(
                every.span(),
                "`every` is too short: expected `1s` or more",
                "the default is \"30s\"",
            );
        }
        every.into_inner().0
    });
    let (webhook_file, ca) = (base.join(table.webhook_file), table.ca.map(|path| base.join(path)));
    Some(AlertsConfig { webhook_file, every, ca })
}
