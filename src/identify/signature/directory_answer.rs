//! The signatures of a directory's own answer: each key proves that its holder is there, and for which host.

use super::base::signature_base;
use super::digest::is_digest_of;
use super::fault::SignatureFault;
use super::field::{BareValue, FieldDictionary};
use super::key::PublicKey;
use super::message::SignedMessage;
use super::parameters::{SignatureParameters, tag};
use std::time::SystemTime;

/// The tag of signatures by which a directory proves that it holds its keys.
const TAG: &str = "http-message-signatures-directory";

/// Whether the answer `message` with this body is signed by `key`: `Ok(false)` where there is no signature of it.
///
/// # Errors
/// When there is one, and it is wrong.
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
    for input in inputs.0.iter().filter(|input| input.is_list && tag(input) == Some(TAG)) {
        let parameters = SignatureParameters::of(input)?;
        if parameters.keyid != &*key.thumbprint {
            continue;
        }
        parameters.check_directory_time(now)?;
        let covers = |name: &str| input.items.iter().any(|item| item.text() == Some(name));
        if !covers("@authority") {
            return Err(SignatureFault::AuthorityNotCovered);
        }
        if covers("content-digest")
            && !field("content-digest").is_some_and(|digest| is_digest_of(&digest, body))
        {
            return Err(SignatureFault::Mismatch);
        }
        let base = signature_base(message, input)?;
        let member = signatures.get(input.label).ok_or(SignatureFault::MissingSignature)?;
        let Some(BareValue::ByteSequence(signature)) = member.item().map(|item| &item.value) else {
            return Err(SignatureFault::MissingSignature);
        };
        return if key.has_signed(&base, signature) { Ok(true) } else { Err(SignatureFault::Mismatch) };
    }
    Ok(false)
}
