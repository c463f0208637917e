//! The signatures of a directory's own answer: each key proves that its holder is there, and for which host.

use super::base::signature_base;
use super::fault::SignatureFault;
use super::field::{BareValue, DictionaryMember, FieldDictionary};
use super::key::PublicKey;
use super::message::SignedMessage;
use super::parameters::{SignatureParameters, tag};
use super::verify::signature_of;
use sha2::{Digest as _, Sha256, Sha512};
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

/// Whether a field `Content-Digest` (RFC 9530 §2) has a digest of `body` that is known here, and each such digest is right.
fn is_digest_of(field: &[u8], body: &[u8]) -> bool {
    let Ok(digests) = FieldDictionary::parse(field) else { return false };
    let mut known = digests.0.iter().filter_map(|digest| {
        let expected = match digest.label {
            "sha-256" => Sha256::digest(body).to_vec(),
            "sha-512" => Sha512::digest(body).to_vec(),
            _ => return None,
        };
        let value = digest.item().map(|item| &item.value);
        Some(matches!(value, Some(BareValue::ByteSequence(bytes)) if *bytes == expected))
    });
    known.next().is_some_and(|first| first && known.all(|other| other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 9530 §B.1, and of RFC 9421 §B.2.
    #[test]
    fn a_digest_is_that_of_the_body() {
        let field = b"sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
        assert!(is_digest_of(field, b"{\"hello\": \"world\"}\n"));
        assert!(!is_digest_of(field, b"{\"hello\": \"world\"}"));
        let field = b"sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";
        assert!(is_digest_of(field, b"{\"hello\": \"world\"}"));
        assert!(!is_digest_of(b"md5=:AAAA:", b"") && !is_digest_of(b"", b"") && !is_digest_of(b"(", b""));
    }
}
