//! `[fleet]`, `[alerts]` and `[public]`: whom a gateway tells of what it sees. Several gateways are one by a database.

use super::faults::Faults;
use super::values::{DurationValue, Ed25519Value, seconds};
use serde::Deserialize;
use std::path::PathBuf;

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
    pub publisher_key: Option<Ed25519Value>,
    /// For how long a member that falls silent still counts as serving what it served.
    // A database may take that long to start again, or to hand over to a standby.
    #[serde(default = "seconds::<300>")]
    pub lease: DurationValue,
    /// For how long a member that joins goes on accusing nobody.
    // Longer than news takes to get to all, and than what a standby may lose.
    #[serde(default = "seconds::<10>")]
    pub settle: DurationValue,
}

/// Where alerts go, and how often the gateway looks for one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AlertsConfig {
    /// The file with the URL and, on a second line, the secret that alerts are signed with.
    pub webhook_file: PathBuf,
    /// How often the gateway looks.
    #[serde(default = "seconds::<30>")]
    pub every: DurationValue,
    /// PEM file of the certificates that the receiver is believed by in place of the built-in ones.
    pub ca: Option<PathBuf>,
}

/// Where the page is written, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublicConfig {
    /// The folder of the page, its feed and its badge. A server has to show it to the world.
    pub folder: PathBuf,
    /// How often it is written.
    #[serde(default = "seconds::<3_600>")]
    pub every: DurationValue,
}

impl FleetConfig {
    /// A password in the URL would be shown wherever the configuration is.
    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        let schemes = ["postgresql://", "postgres://"];
        let rest = schemes.iter().find_map(|scheme| self.database.strip_prefix(scheme));
        let message = "invalid `database`: expected a URL of PostgreSQL";
        let hint = "write \"postgresql://user@host:5432/name\"";
        faults.require(rest.is_some(), "fleet.database", message, hint);
        // All that is before an `@` may be taken for who logs in, and a name with percent signs for any other.
        let rest = rest.unwrap_or_default();
        let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
        let mut parameters = rest.split(['?', '&']).skip(1).filter_map(|word| word.split_once('='));
        let is_password = |name: &str| name.contains('%') || name.to_ascii_lowercase().contains("password");
        let has_password = user.contains(':') || parameters.any(|(name, _)| is_password(name));
        let hint = "put it into a file of its own, and name that with `password_file`";
        faults.require(!has_password, "fleet.database", "`database` holds a password", hint);
        let is_fit = (1..=200).contains(&self.name.len()) && !self.name.contains(char::is_control);
        let message = "invalid `name`: expected 1 to 200 characters, none of them a control character";
        faults.require(is_fit, "fleet.name", message, "without the key the name of the host is taken");
    }
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
        assert_eq!(config.fleet.unwrap().publisher_key.as_deref(), Some(&[1; 32]));
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
