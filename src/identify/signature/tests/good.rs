//! Signatures that are right, in each form that agents use, and the steps that are told of one.

use super::super::{FieldLine, SignatureFault, explain_signature};
use super::trial::{AGENT, NOW, Trial, good, pair, public};
use super::*;

#[test]
fn good_signatures_are_verified() {
    let as_is = |_: &mut Trial| {};
    assert_eq!(good().outcome(as_is), Ok(true));
    // Rules match the query, so that a signature without it proves nothing, not even of a target that has none: it was
    // perhaps made for one that has.
    let without_query = || good().replace(" \"@query\"", "");
    for target in ["/a", "/a?", "/a?other"] {
        assert_eq!(without_query().outcome(|sent| sent.target = target), Ok(false), "{target}");
        let signed_elsewhere = Trial { target: "/a?ok", ..without_query() };
        assert_eq!(signed_elsewhere.outcome(|sent| sent.target = target), Ok(false), "{target}");
    }
    assert_eq!(good().replace("\"@path\" ", "").outcome(as_is), Ok(false));
    assert_eq!(good().outcome(|sent| sent.target = "/a?other"), Err(SignatureFault::Mismatch));
    assert_eq!(Trial { target: "/a?b", ..good() }.outcome(as_is), Ok(true));
    assert_eq!(good().outcome(|sent| sent.fields.push(("X", "y".into()))), Ok(true));
    let legacy = Trial { agent: format!("\"{AGENT}\""), ..good().replace(";key=\"sig1\"", "") };
    assert_eq!(legacy.outcome(as_is), Ok(true));
    assert_eq!(good().replace(" \"@method\" \"@path\" \"@query\"", "").outcome(as_is), Ok(false));
    assert_eq!(
        good().replace("\"@authority\" \"@method\" \"@path\" \"@query\"", "\"@target-uri\"").outcome(as_is),
        Ok(true)
    );
    assert_eq!(good().replace(";alg=\"ed25519\"", "").outcome(as_is), Ok(true));
    assert_eq!(good().replace(";nonce=\"abc\"", "").outcome(as_is), Ok(true));
    assert_eq!(
        good().replace("\"@method\"", "\"@method\" \"@scheme\" \"@request-target\"").outcome(as_is),
        Ok(true)
    );
    // Another label of the agent than of the signature, as in the draft's vectors; and a relabelled signature.
    let labelled = Trial {
        agent: format!("x=1, agent2=\"{AGENT}\""),
        ..good().replace("key=\"sig1\"", "key=\"agent2\"")
    };
    assert_eq!(labelled.outcome(as_is), Ok(true));
    let relabelled = |sent: &mut Trial| {
        sent.input = sent.input.replacen("sig1=", "p1=", 1);
        sent.signature = sent.signature.as_ref().map(|field| field.replacen("sig1=", "p1=", 1));
    };
    assert_eq!(good().outcome(relabelled), Ok(true));
    // The URL of a key set, in the catalogue under that URL; the newest of two equal labels; the type that is the default.
    let of_agent = |agent: &str| Trial { agent: agent.to_owned(), ..good() };
    let twice = of_agent(&format!("sig1=\"https://unknown.example\", sig1=\"{AGENT}\""));
    assert_eq!(twice.outcome(as_is), Ok(true));
    assert_eq!(of_agent(&format!("sig1=\"{AGENT}/\"")).outcome(as_is), Ok(true));
    assert_eq!(of_agent(&format!("sig1=\"{AGENT}\";type=directory")).outcome(as_is), Ok(true));
    let url = "https://keys.example/jwks.json";
    assert_eq!(of_agent(&format!("sig1=\"{url}\"")).outcome(as_is), Ok(true));
    assert_eq!(of_agent(&format!("sig1=\"{url}?v=2\"")).outcome(as_is), Ok(true));
    // A proxy's own signature beside it, before or behind.
    let beside = |sent: &mut Trial| {
        sent.input = format!("proxy=(\"@path\");created=1;tag=\"proxy\", {}", sent.input);
        sent.signature = sent.signature.as_ref().map(|field| format!("proxy=:AAAA:, {field}"));
    };
    assert_eq!(good().outcome(beside), Ok(true));
    let broken_beside = |sent: &mut Trial| {
        sent.input = format!("bad=(\"@path\");tag=\"web-bot-auth\", {}", sent.input);
    };
    assert_eq!(good().outcome(broken_beside), Ok(true), "the second of two is right");
    // A clock may be a little ahead, and a signature may live a day.
    assert_eq!(Trial { now: NOW - 60, ..good() }.outcome(as_is), Ok(true));
    let day = good().replace(&format!("expires={}", NOW + 290), &format!("expires={}", NOW + 999_999));
    assert_eq!(Trial { now: NOW + 86_000, ..day }.outcome(as_is), Ok(true));
    let field = Trial {
        fields: vec![("Accept", "*/*".into())],
        ..good().replace("\"@path\"", "\"@path\" \"accept\"")
    };
    assert_eq!(field.outcome(as_is), Ok(true));
}

#[test]
fn the_steps_show_where_it_ends() {
    let trial = good();
    let signature = trial.signed();
    let trial = Trial { signature: Some(signature), authority: "example.com", ..trial };
    let fields = trial.all_fields();
    let lines: Vec<FieldLine<'_>> =
        fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    let message = message(trial.method, trial.authority, trial.target, &lines);
    let known = Known::of(AGENT, &[public(&pair(7))]);
    let (_, steps) = explain_signature(&message, at(NOW), |agent| known.0.get(agent));
    for part in [
        "has the tag",
        "hold now",
        "names the agent https://agent.example",
        "has the key",
        "signature base: \"@authority\": example.com",
        "(mismatch)",
    ] {
        assert!(steps.iter().any(|step| step.contains(part)), "{part}: {steps:#?}");
    }
}
