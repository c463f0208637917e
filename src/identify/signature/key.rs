//! Public keys as directories publish them (JWK, RFC 7517), their thumbprints (RFC 7638), and what they verify.
//!
//! The only file that names ring.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PSS_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::{Digest as _, Sha256};

/// Whether this key of Ed25519 has signed a file.
pub fn has_signed_file(key: &[u8; 32], file: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, key).verify(file, signature).is_ok()
}

/// Why a JWK is no key that could verify a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Of a type or curve that is not supported.
    #[error("is of another type than OKP with Ed25519, EC with P-256, or RSA")]
    Unsupported,
    /// A member is missing, or not what its type wants.
    #[error("has a member that is missing, or not base64url, or of the wrong length")]
    Malformed,
    /// An RSA key of fewer than 2,048 or more than 4,096 bits.
    #[error("is an RSA key of fewer than 2048 or more than 4096 bits")]
    Size,
    /// One of the keys of RFC 9421 appendix B, whose private halves everybody has.
    #[error("is a test key of RFC 9421, whose private half everybody has")]
    TestKey,
}

/// The thumbprints of the keys of RFC 9421 §B.1.1 to §B.1.4.
const TEST_KEYS: [&str; 4] = [
    "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo",
    "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
    "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",
    "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
];

/// A key that verifies signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// Its JWK thumbprint, base64url: what `keyid` names.
    pub thumbprint: Box<str>,
    material: KeyMaterial,
}

/// By the algorithms of RFC 9421 §3.3, which are called so in `alg`.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
enum KeyMaterial {
    #[strum(serialize = "ed25519")]
    Ed25519([u8; 32]),
    /// The point, uncompressed.
    #[strum(serialize = "ecdsa-p256-sha256")]
    EcdsaP256([u8; 65]),
    #[strum(serialize = "rsa-pss-sha512")]
    RsaPss { modulus: Box<[u8]>, exponent: Box<[u8]> },
}

impl PublicKey {
    /// Reads a key of a directory: `member` knows the members of the JWK, which are empty where they are not there.
    ///
    /// # Errors
    /// Where it is none, or one that nobody may rely on.
    pub fn from_jwk<'a>(member: impl Fn(&str) -> &'a str) -> Result<Self, KeyFault> {
        let key = Self::of_any(member)?;
        if TEST_KEYS.contains(&&*key.thumbprint) { Err(KeyFault::TestKey) } else { Ok(key) }
    }

    /// The same without a look at whose key it is.
    pub(super) fn of_any<'a>(member: impl Fn(&str) -> &'a str) -> Result<Self, KeyFault> {
        let [kty, crv, x, y, n, e] = ["kty", "crv", "x", "y", "n", "e"].map(member);
        let (material, canonical) = match (kty, crv) {
            ("OKP", "Ed25519") => {
                let key = bytes(x)?.try_into().map_err(|_| KeyFault::Malformed)?;
                let canonical = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
                (KeyMaterial::Ed25519(key), canonical)
            }
            ("EC", "P-256") => {
                let (across, up) = (bytes(x)?, bytes(y)?);
                if across.len() != up.len() {
                    return Err(KeyFault::Malformed);
                }
                let point = [&[4], &*across, &*up].concat();
                let point = point.try_into().map_err(|_| KeyFault::Malformed)?;
                let canonical = format!("{{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"{x}\",\"y\":\"{y}\"}}");
                (KeyMaterial::EcdsaP256(point), canonical)
            }
            ("RSA", _) => {
                let (modulus, exponent) = (bytes(n)?.into_boxed_slice(), bytes(e)?.into_boxed_slice());
                if !(256..=512).contains(&modulus.len()) {
                    return Err(KeyFault::Size);
                }
                if exponent.is_empty() || exponent.len() > 4 {
                    return Err(KeyFault::Malformed);
                }
                let canonical = format!("{{\"e\":\"{e}\",\"kty\":\"RSA\",\"n\":\"{n}\"}}");
                (KeyMaterial::RsaPss { modulus, exponent }, canonical)
            }
            _ => return Err(KeyFault::Unsupported),
        };
        let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(canonical)).into();
        Ok(Self { thumbprint, material })
    }

    /// The name of the algorithm that it signs by.
    #[must_use]
    pub fn algorithm_name(&self) -> &'static str {
        (&self.material).into()
    }

    /// Whether it made `signature` of `base`. Takes some 60 us.
    #[must_use]
    pub fn has_signed(&self, base: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            KeyMaterial::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(base, signature),
            KeyMaterial::EcdsaP256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(base, signature)
            }
            KeyMaterial::RsaPss { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PSS_2048_8192_SHA512, base, signature)
            }
        }
        .is_ok()
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, KeyFault> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| KeyFault::Malformed)
}
