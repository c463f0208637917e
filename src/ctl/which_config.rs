//! Which configuration, gateway and store a verb works on.

use super::VerbFailure;
use super::args::Cli;
use super::control::{self, GatewayAnswer};
use crate::config::{Arguments, Config, ConfigErrors, defaults};
use crate::control::StatusReport;
use crate::record::STORE_FILE;
use std::path::PathBuf;

/// Where a packaged gateway has its configuration.
const PACKAGED: &str = "/etc/robots-gateway/gateway.toml";

/// An origin for a configuration that only answers questions.
const NOWHERE: &str = "http://127.0.0.1:9";

impl Cli {
    /// The configuration file that was named or, where it exists, the packaged one.
    pub(super) fn config_file(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| Some(PathBuf::from(PACKAGED)).filter(|path| path.exists()))
    }

    /// The configuration file, or how to name one.
    pub(super) fn needed_config_file(&self) -> Result<PathBuf, VerbFailure> {
        let missing = || format!("no configuration: there is no {PACKAGED}");
        self.config_file().ok_or_else(|| VerbFailure::with_hint(missing(), "name one with --config FILE"))
    }

    /// The control socket: as named, as configured, or where it is by default. A configuration with a
    /// fault in it still says where: that is when an operator needs to ask.
    pub(super) fn control_socket(&self) -> Result<PathBuf, VerbFailure> {
        if let Some(socket) = &self.control {
            return Ok(socket.clone());
        }
        let hint = "--control SOCKET names the socket without a configuration";
        let Some(path) = self.config_file() else {
            return defaults::control().ok_or_else(|| VerbFailure::with_hint(defaults::NO_HOME, hint));
        };
        Config::control_of(&path).map_err(|errors| VerbFailure::with_hint(errors, hint))
    }

    /// The store of the state folder that was named first, or of the configured one.
    pub(super) fn store(&self) -> Result<PathBuf, VerbFailure> {
        let folder = match self.state_dir.first() {
            Some(folder) => folder.clone(),
            None => load_any(self)?.state_dir,
        };
        Ok(folder.join(STORE_FILE))
    }

    /// What a running gateway says of itself.
    pub(super) fn status(&self) -> Result<GatewayAnswer<StatusReport>, VerbFailure> {
        control::ask(&self.control_socket()?, "GET", "/status", &())
    }
}

/// The configuration that was named, or the defaults around a site that nobody is sent to.
pub(super) fn load_any(cli: &Cli) -> Result<Config, ConfigErrors> {
    load(cli, cli.config_file())
}

/// Loads a configuration file as the daemon would with no option but `--state-dir`, where the lists of address ranges
/// lie; without one, the defaults around a site that nobody is sent to.
pub(super) fn load(cli: &Cli, config: Option<PathBuf>) -> Result<Config, ConfigErrors> {
    let origin = config.is_none().then(|| NOWHERE.to_owned());
    let state_dir = cli.state_dir.first().cloned();
    Config::load(&Arguments { config, origin, state_dir, ..Arguments::default() })
}
