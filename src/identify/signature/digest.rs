//! `Content-Digest` (RFC 9530 §2).

use super::field::{BareValue, FieldDictionary};
use sha2::{Digest as _, Sha256, Sha512};

/// Whether a field has a digest of `body` that is known here, and each such digest is right.
pub(super) fn is_digest_of(field: &[u8], body: &[u8]) -> bool {
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
