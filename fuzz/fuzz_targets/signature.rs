//! The fields of a signed request: whatever they hold, nothing is verified that the key did not sign, and the steps that are
//! told come to the same end.
//!
//! The input is `Signature-Input`, `Signature` and `Signature-Agent`, each up to a newline, and then a field's value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robots_gateway::identify::signature::{
    AgentKeys, PublicKey, SignatureFault, SignedMessage, SignedStatement, explain_signature,
    verify_signature,
};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// Takes every signature for right: what comes before it is what is looked at.
fn believe(statement: &SignedStatement<'_>) -> Result<(), SignatureFault> {
    assert!(statement.base()?.windows(20).any(|part| part == b"\"@signature-params\":"));
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(4, |byte| *byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let fields: [(&[u8], &[u8]); 4] = [
        (b"Signature-Input", part()),
        (b"Signature", part()),
        (b"Signature-Agent", part()),
        (b"X-Field", part()),
    ];
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let member = |name: &str| match name {
        "kty" => "OKP",
        "crv" => "Ed25519",
        "x" => x,
        _ => "",
    };
    let key = PublicKey::from_jwk(member).unwrap();
    let keys: AgentKeys = Some(HashMap::from([(key.thumbprint.clone(), key.clone())]));
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let message = SignedMessage {
        method: "GET",
        scheme: "https",
        authority: "example.org",
        target: b"/a?b=c",
        fields: &fields,
    };
    let check = |statement: &SignedStatement<'_>| statement.verify();
    let outcome = verify_signature(&message, now, |_| Some(&keys), check);
    assert!(outcome.is_err(), "nobody has signed this");
    assert_eq!(explain_signature(&message, now, |_| Some(&keys)).0, outcome);
    if let Ok(verified) = verify_signature(&message, now, |_| Some(&keys), believe) {
        assert_eq!(verified.keyid, key.thumbprint);
    }
});
