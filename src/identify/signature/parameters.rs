//! The parameters of a signature (RFC 9421 §2.3), and what time and algorithm say of it.

use super::fault::SignatureFault;
use super::field::{InnerList, Parameters};
use super::key::KeyAlgorithm;
use std::time::{Duration, SystemTime};

/// How long a signature may live, whatever `expires` says: the draft recommends 24 hours at most.
const LONGEST_LIFE: u64 = 24 * 3_600;

/// How far a signer's clock may be ahead.
const SKEW: u64 = 60;

/// What a signature says of itself.
#[derive(Debug)]
pub(super) struct SignatureParameters<'a> {
    pub(super) keyid: &'a str,
    pub(super) algorithm: Option<KeyAlgorithm>,
    created: u64,
    expires: u64,
}

impl<'a> SignatureParameters<'a> {
    /// Reads them; `created`, `expires` and `keyid` have to be there.
    pub(super) fn of(input: &'a InnerList) -> Result<Self, SignatureFault> {
        let all = &input.params;
        let created = instant(all, "created")?.ok_or(SignatureFault::MissingParameter)?;
        let expires = instant(all, "expires")?.ok_or(SignatureFault::MissingParameter)?;
        let keyid = text(all, "keyid")?.ok_or(SignatureFault::MissingParameter)?;
        text(all, "nonce")?;
        let algorithm = text(all, "alg")?.map(KeyAlgorithm::named).transpose()?;
        Ok(Self { keyid, algorithm, created, expires })
    }

    /// Whether it holds at `now`.
    pub(super) fn check_time(&self, now: SystemTime) -> Result<(), SignatureFault> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        if self.created > now.saturating_add(SKEW) {
            return Err(SignatureFault::FromTheFuture);
        }
        if self.expires <= self.created {
            return Err(SignatureFault::WrongType);
        }
        let end = self.expires.min(self.created.saturating_add(LONGEST_LIFE));
        if end <= now { Err(SignatureFault::Expired) } else { Ok(()) }
    }

    /// When it was created.
    pub(super) fn created(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(self.created))
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// The tag of a signature, where it has one.
pub(super) fn tag(input: &InnerList) -> Option<&str> {
    text(&input.params, "tag").ok().flatten()
}

fn instant(all: &Parameters, name: &str) -> Result<Option<u64>, SignatureFault> {
    let Some(value) = all.get(name) else { return Ok(None) };
    let seconds = value.as_integer().and_then(|number| u64::try_from(i64::from(number)).ok());
    seconds.map(Some).ok_or(SignatureFault::WrongType)
}

fn text<'a>(all: &'a Parameters, name: &str) -> Result<Option<&'a str>, SignatureFault> {
    let Some(value) = all.get(name) else { return Ok(None) };
    value.as_string().map(|text| Some(text.as_str())).ok_or(SignatureFault::WrongType)
}
