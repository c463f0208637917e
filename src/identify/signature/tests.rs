//! The published vectors, and signatures that are broken in one place each.

mod bounds;
mod broken;
mod good;
mod negative;
mod trial;
mod vectors;

use super::key::{KeyFault, PublicKey};
use super::message::{SignatureAgent, SignedMessage};
use super::verify::{AgentKeys, SignatureOutcome, SignedStatement, verify_signature};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// So many seconds after 1970.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The members of a JWK.
#[derive(Clone, Copy, Debug, Default)]
struct JwkParts<'a> {
    kty: &'a str,
    crv: &'a str,
    x: &'a str,
    y: &'a str,
    n: &'a str,
    e: &'a str,
}

impl<'a> JwkParts<'a> {
    fn member(&self, name: &str) -> &'a str {
        let all = [
            ("kty", self.kty),
            ("crv", self.crv),
            ("x", self.x),
            ("y", self.y),
            ("n", self.n),
            ("e", self.e),
        ];
        all.into_iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    fn key(&self) -> Result<PublicKey, KeyFault> {
        PublicKey::from_jwk(|name| self.member(name))
    }
}

/// The keys of RFC 9421 §B.1.2, §B.1.3 and §B.1.4.
const RSA_PSS: JwkParts<'static> = JwkParts {
    kty: "RSA",
    crv: "",
    x: "",
    y: "",
    n: "r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry53mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9nV5oyc6XI2w",
    e: "AQAB",
};
const ECC_P256: JwkParts<'static> = JwkParts {
    kty: "EC",
    crv: "P-256",
    x: "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
    y: "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
    n: "",
    e: "",
};
const ED25519_KEY: JwkParts<'static> = JwkParts {
    kty: "OKP",
    crv: "Ed25519",
    x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
    y: "",
    n: "",
    e: "",
};

fn test_key(parts: &JwkParts<'_>) -> PublicKey {
    PublicKey::of_any(|name| parts.member(name)).unwrap()
}

/// The directories that are known to a test.
struct Known(HashMap<SignatureAgent, AgentKeys>);

impl Known {
    fn of(agent: &str, keys: &[PublicKey]) -> Self {
        let keys = keys.iter().map(|key| (key.thumbprint.clone(), key.clone())).collect();
        Self([(SignatureAgent::parse(agent).unwrap(), Some(keys))].into())
    }

    fn verify(&self, message: &SignedMessage<'_>, now: SystemTime) -> SignatureOutcome {
        let check = |statement: &SignedStatement<'_>| statement.verify();
        verify_signature(message, now, |agent| self.0.get(agent), check)
    }
}

/// A request for a URL, with these fields.
fn message<'a>(
    method: &'a str,
    authority: &'a str,
    target: &'a str,
    fields: &'a [(&'a [u8], &'a [u8])],
) -> SignedMessage<'a> {
    SignedMessage { method, scheme: "https", authority, target: target.as_bytes(), fields }
}
