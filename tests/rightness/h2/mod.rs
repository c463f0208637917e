//! HTTP/2 over TLS, frame by frame: what a request may say there, and what of it an HTTP/1.1 origin hears.

mod answers;
mod bodies;
mod conformance;
mod fields;
mod heads;
mod hostile;
mod probe;

pub(crate) use hostile::site;
pub(crate) use probe::{H2Probe, ProbeOutcome};

use crate::support::http2::{END_HEADERS, END_STREAM, HEADERS, field, frame};

const PUSH_PROMISE: u8 = 5;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 32;

/// The fields of a request, in their order.
fn list(fields: &[(&str, &str)]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| field(name, value)).collect()
}

/// A good request's pseudo-header fields.
const GOOD: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/p")];

/// Those, one of them with another value, or without it.
fn but(name: &str, value: Option<&str>) -> Vec<(&'static str, String)> {
    GOOD.iter()
        .filter_map(|(field, good)| {
            let value = if *field == name { value? } else { good };
            Some((*field, value.to_owned()))
        })
        .collect()
}

/// A whole request on stream 1: one `HEADERS` frame.
fn request(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &list(fields))
}

/// A good request with more fields behind.
pub(crate) fn with(more: &[(&str, &str)]) -> Vec<u8> {
    request(&[&GOOD, more].concat())
}

/// A good request with another value of a pseudo-header field.
fn changed(name: &str, value: &str) -> Vec<u8> {
    let fields = but(name, Some(value));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    request(&fields)
}

/// The head of a POST that has more to come.
fn post(more: &[(&str, &str)]) -> Vec<u8> {
    let head = [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/p")];
    frame(HEADERS, END_HEADERS, 1, &list(&[&head, more].concat()))
}

/// A `HEADERS` frame with flags and a payload.
fn headers(flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(HEADERS, flags, stream, payload)
}

/// A whole request on a stream.
fn get(stream: u32) -> Vec<u8> {
    headers(END_HEADERS | END_STREAM, stream, &list(&GOOD))
}

/// A request on stream 1 that has a body to come.
fn open() -> Vec<u8> {
    post(&[])
}

/// One entry of `SETTINGS`.
fn setting(number: u16, value: u32) -> Vec<u8> {
    let entry = [&number.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(crate::support::http2::SETTINGS, 0, 0, &entry)
}
