//! A JWK Set (RFC 7517 §5) as a directory holds it.

use crate::identify::signature::{KeyFault, PublicKey};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// More keys than this are published by nobody.
const MOST_KEYS: usize = 32;

/// The keys of a directory that could verify a signature.
#[derive(Debug, Default)]
pub(in crate::policy) struct KeySet {
    pub(in crate::policy) keys: HashMap<Box<str>, PublicKey>,
    /// What is wrong with others.
    pub(in crate::policy) faults: Vec<String>,
}

#[derive(Deserialize)]
struct JwkDocument {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a set. Keys that cannot be used are left out, and told of.
    pub(in crate::policy) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document: JwkDocument = serde_json::from_slice(bytes).map_err(|error| {
            format!("is invalid: expected a JWK Set (RFC 7517), such as {{\"keys\":[…]}}: {error}")
        })?;
        if document.keys.len() > MOST_KEYS {
            return Err(format!("has {} keys, and {MOST_KEYS} are the most", document.keys.len()));
        }
        let mut set = Self::default();
        for (jwk, place) in document.keys.iter().zip(1..) {
            match key(jwk) {
                Ok(key) => set.keys.extend(key.map(|key| (key.thumbprint.clone(), key))),
                Err(fault) => set.faults.push(format!("key {place}: {fault}")),
            }
        }
        Ok(set)
    }
}

/// The key of an entry (RFC 7517 §4); `None` for one that is for something else than signing.
fn key(jwk: &Value) -> Result<Option<PublicKey>, String> {
    let member = |name: &str| jwk.get(name).and_then(Value::as_str).unwrap_or_default();
    if !matches!(member("use"), "" | "sig") {
        return Ok(None);
    }
    if jwk.get("d").is_some_and(|half| !half.is_null()) {
        return Err("holds its private half, so that anybody could sign with it".to_owned());
    }
    match PublicKey::from_jwk(member) {
        Ok(key) => Ok(Some(key)),
        // A set may have keys for others, too.
        Err(KeyFault::Unsupported) => Ok(None),
        Err(fault) => Err(fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    #[test]
    fn keys_that_cannot_be_used_are_left_out_and_told_of() {
        let text = format!(
            "{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{X}\",\"kid\":\"my name\",\"nbf\":1,\"alg\":\"x\"}},\
             {{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\"}},\
             {{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{X}\",\"d\":\"AAAA\"}},\
             {{\"kty\":\"oct\",\"k\":\"AAAA\"}},\
             {{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{X}\",\"use\":\"enc\"}},\
             {{\"kty\":\"RSA\",\"n\":\"AAAA\",\"e\":\"AQAB\"}}],\"more\":1}}"
        );
        let set = KeySet::parse(text.as_bytes()).unwrap();
        let thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
        assert_eq!(set.keys.keys().map(|key| &**key).collect::<Vec<_>>(), [thumbprint]);
        let faults = set.faults.join("; ");
        for part in ["key 2: is a test key", "key 3: holds its private half", "key 6: is an RSA key"] {
            assert!(faults.contains(part), "{faults}");
        }
    }

    #[test]
    fn one_odd_key_does_not_take_the_others_away() {
        let good = format!("\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{X}\",\"y\":null,\"kid\":null");
        let odd = "{\"kty\":\"EC\",\"crv\":1},1,{\"kty\":\"AKP\",\"kid\":7},{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":7}";
        let text = format!("{{\"keys\":[{{{good}}},{odd}]}}");
        let set = KeySet::parse(text.as_bytes()).unwrap();
        assert_eq!((set.keys.len(), set.faults.len()), (1, 1), "{:?}", set.faults);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        let many = format!("{{\"keys\":[{}]}}", vec!["{}"; MOST_KEYS + 1].join(","));
        for text in ["", "[]", "{}", "{\"keys\":{}}", "<html>", "{\"kty\":\"OKP\"}", &many] {
            assert!(KeySet::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
