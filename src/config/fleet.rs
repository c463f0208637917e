//! `[fleet]`: the database by which several gateways are one.

use super::build::Faults;
use super::defaults;
use super::file::ConfigFile;
use super::values::DurationValue;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// Membership in a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetConfig {
    /// The URL of the database, without a password.
    pub database: String,
    /// What this gateway is called among the others.
    pub name: String,
    /// The file with the password; without one the environment (`PGPASSWORD`) has it, or none is needed.
    pub password_file: Option<PathBuf>,
    /// The certificates of the authorities that the database's is checked against; without a file those of the system.
    pub ca_file: Option<PathBuf>,
    /// For how long a member that falls silent still counts as serving what it served.
    pub lease: Duration,
    /// For how long a member that joins goes on accusing nobody.
    pub settle: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetTable {
    database: Spanned<String>,
    name: Option<Spanned<String>>,
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    lease: Option<Spanned<DurationValue>>,
    settle: Option<DurationValue>,
}

/// A lease that is shorter would run out in the time that a database takes to start again.
const SHORTEST_LEASE: Duration = Duration::from_secs(10);

/// The longest name of a member.
const LONGEST_NAME: usize = 200;

/// Takes the table out of `file`.
pub(super) fn build(file: &mut ConfigFile, base: &Path, faults: &mut Faults<'_>) -> Option<FleetConfig> {
    let table = file.fleet.take()?;
    check_url(&table.database, faults);
    let name = name(table.name, faults);
    let lease = table.lease.map_or(defaults::FLEET_LEASE, |lease| {
        if lease.as_ref().0 < SHORTEST_LEASE {
            let message = "`lease` is too short: expected `10s` or more";
            faults.push(lease.span(), message, "the default is \"5m\"");
        }
        lease.into_inner().0
    });
    Some(FleetConfig {
        database: table.database.into_inner(),
        name,
        password_file: table.password_file.map(|path| base.join(path)),
        ca_file: table.ca_file.map(|path| base.join(path)),
        lease,
        settle: table.settle.map_or(defaults::FLEET_SETTLE, |settle| settle.0),
    })
}

/// A password in it would be shown wherever the configuration is.
fn check_url(url: &Spanned<String>, faults: &mut Faults<'_>) {
    let rest = ["postgresql://", "postgres://"].iter().find_map(|scheme| url.as_ref().strip_prefix(scheme));
    let Some(rest) = rest else {
        let message = "`database` is no URL of PostgreSQL";
        return faults.push(url.span(), message, "write \"postgresql://user@host:5432/name\"");
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    if user.contains(':') || rest.contains("password=") {
        let message = "`database` holds a password";
        faults.push(url.span(), message, "put it into a file of its own, and name that with `password_file`");
    }
}

fn name(written: Option<Spanned<String>>, faults: &mut Faults<'_>) -> String {
    let Some(written) = written else { return host_name() };
    let is_fit = |name: &str| (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(char::is_control);
    if !is_fit(written.as_ref()) {
        let message = "`name` is no name of a gateway: expected 1 to 200 characters";
        faults.push(written.span(), message, "without the key the name of the host is taken");
    }
    written.into_inner()
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "gateway".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use crate::config::{Arguments, Config};

    fn load(table: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, format!("[[sites]]\norigin = \"http://127.0.0.1:9\"\n[fleet]\n{table}\n"))
            .unwrap();
        Config::load(&Arguments { config: Some(path), ..Arguments::default() })
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_database_is_enough() {
        let config = load("database = \"postgresql://gateway@db.example/robots\"").unwrap();
        let fleet = config.fleet.unwrap();
        assert_eq!((fleet.lease.as_secs(), fleet.settle.as_secs()), (300, 10));
        assert!(!fleet.name.is_empty() && config.store.is_shared);
    }

    #[test]
    fn a_fault_is_told_without_the_password() {
        for (table, told) in [
            ("database = \"mysql://x\"", "no URL of PostgreSQL"),
            ("database = \"postgresql://gateway:s3cret@db.example/robots\"", "holds a password"),
            ("database = \"postgresql://db.example/robots?password=s3cret\"", "holds a password"),
            ("database = \"postgresql:///x\"\nlease = \"1s\"", "`lease` is too short"),
            ("database = \"postgresql:///x\"\nname = \"\"", "no name of a gateway"),
        ] {
            let error = load(table).unwrap_err();
            assert!(error.contains(told) && !error.contains("s3cret"), "{error}");
        }
    }
}
