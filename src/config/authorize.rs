//! `[authorize]`: where other proxies ask whether a request may pass.

use super::arguments::Arguments;
use super::build::Faults;
use super::defaults;
use super::file::{ConfigFile, SiteTable};
use super::values::ListenValue;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The listener that answers for other proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizeConfig {
    /// Its address.
    pub listen: SocketAddr,
    /// The file with the secret that a proxy has to send, where one is wanted.
    pub secret_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorizeTable {
    listen: Option<Spanned<ListenValue>>,
    secret_file: Option<PathBuf>,
}

/// Whether other proxies are answered at all.
pub(super) const fn is_wanted(file: &ConfigFile, arguments: &Arguments) -> bool {
    file.authorize.is_some() || arguments.authorize.is_some()
}

/// Takes the table out of `file`; no address of `others` may be its own.
pub(super) fn build<'a>(
    file: &mut ConfigFile,
    base: &Path,
    arguments: &Arguments,
    mut others: impl Iterator<Item = &'a SocketAddr>,
    faults: &mut Faults<'_>,
) -> Option<AuthorizeConfig> {
    let table = file.authorize.take();
    let option = arguments.authorize.map(|value| value.0);
    let (written, secret_file) = match table {
        Some(table) => (table.listen, table.secret_file),
        None => (None, option.map(|_| None)?),
    };
    let span = written.as_ref().map(Spanned::span);
    let listen = option
        .or_else(|| written.map(|value| value.into_inner().0))
        .or_else(|| defaults::AUTHORIZE.parse().ok())?;
    if listen.port() != 0 && others.any(|other| *other == listen) {
        let (message, hint) =
            (format!("`{listen}` is listened on twice"), "give [authorize] another address");
        match span {
            Some(span) => faults.push(span, message, hint),
            None => faults.push_option(message, hint),
        }
    }
    Some(AuthorizeConfig { listen, secret_file: secret_file.map(|path| base.join(path)) })
}

/// Tells of sites without an origin, where the gateway stands before all of them.
pub(super) fn require_origins(tables: &[Spanned<SiteTable>], faults: &mut Faults<'_>) {
    for table in tables.iter().filter(|table| table.as_ref().origin.is_none()) {
        let hint = "write origin = \"http://127.0.0.1:3000\"; only beside another proxy, with [authorize], a site needs none";
        faults.push(table.span(), "missing field `origin`", hint);
    }
}
