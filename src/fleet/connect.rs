//! A connection to the database of a fleet.

use super::FleetError;
use super::tls::tls;
use crate::config::{FleetConfig, reading};
use std::future::Future;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};

/// How long the database may take to answer anything. Nobody waits for it but the exchange.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The longest password, in bytes.
const LONGEST_PASSWORD: u64 = 4_096;

/// The schema that this program works with.
pub(super) const SCHEMA: i32 = 1;

/// An answer of the database, or that there was none in time.
pub(super) async fn within<T>(
    question: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, FleetError> {
    let answer = tokio::time::timeout(PATIENCE, question).await;
    answer.map_err(|_| FleetError::Silent(PATIENCE))?.map_err(FleetError::from)
}

/// What the server holds itself to. It gives up a question a little before this program does, so that no question goes on
/// there that nobody waits for. Compiling questions takes longer than answering them.
const LIMITS: &str =
    "SET search_path = pg_catalog, pg_temp; SET lock_timeout = '5s'; SET statement_timeout = '9s';
    SET idle_in_transaction_session_timeout = '15s'; SET jit = off";

/// Connects. The connection ends with the client.
pub(super) async fn connect(config: &FleetConfig) -> Result<Client, FleetError> {
    let (client, connection) = within(settings(config)?.connect(tls(config)?)).await?;
    // Whoever asks hears why it ended.
    tokio::spawn(async move { drop(connection.await) });
    within(client.batch_execute(LIMITS)).await?;
    Ok(client)
}

/// Connects as a member or for a question, where the database is set up for this program.
pub(super) async fn connect_to_schema(config: &FleetConfig) -> Result<Client, FleetError> {
    let client = connect(config).await?;
    let row = within(client.query_one("SELECT schema FROM robots_gateway.fleet", &[])).await?;
    let found: i32 = row.try_get(0)?;
    if found != SCHEMA {
        let todo = if found > SCHEMA {
            "run the robots-gateway of that version"
        } else {
            "run `gatewayctl fleet init`"
        };
        return Err(FleetError::Local(format!(
            "the database of the fleet has schema {found}, and this program works with {SCHEMA}: {todo}"
        )));
    }
    Ok(client)
}

/// Reads the files that a connection to the database takes, as is done for each; what is wrong with them.
pub fn faults(config: &FleetConfig) -> Vec<FleetError> {
    let of_tls = tls(config).err();
    settings(config).err().into_iter().chain(of_tls).collect()
}

fn settings(config: &FleetConfig) -> Result<Config, FleetError> {
    // What the parser says of an error could hold a part of the URL that is not for a log.
    let parsed = config.database.parse::<Config>().map_err(|_| {
        let expected = "expected postgresql://user@host:5432/name";
        FleetError::Local(format!("invalid `database` of [fleet]: {expected}"))
    });
    let mut settings = parsed?;
    let from_environment = || std::env::var("PGPASSWORD").ok().map(String::into_bytes);
    let password = match &config.password_file {
        Some(path) => {
            let read = reading::read(path, LONGEST_PASSWORD).map_err(|error| {
                FleetError::Local(format!("{}: cannot read `password_file`: {error}", path.display()))
            });
            Some(read?.bytes.trim_ascii_end().to_vec())
        }
        None => from_environment(),
    };
    if let Some(password) = password {
        settings.password(password);
    }
    let says_disable = settings.get_ssl_mode() == SslMode::Disable;
    if !says_disable && !is_local(&settings) {
        settings.ssl_mode(SslMode::Require);
    }
    settings.application_name(format!("robots-gateway {}", config.name));
    settings.connect_timeout(PATIENCE / 2).keepalives_idle(PATIENCE).tcp_user_timeout(PATIENCE * 2);
    Ok(settings)
}

/// Nobody listens between this program and a server of the same machine. An address counts more than a name.
fn is_local(settings: &Config) -> bool {
    let (addresses, hosts) = (settings.get_hostaddrs(), settings.get_hosts());
    let is_none = addresses.is_empty() && hosts.is_empty();
    !is_none && addresses.iter().all(std::net::IpAddr::is_loopback) && hosts.iter().all(is_here)
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1" | "[::1]"),
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DurationValue;

    fn config(database: &str) -> FleetConfig {
        let lease = DurationValue(Duration::from_secs(300));
        let (name, database) = ("a".to_owned(), database.to_owned());
        FleetConfig {
            database,
            name,
            password_file: None,
            ca_file: None,
            publisher_key: None,
            lease,
            settle: lease,
        }
    }

    #[test]
    fn a_server_elsewhere_is_asked_over_tls_unless_the_url_says_otherwise() {
        let mode = |url| settings(&config(url)).unwrap().get_ssl_mode();
        assert_eq!(mode("postgresql://a@db.example/x"), SslMode::Require);
        assert_eq!(mode("postgresql://a@db.example/x?sslmode=prefer"), SslMode::Require);
        assert_eq!(mode("postgresql://a@db.example/x?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgresql://a@127.0.0.1/x"), SslMode::Prefer);
        // The address is where it goes, whatever the name.
        for url in ["postgresql://localhost/x?hostaddr=203.0.113.5", "postgresql:///x?hostaddr=203.0.113.5"] {
            assert_eq!(mode(url), SslMode::Require, "{url}");
        }
    }

    #[test]
    fn a_password_is_in_no_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "s3cret\n").unwrap();
        let config = FleetConfig { password_file: Some(path), ..config("postgresql://a@127.0.0.1:1/x") };
        assert_eq!(settings(&config).unwrap().get_password(), Some(&b"s3cret"[..]));
        let error = super::super::now(connect(&config)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
}
