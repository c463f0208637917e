//! `[limits]`: how much of the gateway one client, and all of them, may take.
//!
//! How long they may take is said by `[timeouts]`. The reasons for the defaults stand in [`super::defaults`].

use super::arguments::Arguments;
use super::build::Faults;
use super::defaults;
use super::values::SizeValue;
use serde::Deserialize;
use toml::Spanned;

/// Bounds on connections and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections of clients that may be open at once.
    pub connections: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    pub connections_per_address: usize,
    /// Requests on one connection, whatever it speaks.
    pub requests_per_connection: u32,
    /// Size of a request's head, in bytes.
    pub header_size: usize,
    /// Number of a request's header fields.
    pub header_fields: usize,
    /// Size of a request's body, in bytes; `None` leaves it to the origin.
    pub body_size: Option<u64>,
    /// How many bytes of a body a client must send in a second, once it has had time to start.
    pub body_rate: u64,
    /// Streams of one HTTP/2 connection that may be open at once (RFC 9113 §5.1.2).
    pub h2_streams: u32,
    /// Requests over HTTP/2 that may be under way at once, on all connections together.
    pub h2_requests: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    pub h2_requests_per_address: usize,
    /// Streams that a client of HTTP/2 may cancel within ten seconds.
    pub h2_resets: u32,
    /// `PING`, `SETTINGS` and `PRIORITY` frames that a client of HTTP/2 may send within ten seconds.
    pub h2_control_frames: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    connections: Option<Spanned<usize>>,
    connections_per_address: Option<Spanned<usize>>,
    requests_per_connection: Option<Spanned<u32>>,
    header_size: Option<Spanned<SizeValue>>,
    header_fields: Option<Spanned<usize>>,
    body_size: Option<SizeValue>,
    body_rate: Option<SizeValue>,
    h2_streams: Option<Spanned<u32>>,
    h2_requests: Option<Spanned<usize>>,
    h2_requests_per_address: Option<Spanned<usize>>,
    h2_resets: Option<Spanned<u32>>,
    h2_control_frames: Option<Spanned<u32>>,
}

/// A head of a common browser with its cookies fits into this; less would refuse people.
const LEAST_HEADER_SIZE: u64 = 4 * 1024;

/// Pingora's own bounds (`MAX_HEADER_SIZE`, `MAX_HEADERS`): more would be promised and not kept.
const MOST_HEADER_SIZE: u64 = 1024 * 1024;
const MOST_HEADER_FIELDS: usize = 256;

/// Browsers send about twenty.
const LEAST_HEADER_FIELDS: usize = 32;

impl ConnectionLimits {
    pub(super) fn from_table(table: LimitsTable, faults: &mut Faults<'_>) -> Self {
        let mut at_least_one = |value: Option<Spanned<u32>>, default: u32| {
            let Some(value) = value else { return default };
            if *value.as_ref() == 0 {
                faults.push(value.span(), "a limit of 0 lets nothing through", "write 1 or more");
            }
            value.into_inner()
        };
        let requests_per_connection =
            at_least_one(table.requests_per_connection, defaults::REQUESTS_PER_CONNECTION);
        let h2_streams = at_least_one(table.h2_streams, defaults::H2_STREAMS);
        let h2_resets = at_least_one(table.h2_resets, defaults::H2_RESETS);
        let h2_control_frames = at_least_one(table.h2_control_frames, defaults::H2_CONTROL_FRAMES);
        Self {
            connections: within(table.connections, defaults::CONNECTIONS, 1..=1_000_000, faults),
            connections_per_address: within(
                table.connections_per_address,
                defaults::CONNECTIONS_PER_ADDRESS,
                1..=1_000_000,
                faults,
            ),
            requests_per_connection,
            header_size: header_size(table.header_size, faults),
            header_fields: within(
                table.header_fields,
                defaults::HEADER_FIELDS,
                LEAST_HEADER_FIELDS..=MOST_HEADER_FIELDS,
                faults,
            ),
            body_size: table.body_size.map(|size| size.0),
            body_rate: table.body_rate.map_or(defaults::BODY_RATE, |rate| rate.0),
            h2_streams,
            h2_requests: within(table.h2_requests, defaults::H2_REQUESTS, 1..=1_000_000, faults),
            h2_requests_per_address: within(
                table.h2_requests_per_address,
                defaults::H2_REQUESTS_PER_ADDRESS,
                1..=1_000_000,
                faults,
            ),
            h2_resets,
            h2_control_frames,
        }
    }
}

fn within(
    value: Option<Spanned<usize>>,
    default: usize,
    range: std::ops::RangeInclusive<usize>,
    faults: &mut Faults<'_>,
) -> usize {
    let Some(value) = value else { return default };
    if !range.contains(value.as_ref()) {
        let hint = format!("write a number from {} to {}", range.start(), range.end());
        faults.push(value.span(), format!("`{}` is out of range", value.as_ref()), &hint);
    }
    value.into_inner()
}

fn header_size(value: Option<Spanned<SizeValue>>, faults: &mut Faults<'_>) -> usize {
    let size = value.as_ref().map_or(defaults::HEADER_SIZE, |size| size.as_ref().0);
    if let Some(value) = value.filter(|_| !(LEAST_HEADER_SIZE..=MOST_HEADER_SIZE).contains(&size)) {
        faults.push(value.span(), "`header_size` is out of range", "write a size from `4KiB` to `1MiB`");
    }
    usize::try_from(size).unwrap_or(usize::MAX)
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
            faults.option(
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
