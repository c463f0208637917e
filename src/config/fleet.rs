//! `[fleet]`: the database by which several gateways are one.

use super::faults::Faults;
use super::values::{DurationValue, Ed25519Value, WrittenAs, seconds};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Membership in a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FleetConfig {
    /// The URL of the database, without a password.
    pub database: String,
    /// What this gateway is called among the others.
    #[serde(default = "host_name")]
    pub name: String,
    /// The file with the password; without one the environment (`PGPASSWORD`) has it, or none is needed.
    pub password_file: Option<PathBuf>,
    /// The certificates of the authorities that the database's is checked against; without a file those of the system.
    pub ca_file: Option<PathBuf>,
    /// The Ed25519 key that has to have signed what is published.
    #[serde(default, with = "WrittenAs::<Ed25519Value>")]
    pub publisher_key: Option<[u8; 32]>,
    /// For how long a member that falls silent still counts as serving what it served.
    // A database may take that long to start again, or to hand over to a standby.
    #[serde(default = "seconds::<300>", with = "WrittenAs::<DurationValue>")]
    pub lease: Duration,
    /// For how long a member that joins goes on accusing nobody.
    // Longer than news takes to get to all, and than what a standby may lose.
    #[serde(default = "seconds::<10>", with = "WrittenAs::<DurationValue>")]
    pub settle: Duration,
}

impl FleetConfig {
    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        check_url(&self.database, faults);
        let is_fit = (1..=200).contains(&self.name.len()) && !self.name.contains(char::is_control);
        let message = "invalid `name`: expected 1 to 200 characters, none of them a control character";
        faults.require(is_fit, "fleet.name", message, "without the key the name of the host is taken");
    }
}

/// A password in it would be shown wherever the configuration is.
fn check_url(url: &str, faults: &mut Faults<'_>) {
    let rest = ["postgresql://", "postgres://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest else {
        let message = "invalid `database`: expected a URL of PostgreSQL";
        let hint = "write \"postgresql://user@host:5432/name\"";
        return faults.push_at(Some("fleet.database"), message, hint);
    };
    // All that is before an `@` may be taken for who logs in, and a name with percent signs for any other.
    let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
    let mut parameters = rest.split(['?', '&']).skip(1).filter_map(|word| word.split_once('='));
    let is_password = |name: &str| name.contains('%') || name.to_ascii_lowercase().contains("password");
    let has_password = user.contains(':') || parameters.any(|(name, _)| is_password(name));
    let hint = "put it into a file of its own, and name that with `password_file`";
    faults.require(!has_password, "fleet.database", "`database` holds a password", hint);
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
        let fleet = config.fleet.as_ref().unwrap();
        assert_eq!((fleet.lease.as_secs(), fleet.settle.as_secs()), (300, 10));
        assert!(!fleet.name.is_empty() && config.store().is_shared);
    }

    #[test]
    fn the_publishers_key_is_what_openssl_writes() {
        let key = "publisher_key = \"MCowBQYDK2VwAyEAAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\"";
        let config = load(&format!("database = \"postgresql:///x\"\n{key}")).unwrap();
        assert_eq!(config.fleet.unwrap().publisher_key, Some([1; 32]));
    }

    #[test]
    fn a_fault_is_told_without_the_password() {
        for (table, told) in [
            ("database = \"mysql://x\"", "expected a URL of PostgreSQL"),
            ("database = \"postgresql://gateway:s3cret@db.example/robots\"", "holds a password"),
            ("database = \"postgresql://db.example/robots?password=s3cret\"", "holds a password"),
            ("database = \"postgresql://gateway:s3/cret@db.example/robots\"", "holds a password"),
            ("database = \"postgresql://db.example/robots?PASSWORD=s3cret\"", "holds a password"),
            ("database = \"postgresql://db.example/robots?p%61ssword=s3cret\"", "holds a password"),
            ("database = \"postgresql:///x\"\nlease = \"1s\"", "`lease` is out of range"),
            ("database = \"postgresql:///x\"\npublisher_key = \"AAAA\"", "expected a public key of Ed25519"),
            ("database = \"postgresql:///x\"\nname = \"\"", "expected 1 to 200 characters"),
        ] {
            let error = load(table).unwrap_err();
            assert!(error.contains(told) && !error.contains("cret@") && !error.contains("s3cret"), "{error}");
        }
    }
}
