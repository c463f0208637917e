//! `[authorize]`: where other proxies ask whether a request may pass.

use super::arguments::Arguments;
use super::error::{Faults, rebase};
use super::file::ConfigFile;
use super::site::SiteTable;
use super::values::{ListenValue, written_as};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The listener that answers for other proxies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthorizeConfig {
    /// Its address.
    #[serde(default = "default_address", deserialize_with = "written_as::<ListenValue, _, _>")]
    pub listen: SocketAddr,
    /// The file with the secret that a proxy has to send, where one is wanted.
    pub secret_file: Option<PathBuf>,
}

/// Loopback, and the port next to the admin listener's.
fn default_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 9310).into()
}

/// Whether other proxies are answered at all.
pub(super) const fn is_wanted(file: &ConfigFile, arguments: &Arguments) -> bool {
    file.authorize.is_some() || arguments.authorize.is_some()
}

/// The table of the file, where there is one, with what `arguments` say.
pub(super) fn build(
    written: Option<AuthorizeConfig>,
    base: &Path,
    arguments: &Arguments,
) -> Option<AuthorizeConfig> {
    let option = arguments.authorize.map(|value| value.0);
    let mut doors = written.or_else(|| option.map(|listen| AuthorizeConfig { listen, secret_file: None }))?;
    doors.listen = option.unwrap_or(doors.listen);
    rebase(base, &mut doors.secret_file);
    Some(doors)
}

/// Tells of sites without an origin, where the gateway stands before all of them.
pub(super) fn require_origins(tables: &[Spanned<SiteTable>], faults: &mut Faults<'_>) {
    for table in tables.iter().filter(|table| table.as_ref().origin.is_none()) {
        let hint = "write origin = \"http://127.0.0.1:3000\"; only beside another proxy, with [authorize], a site needs none";
        faults.push(table.span(), "missing field `origin`", hint);
    }
}
