//! What a directory proves by signing its own answer.

use super::super::{AnswerParts, FieldLine, SignatureFault, prove_directory};
use super::trial::{NOW, pair, public};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The vector of the draft, "Signed Directory Response".
#[test]
fn a_directory_proves_that_it_holds_its_keys() {
    let body = concat!(
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\",",
        "\"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\",\"use\":\"sig\"}]}"
    );
    let fields: [FieldLine<'_>; 3] = [
        (b"content-digest", b"sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"),
        (
            b"signature-input",
            b"binding=(\"@authority\";req \"content-digest\");created=1735689600;expires=4889289600;keyid=\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\";tag=\"http-message-signatures-directory\"",
        ),
        (
            b"signature",
            b"binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:",
        ),
    ];
    let answer = Some(AnswerParts { status: 200, fields: &fields });
    let fetched =
        SignedMessage { answer, ..message("GET", "signature-agent.test", AgentOrigin::WELL_KNOWN, &[]) };
    let (key, other, now) = (test_key(&ED25519_KEY), test_key(&RSA_PSS), at(1_790_000_000));
    let body = body.as_bytes();
    assert_eq!(prove_directory(&fetched, body, &key, now), Ok(true));
    assert_eq!(prove_directory(&fetched, body, &other, now), Ok(false), "it did not sign");
    assert_eq!(prove_directory(&fetched, &body[1..], &key, now), Err(SignatureFault::Mismatch));
    let elsewhere = SignedMessage { authority: "other.test", ..fetched };
    assert_eq!(prove_directory(&elsewhere, body, &key, now), Err(SignatureFault::Mismatch));
    let (early, late) = (at(1_735_689_000), at(4_889_289_600));
    assert_eq!(prove_directory(&fetched, body, &key, early), Err(SignatureFault::FromTheFuture));
    assert_eq!(prove_directory(&fetched, body, &key, late), Err(SignatureFault::Expired));
    let unsigned = SignedMessage { answer: Some(AnswerParts { status: 200, fields: &[] }), ..fetched };
    assert_eq!(prove_directory(&unsigned, body, &key, now), Ok(false));
}

/// What is found of an answer of `agent.example` with these two fields, each of these members.
fn proved(inputs: &[String], signatures: &[String]) -> Result<bool, SignatureFault> {
    let (input, signature) = (inputs.join(", "), signatures.join(", "));
    let fields: [FieldLine<'_>; 2] =
        [(b"Signature-Input", input.as_bytes()), (b"Signature", signature.as_bytes())];
    let answer = Some(AnswerParts { status: 200, fields: &fields });
    let fetched = SignedMessage { answer, ..message("GET", "agent.example", AgentOrigin::WELL_KNOWN, &[]) };
    prove_directory(&fetched, b"{}", &public(&pair(1)), at(NOW))
}

/// A member of each field under `label`, by the key of this seed, that began to hold so long ago.
fn member(label: &str, seed: u8, ago: u64) -> (String, String) {
    let keyid = public(&pair(seed)).thumbprint;
    let (created, expires) = (NOW - ago, NOW - ago + 300);
    let parameters = format!(
        "(\"@authority\";req);created={created};expires={expires};keyid=\"{keyid}\";\
         tag=\"http-message-signatures-directory\""
    );
    let base = format!("\"@authority\";req: agent.example\n\"@signature-params\": {parameters}");
    let signature = STANDARD.encode(pair(seed).sign(base.as_bytes()).as_ref());
    (format!("{label}={parameters}"), format!("{label}=:{signature}:"))
}

#[test]
fn one_right_signature_of_several_proves_a_key() {
    let ((right, by_right), (old, by_old)) = (member("a", 1, 10), member("b", 1, 1_000));
    let (other, by_other) = member("c", 2, 10);
    let (wrong, by_wrong) = (right.replacen("a=", "d=", 1), by_old.replacen("b=", "d=", 1));
    let (unread, by_unread) =
        ("e=(\"@authority\";req);tag=\"http-message-signatures-directory\"", "e=:AAAA:");
    let all = [&*old, &other, &wrong, unread, &right].map(str::to_owned);
    let signatures = [&*by_old, &by_other, &by_wrong, by_unread, &by_right].map(str::to_owned);
    assert_eq!(proved(&all, &signatures), Ok(true));
    assert_eq!(proved(&all[..4], &signatures), Err(SignatureFault::Expired), "the first of three");
    assert_eq!(proved(&all[2..4], &signatures), Err(SignatureFault::Mismatch));
    assert_eq!(proved(&all[1..2], &signatures), Ok(false), "another key's");
}

#[test]
fn what_stands_twice_proves_nothing() {
    let (right, by_right) = member("a", 1, 10);
    let (one, twice) =
        (|field: &String| vec![field.clone()], |field: &String| vec![field.clone(), field.clone()]);
    assert_eq!(proved(&one(&right), &one(&by_right)), Ok(true));
    assert_eq!(proved(&twice(&right), &one(&by_right)), Err(SignatureFault::DuplicateLabel));
    assert_eq!(proved(&one(&right), &twice(&by_right)), Err(SignatureFault::DuplicateLabel));
}
