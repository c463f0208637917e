//! What can go wrong with the fleet's database, in words that name no password.

use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Duration;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// It cannot be reached, or refuses.
    #[error("{}", told(.0))]
    Database(#[from] tokio_postgres::Error),
    /// It does not answer.
    #[error("the database of the fleet has not answered for {} s", .0.as_secs())]
    Silent(Duration),
    /// Something is wrong with a file or the store of this machine, or with what is found in the database.
    #[error("{0}")]
    Local(String),
}

impl FleetError {
    /// Whether the database refuses what it was given, and will again: a value, a limit of it, a constraint.
    pub(super) fn is_of_data(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.code().is_some_and(|state| matches!(state.code().get(..2), Some("22" | "23" | "54")))
    }
}

/// The whole chain of causes, in one line, and what to do about the frequent ones.
fn told(error: &tokio_postgres::Error) -> String {
    let mut text = "the database of the fleet".to_owned();
    let _ = match error.as_db_error() {
        Some(refused) => write!(text, " refuses: {} ({})", refused.message(), refused.code().code()),
        None => write!(text, ": {error}"),
    };
    let mut cause = error.source().filter(|_| error.as_db_error().is_none());
    while let Some(error) = cause {
        // Writing to a `String` cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    let refused = error.as_db_error().and_then(|refused| hint(refused.code().code(), refused.message()));
    // The driver says this in words alone.
    let asked = text.ends_with("password missing").then_some("set `password_file`, or PGPASSWORD");
    let is_unknown =
        ["does not support TLS", "UnknownIssuer", "CaUsedAsEndEntity"].iter().any(|why| text.contains(why));
    let tls = is_unknown.then_some(
        "TLS is verified: name the certificate that signed the server's in `ca_file` of [fleet], or add `?sslmode=disable` to \
         `database` where nobody else can listen",
    );
    if let Some(hint) = refused.or(asked).or(tls) {
        let _ = write!(text, "; {hint}");
    }
    text
}

/// What an SQLSTATE calls for.
fn hint(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "3F000" | "42P01" | "42883" => {
            "`gatewayctl fleet init` sets it up, and brings it to the version of this program"
        }
        "42501" if message.ends_with("function publish") || message.ends_with("function forget") => {
            "the user needs the role robots_gateway_publisher: GRANT robots_gateway_publisher TO USER"
        }
        "42501" => "the user needs the role robots_gateway_member: GRANT robots_gateway_member TO USER",
        "RG001" => {
            "each store has a user of its own: `gatewayctl fleet forget NAME` gives it free for another one"
        }
        "28P01" | "28000" => "see `password_file`, or PGPASSWORD, and pg_hba.conf",
        "25006" => "it is read-only, as a standby is: `database` has to name the primary",
        "53100" => "its disk is full",
        _ => return None,
    })
}

impl From<crate::record::StoreError> for FleetError {
    fn from(error: crate::record::StoreError) -> Self {
        Self::Local(error.to_string())
    }
}
