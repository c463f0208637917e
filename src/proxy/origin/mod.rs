//! Origins: which server a request goes to, and over what kind of connection.

mod handshake;
mod keeping;
mod peer;
mod probe;
mod word;

pub(super) use keeping::keep;
pub(super) use peer::{ATTEMPTS, Authorities, may_retry, peer};
pub(super) use word::Inquiry;
