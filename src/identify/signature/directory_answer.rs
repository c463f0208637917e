//! The signatures of a directory's own answer: each key proves that its holder is there, and for which host.

use super::base::signature_base;
use super::digest::is_digest_of;
use super::fault::SignatureFault;
use super::field::{DictionaryMember, FieldDictionary};
use super::key::PublicKey;
use super::message::SignedMessage;
use super::parameters::{SignatureParameters, tag};
use super::verify::signature_of;
use std::time::SystemTime;

/// The tag of signatures by which a directory proves that it holds its keys.
const TAG: &str = "http-message-signatures-directory";

/// Whether the answer `message` with this body is signed by `key`: whether its holder is there, and means this host.
/// `Ok(false)` means that no signature in it is by `key`. The body is proved only where `content-digest` is covered. The time
/// is not proved: an answer may be years old.
///
/// # Errors
/// What is wrong with the first signature by it, where none is right.
pub fn prove_directory(
    message: &SignedMessage<'_>,
    body: &[u8],
    key: &PublicKey,
    now: SystemTime,
) -> Result<bool, SignatureFault> {
    let field = |name| SignedMessage::field(message.own_fields(), name);
    let Some(input) = field("signature-input") else { return Ok(false) };
    let signature = field("signature").unwrap_or_default();
    let (inputs, signatures) = (FieldDictionary::parse(&input)?, FieldDictionary::parse(&signature)?);
    let mut first = Ok(false);
    for input in inputs.0.iter().filter(|input| input.is_list && tag(input) == Some(TAG)) {
        match is_signed(message, body, key, input, &signatures, now) {
            Ok(true) => return Ok(true),
            Err(fault) if first.is_ok() => first = Err(fault),
            _ => {}
        }
    }
    first
}

/// Whether one signature is right; `Ok(false)` of one by another key.
fn is_signed(
    message: &SignedMessage<'_>,
    body: &[u8],
    key: &PublicKey,
    input: &DictionaryMember<'_>,
    signatures: &FieldDictionary<'_>,
    now: SystemTime,
) -> Result<bool, SignatureFault> {
    if input.is_repeated {
        return Err(SignatureFault::DuplicateLabel);
    }
    let parameters = SignatureParameters::of(input)?;
    if parameters.keyid != &*key.thumbprint {
        return Ok(false);
    }
    parameters.check_directory_time(now)?;
    let covers = |name: &str| input.items.iter().any(|item| item.text() == Some(name));
    if !covers("@authority") {
        return Err(SignatureFault::AuthorityNotCovered);
    }
    let digest = SignedMessage::field(message.own_fields(), "content-digest");
    if covers("content-digest") && !digest.is_some_and(|digest| is_digest_of(&digest, body)) {
        return Err(SignatureFault::Mismatch);
    }
    let signature = signature_of(signatures, input.label)?;
    let base = signature_base(message, input)?;
    if key.has_signed(&base, signature) { Ok(true) } else { Err(SignatureFault::Mismatch) }
}
