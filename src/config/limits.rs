//! `[limits]`: how much of the gateway one client, and all of them, may take.
//!
//! How long they may take is said by `[timeouts]`.

use super::arguments::Arguments;
use super::build::Faults;
use super::defaults;
use super::values::{SizeValue, written_as};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use toml::Spanned;

/// Bounds on connections and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionLimits {
    /// Connections of clients that may be open at once.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub connections: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub connections_per_address: usize,
    /// Requests on one connection, whatever it speaks.
    #[serde(deserialize_with = "within::<1, { u32::MAX }, _, _>")]
    pub requests_per_connection: u32,
    /// Size of a request's head, in bytes.
    #[serde(deserialize_with = "header_size")]
    pub header_size: usize,
    /// Number of a request's header fields. Browsers send about twenty; the most is pingora's own bound
    /// (`MAX_HEADERS`).
    #[serde(deserialize_with = "within::<32, 256, _, _>")]
    pub header_fields: usize,
    /// Size of a request's body, in bytes; `None` leaves it to the origin.
    #[serde(deserialize_with = "written_as::<SizeValue, _, _>")]
    pub body_size: Option<u64>,
    /// How many bytes of a body a client must send in a second, once it has had time to start.
    #[serde(deserialize_with = "written_as::<SizeValue, _, _>")]
    pub body_rate: u64,
    /// Streams of one HTTP/2 connection that may be open at once (RFC 9113 §5.1.2).
    #[serde(deserialize_with = "within::<1, { u32::MAX }, _, _>")]
    pub h2_streams: u32,
    /// Requests over HTTP/2 that may be under way at once, on all connections together.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub h2_requests: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub h2_requests_per_address: usize,
    /// Streams that a client of HTTP/2 may cancel within ten seconds.
    #[serde(deserialize_with = "within::<1, { u32::MAX }, _, _>")]
    pub h2_resets: u32,
    /// `PING`, `SETTINGS` and `PRIORITY` frames that a client of HTTP/2 may send within ten seconds.
    #[serde(deserialize_with = "within::<1, { u32::MAX }, _, _>")]
    pub h2_control_frames: u32,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            // At some 5 KiB each when idle, 15 with TLS, 60 of HTTP/2, whose library keeps 28 KiB of buffers, they fit
            // into a small machine, and they stay below the files that a service manager lets a service open.
            connections: 16_384,
            // A browser opens six, an office or a carrier behind one address some hundreds; thousands are an attack.
            connections_per_address: 512,
            // After so many a connection is closed to give back what it has gathered; over HTTP/2 a client is told
            // beforehand, and opens another meanwhile. Common servers have this very number.
            requests_per_connection: 1_000,
            // Common servers take between 8 and 32 KiB, and cookies keep growing.
            header_size: 32 * 1024,
            // Browsers send about twenty, and every proxy adds a few.
            header_fields: 100,
            body_size: None,
            // Below what the worst mobile line sends.
            body_rate: 500,
            // What RFC 9113 §6.5.2 recommends as the least.
            h2_streams: 100,
            // Where clients take nothing of large answers, each holds 256 KiB: 1 GiB at most. At a tenth of a second
            // each, so many are 40,000 in a second.
            h2_requests: 4_096,
            // As many as connections of one address, so that an office has over HTTP/2 what it has over HTTP/1. They
            // hold 128 MiB at most.
            h2_requests_per_address: 512,
            // A page left early cancels what is open, a hundred streams at most; this allows for leaving it often.
            h2_resets: 500,
            // A client that measures its line sends one `PING` a second at most.
            h2_control_frames: 200,
        }
    }
}

fn within<'de, const LEAST: u32, const MOST: u32, T: TryFrom<u32>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let number = u64::deserialize(deserializer)?;
    let fits = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
    fits.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        D::Error::custom(format!("`{number}` is out of range: expected a number from {LEAST} to {MOST}"))
    })
}

/// A head of a common browser with its cookies fits into the least; less would refuse people. The most is pingora's own
/// bound (`MAX_HEADER_SIZE`): more would be promised and not kept.
fn header_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let SizeValue(size) = SizeValue::deserialize(deserializer)?;
    let fits = usize::try_from(size).ok().filter(|size| (4 * 1024..=1024 * 1024).contains(size));
    fits.ok_or_else(|| {
        D::Error::custom("`header_size` is out of range: expected a size from `4KiB` to `1MiB`")
    })
}

/// How many threads serve.
pub(super) fn threads(
    written: Option<Spanned<usize>>,
    arguments: &Arguments,
    faults: &mut Faults<'_>,
) -> usize {
    let possible = |threads: usize| (1..=1_024).contains(&threads);
    let hint = "write a number from 1 to 1024";
    match (arguments.threads, written) {
        (Some(threads), _) if !possible(threads) => {
            faults.push_option(
                format!("--threads: `{threads}` is out of range: expected 1 to 1024 worker threads"),
                hint,
            );
            threads
        }
        (Some(threads), _) => threads,
        (None, Some(written)) => {
            if !possible(*written.as_ref()) {
                let message =
                    format!("`{}` is out of range: expected 1 to 1024 worker threads", written.as_ref());
                faults.push(written.span(), message, hint);
            }
            written.into_inner()
        }
        (None, None) => defaults::threads(),
    }
}
