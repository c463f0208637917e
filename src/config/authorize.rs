//! `[authorize]`: where other proxies ask whether a request may pass.

use super::values::{ListenValue, WrittenAs};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The listener that answers for other proxies.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AuthorizeConfig {
    /// Its address: by default loopback, and the port next to the admin listener's.
    #[serde(with = "WrittenAs::<ListenValue>")]
    #[default((Ipv4Addr::LOCALHOST, 9310).into())]
    pub listen: SocketAddr,
    /// The file with the secret that a proxy has to send, where one is wanted.
    pub secret_file: Option<PathBuf>,
}
