//! The parameters of a signature (RFC 9421 §2.3), and what time says of it.

use super::fault::SignatureFault;
use super::field::{InnerList, Parameters};
use std::time::SystemTime;

/// How long a signature may live, whatever `expires` says: the draft recommends 24 hours at most.
const LONGEST_LIFE: u64 = 24 * 3_600;

/// How far a signer's clock may be ahead.
const SKEW: u64 = 60;

/// What a signature says of itself.
#[derive(Debug)]
pub(super) struct SignatureParameters<'a> {
    pub(super) keyid: &'a str,
    pub(super) algorithm: Option<&'a str>,
    created: u64,
    expires: u64,
}

impl<'a> SignatureParameters<'a> {
    /// Reads them; `created`, `expires` and `keyid` have to be there.
    pub(super) fn of(input: &'a InnerList) -> Result<Self, SignatureFault> {
        let all = &input.params;
        let created = instant(all, "created")?;
        let expires = instant(all, "expires")?;
        let keyid = text(all, "keyid")?.ok_or(SignatureFault::MissingParameter)?;
        text(all, "nonce")?;
        let algorithm = text(all, "alg")?;
        if expires <= created {
            Err(SignatureFault::WrongType)
        } else {
            Ok(Self { keyid, algorithm, created, expires })
        }
    }

    /// Whether it holds at `now`.
    pub(super) fn check_time(&self, now: SystemTime) -> Result<(), SignatureFault> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        if self.created > now.saturating_add(SKEW) {
            return Err(SignatureFault::FromTheFuture);
        }
        let end = self.expires.min(self.created.saturating_add(LONGEST_LIFE));
        if end <= now { Err(SignatureFault::Expired) } else { Ok(()) }
    }
}

/// The tag of a signature, where it has one.
pub(super) fn tag(input: &InnerList) -> Option<&str> {
    text(&input.params, "tag").ok().flatten()
}

fn instant(all: &Parameters, name: &str) -> Result<u64, SignatureFault> {
    let value = all.get(name).ok_or(SignatureFault::MissingParameter)?;
    let seconds = value.as_integer().and_then(|number| u64::try_from(i64::from(number)).ok());
    seconds.ok_or(SignatureFault::WrongType)
}

fn text<'a>(all: &'a Parameters, name: &str) -> Result<Option<&'a str>, SignatureFault> {
    let Some(value) = all.get(name) else { return Ok(None) };
    value.as_string().map(|text| Some(text.as_str())).ok_or(SignatureFault::WrongType)
}
