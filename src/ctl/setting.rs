//! Which configuration a verb works on.

use super::VerbFailure;
use super::args::Cli;
use crate::config::{Arguments, Config, ConfigErrors, defaults};
use std::path::{Path, PathBuf};

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
        self.config_file().ok_or_else(|| {
            VerbFailure(format!(
                "no configuration: there is no {PACKAGED}\n  hint: name one with --config FILE"
            ))
        })
    }

    /// The control socket: as named, as configured, or where it is by default. A configuration with a
    /// fault in it still says where: that is when an operator needs to ask.
    pub(super) fn control_socket(&self) -> Result<PathBuf, VerbFailure> {
        if let Some(socket) = &self.control {
            return Ok(socket.clone());
        }
        let Some(path) = self.config_file() else { return Ok(defaults::control()) };
        Config::control_of(&path).map_err(|errors| {
            VerbFailure(format!(
                "{errors}\n  hint: --control SOCKET names the socket without a configuration"
            ))
        })
    }
}

/// The configuration that was named, or the defaults around a site that nobody is sent to. `--state-dir`
/// overrides its state folder.
pub(super) fn any(cli: &Cli) -> Result<Config, VerbFailure> {
    let config = cli.config_file();
    let origin = config.is_none().then(|| NOWHERE.to_owned());
    let state_dir = cli.state_dir.first().cloned();
    let arguments = Arguments { config, origin, state_dir, ..Arguments::default() };
    Config::load(&arguments).map_err(|errors| VerbFailure(errors.to_string()))
}

/// Loads a configuration file as the daemon would with no option but `--state-dir`, where the lists of
/// address ranges lie.
pub(super) fn load(cli: &Cli, path: &Path) -> Result<Config, ConfigErrors> {
    let state_dir = cli.state_dir.first().cloned();
    Config::load(&Arguments { config: Some(path.to_owned()), state_dir, ..Arguments::default() })
}
