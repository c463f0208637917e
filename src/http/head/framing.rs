//! The fields that decide where a message ends and whom it is for (RFC 9112 §3.2, §6; RFC 9110 §7.6.1).

use super::authority::{Form, is_host};
use super::field::Field;
use super::request::ConnectionOptions;
use super::{Body, HttpFault, SIGNATURE_INPUT, is_token, number, trimmed};
use crate::http::claims;

/// `Connection` may name so many options; pingora takes no more either.
const MOST_OPTIONS: usize = 9;

/// Fields that are meant for the origin, whatever `Connection` says (RFC 9110 §7.6.1): a client that has them
/// removed on the way would show the gateway one request and the origin another.
const FOR_THE_ORIGIN: [&str; 16] = [
    "host",
    "content-length",
    "transfer-encoding",
    "content-type",
    "content-encoding",
    "authorization",
    "cookie",
    "cache-control",
    "user-agent",
    "expect",
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
];

/// What has been seen of these fields so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Framing {
    /// Where the value of `Host` lies in the head.
    pub(super) host: Option<(usize, usize)>,
    length: Option<u64>,
    is_chunked: bool,
    option_count: usize,
    pub(super) options: ConnectionOptions,
    /// Whether it says what was signed of it.
    pub(super) is_signed: bool,
}

impl Framing {
    /// Takes note of a field whose value begins at byte `at` of the head.
    pub(super) fn note(&mut self, field: &Field<'_>, at: usize) -> Result<(), HttpFault> {
        match field.name.len() {
            4 if field.is("host") => self.host(field.value, at),
            10 if field.is("connection") => self.connection(field.value),
            15 if field.is(SIGNATURE_INPUT) => {
                self.is_signed = true;
                Ok(())
            }
            14 if field.is("content-length") => self.content_length(field.value),
            17 if field.is("transfer-encoding") => self.transfer_encoding(field.value),
            14 | 17 if claims::is_disguised_framing(field.name) => Err(HttpFault::Spelling),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8], at: usize) -> Result<(), HttpFault> {
        if self.host.is_some() || !is_host(value) {
            return Err(HttpFault::Host);
        }
        self.host = Some((at, at + value.len()));
        Ok(())
    }

    /// One line, digits only. RFC 9112 §6.3 leaves it to a recipient whether it takes equal numbers twice;
    /// not every origin does.
    fn content_length(&mut self, value: &[u8]) -> Result<(), HttpFault> {
        let length = number(value).filter(|_| self.length.is_none());
        self.length = Some(length.ok_or(HttpFault::ContentLength)?);
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), HttpFault> {
        if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(HttpFault::TransferEncoding);
        }
        self.is_chunked = true;
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) -> Result<(), HttpFault> {
        for option in value.split(|byte| *byte == b',').map(trimmed).filter(|option| !option.is_empty()) {
            self.option_count += 1;
            self.options.note(option);
            let is_kept = FOR_THE_ORIGIN.iter().any(|name| option.eq_ignore_ascii_case(name.as_bytes()));
            let is_ours = option.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"x-robots-"));
            if !is_token(option) || is_kept || is_ours || self.option_count > MOST_OPTIONS {
                return Err(HttpFault::Connection);
            }
        }
        Ok(())
    }

    /// The body that a head with these fields announces. `host` is the value of the one `Host`.
    pub(super) fn body(&self, form: Form<'_>, is_1_0: bool, host: Option<&[u8]>) -> Result<Body, HttpFault> {
        match (form, host) {
            (_, None) if !is_1_0 => return Err(HttpFault::Host),
            // RFC 9112 §3.2.2 has a proxy follow the target; a client that names two hosts is refused
            // instead, since somebody behind us may follow the other.
            (Form::Absolute(authority), Some(host)) if authority != host => return Err(HttpFault::Authority),
            _ => {}
        }
        self.length(is_1_0)
    }

    /// The same, whatever the head is for.
    pub(super) fn length(&self, is_1_0: bool) -> Result<Body, HttpFault> {
        match (self.is_chunked, self.length) {
            (true, Some(_)) => Err(HttpFault::TwoLengths),
            // RFC 9112 §6.1: the framing of such a message is faulty.
            (true, None) if is_1_0 => Err(HttpFault::TransferEncoding),
            (true, None) => Ok(Body::UnknownLength),
            (false, Some(0) | None) => Ok(Body::None),
            (false, Some(length)) => Ok(Body::Length(length)),
        }
    }
}
