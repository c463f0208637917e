//! Defaults that are no fixed value of one key: folders, and what other modules ask for. All others stand with their keys.
//!
//! `conf/gateway.toml` shows the same values; a test compares the two.

use super::{Config, ConfigError, ConfigErrors, MOST_BYTES, reading};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::DeTable;

/// How often the names of origins are resolved again: the least time to live that name servers commonly give.
pub const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);

/// What is wrong where [`state_dir`] and [`control`] find nothing.
pub const NO_HOME: &str = "no folder to keep state in: neither HOME nor XDG_STATE_HOME is set";

/// Where state is kept when nobody says where; `None` where no folder of the user's own is known. Never below a folder that
/// all users share: another one could have made it.
pub fn state_dir() -> Option<PathBuf> {
    let of_root = || runs_as_root().then(|| PathBuf::from("/var/lib/robots-gateway"));
    let below_home = || Some(folder_variable("HOME")?.join(".local/state"));
    let of_user =
        || folder_variable("XDG_STATE_HOME").filter(|folder| folder.is_absolute()).or_else(below_home);
    let of_user = || Some(of_user()?.join("robots-gateway"));
    folder_variable("STATE_DIRECTORY").or_else(of_root).or_else(of_user)
}

/// Where the control socket is when nobody says where; `None` where no folder of the user's own is known.
pub fn control() -> Option<PathBuf> {
    let of_root = || runs_as_root().then(|| PathBuf::from("/run/robots-gateway"));
    let of_user = || Some(folder_variable("XDG_RUNTIME_DIR")?.join("robots-gateway"));
    let folder = folder_variable("RUNTIME_DIRECTORY").or_else(of_root).or_else(of_user).or_else(state_dir);
    Some(folder?.join("control.sock"))
}

fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether this process is root's, told by the owner of its own entry in `/proc`.
fn runs_as_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Config {
    /// Where a configuration file puts the control socket, whatever else is wrong with it: the running gateway says what.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn control_of(path: &Path) -> Result<PathBuf, ConfigErrors> {
        let bytes = reading::contents(path, MOST_BYTES, "configuration")?;
        let text = String::from_utf8_lossy(&bytes);
        let (table, _) = DeTable::parse_recoverable(&text);
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        let written = |key| Some(base.join(table.get_ref().get(key)?.get_ref().as_str()?));
        let below = || Some(written("state_dir")?.join("control.sock"));
        let control = written("control").or_else(control).or_else(below);
        control.ok_or_else(|| ConfigError::whole(path, NO_HOME).into())
    }
}
