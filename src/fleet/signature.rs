//! Signatures of generations, by Ed25519 (RFC 8032): who may write the database may not for that publish.

use super::FleetError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use std::path::Path;

/// What is signed begins so: the key's signature of anything else is none of a generation.
const CONTEXT: &str = "robots-gateway generation\n";

/// The publisher's private key.
#[derive(Debug)]
pub struct PublisherKey(Ed25519KeyPair);

impl PublisherKey {
    /// Reads the key that `openssl genpkey -algorithm ed25519` writes.
    ///
    /// # Errors
    /// When there is none.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let fault = |why: &dyn std::fmt::Display| {
            let expected = "expected what `openssl genpkey -algorithm ed25519` writes";
            FleetError::Local(format!("{}: no key to sign with: {why}; {expected}", path.display()))
        };
        let der = PrivatePkcs8KeyDer::from_pem_file(path).map_err(|error| fault(&error))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        pair.map(Self).map_err(|error| fault(&error))
    }

    /// The public key that belongs to it.
    pub(super) fn public(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    pub(super) fn sign(&self, document: &str) -> String {
        STANDARD.encode(self.0.sign(format!("{CONTEXT}{document}").as_bytes()))
    }
}

/// Whether this key has signed a document.
pub(super) fn has_signed(key: &[u8], document: &str, signature: &str) -> bool {
    let message = format!("{CONTEXT}{document}");
    let signature = STANDARD.decode(signature).unwrap_or_default();
    UnparsedPublicKey::new(&ED25519, key).verify(message.as_bytes(), &signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_signs_and_only_what_was_signed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        let pair = |seed: u8| {
            let body = [b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", &[seed; 32][..]]
                .concat();
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(body))
        };
        std::fs::write(&path, pair(1)).unwrap();
        let key = PublisherKey::read(&path).unwrap();
        let signature = key.sign("{}");
        assert!(has_signed(key.public(), "{}", &signature));
        assert!(!has_signed(key.public(), "{ }", &signature) && !has_signed(&[0; 32], "{}", &signature));
        assert!(!has_signed(key.public(), "{}", "") && !has_signed(key.public(), "{}", "-"));
        for broken in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            std::fs::write(&path, broken).unwrap();
            assert!(PublisherKey::read(&path).unwrap_err().to_string().contains("openssl genpkey"));
        }
    }
}
