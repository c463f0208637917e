//! `[timeouts]`: how long clients and origins may take.

use super::values::{DurationValue, written_as};
use serde::Deserialize;
use std::time::Duration;

/// Time limits towards clients and origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Idle time of a client's connection between requests.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub keepalive: Duration,
    /// Time for the whole head of a request, for the first one from the moment of connecting.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub client_header: Duration,
    /// Time for a TLS handshake.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub tls_handshake: Duration,
    /// Silence of a client within a request.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub client_read: Duration,
    /// Time for a client to take a piece of an answer.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub client_write: Duration,
    /// Time to connect to an origin.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub origin_connect: Duration,
    /// Silence of an origin.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub origin_read: Duration,
    /// Time for an origin to take a piece of a request.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub origin_write: Duration,
    /// How long an idle connection to an origin is kept.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub origin_idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            // Browsers silently reconnect.
            keepalive: Duration::from_secs(60),
            // A head is a packet or two, even over a bad mobile line.
            client_header: Duration::from_secs(20),
            // Two round trips and some arithmetic.
            tls_handshake: Duration::from_secs(10),
            client_read: Duration::from_secs(60),
            client_write: Duration::from_secs(60),
            // A connection to an origin in the same network is there at once or not at all.
            origin_connect: Duration::from_secs(5),
            // Long enough for a slow page.
            origin_read: Duration::from_secs(60),
            origin_write: Duration::from_secs(60),
            // Below the 60 to 75 seconds after which common origins close an idle connection themselves.
            origin_idle: Duration::from_secs(50),
        }
    }
}
