//! The parameters of a signature (RFC 9421 §2.3), and what time and algorithm say of it.

use super::fault::SignatureFault;
use super::field::{BareValue, DictionaryMember, ItemParameters};
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
    pub(super) nonce: Option<&'a str>,
    pub(super) algorithm: Option<KeyAlgorithm>,
    created: u64,
    expires: u64,
}

impl<'a> SignatureParameters<'a> {
    /// Reads them; `created`, `expires` and `keyid` have to be there.
    pub(super) fn of(input: &'a DictionaryMember<'_>) -> Result<Self, SignatureFault> {
        let all = &input.parameters;
        if all.is_repeated {
            return Err(SignatureFault::DuplicateParameter);
        }
        let created = instant(all, "created")?.ok_or(SignatureFault::MissingCreated)?;
        let expires = instant(all, "expires")?.ok_or(SignatureFault::MissingExpires)?;
        let keyid = text(all, "keyid")?.ok_or(SignatureFault::MissingKeyid)?;
        let nonce = text(all, "nonce")?;
        let algorithm = text(all, "alg")?.map(KeyAlgorithm::named).transpose()?;
        Ok(Self { keyid, nonce, algorithm, created, expires })
    }

    /// Whether it holds at `now`, as the signature of a request.
    pub(super) fn check_time(&self, now: SystemTime) -> Result<(), SignatureFault> {
        self.check_until(self.end(), now)
    }

    /// Whether it holds at `now`, as the signature of a directory, which may live longer.
    pub(super) fn check_directory_time(&self, now: SystemTime) -> Result<(), SignatureFault> {
        self.check_until(self.expires, now)
    }

    fn check_until(&self, end: u64, now: SystemTime) -> Result<(), SignatureFault> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        if self.created > now.saturating_add(SKEW) {
            return Err(SignatureFault::FromTheFuture);
        }
        if self.expires <= self.created {
            return Err(SignatureFault::EndsBeforeStart);
        }
        if end <= now { Err(SignatureFault::Expired) } else { Ok(()) }
    }

    /// From when on it holds no more, in seconds since 1970.
    fn end(&self) -> u64 {
        self.expires.min(self.created.saturating_add(LONGEST_LIFE))
    }

    /// From when on it holds no more.
    pub(super) fn ends(&self) -> SystemTime {
        instant_of(self.end())
    }

    pub(super) fn created(&self) -> SystemTime {
        instant_of(self.created)
    }
}

fn instant_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The tag of a signature, where it has one.
pub(super) fn tag<'a>(input: &'a DictionaryMember<'_>) -> Option<&'a str> {
    text(&input.parameters, "tag").ok().flatten()
}

fn instant(all: &ItemParameters<'_>, name: &str) -> Result<Option<u64>, SignatureFault> {
    match all.get(name) {
        None => Ok(None),
        Some(BareValue::Integer(number)) => {
            u64::try_from(i64::from(*number)).map(Some).map_err(|_| SignatureFault::WrongType)
        }
        Some(_) => Err(SignatureFault::WrongType),
    }
}

fn text<'a>(all: &'a ItemParameters<'_>, name: &str) -> Result<Option<&'a str>, SignatureFault> {
    match all.get(name) {
        None => Ok(None),
        Some(BareValue::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(SignatureFault::WrongType),
    }
}
