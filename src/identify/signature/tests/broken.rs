//! A good signature, and others that are broken in one place each, with the reason that is given.

use super::super::base::signature_base;
use super::super::field::FieldDictionary;
use super::super::{FieldLine, SignatureFault};
use super::*;
use crate::identify::signature::explain;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use strum::VariantArray as _;

const NOW: u64 = 1_790_000_000;
const AGENT: &str = "https://agent.example";

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn public(pair: &Ed25519KeyPair) -> PublicKey {
    let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    PublicKey::from_jwk(&JwkParts { kty: "OKP", crv: "Ed25519", x: &x, ..JwkParts::default() }).unwrap()
}

/// A request that is signed, and what is changed after it was.
#[derive(Clone)]
struct Trial {
    /// `Signature-Input` and `Signature-Agent` as signed.
    input: String,
    agent: String,
    method: &'static str,
    authority: &'static str,
    target: &'static str,
    now: u64,
    seed: u8,
    fields: Vec<(&'static str, String)>,
    /// What stands in place of the signature.
    signature: Option<String>,
}

fn components() -> String {
    "\"@authority\" \"@method\" \"@path\" \"signature-agent\";key=\"sig1\"".to_owned()
}

fn parameters() -> String {
    format!(
        ";created={};expires={};keyid=\"{}\";alg=\"ed25519\";nonce=\"abc\";tag=\"web-bot-auth\"",
        NOW - 10,
        NOW + 290,
        public(&pair(7)).thumbprint
    )
}

fn good() -> Trial {
    Trial {
        input: format!("sig1=({}){}", components(), parameters()),
        agent: format!("sig1=\"{AGENT}\""),
        method: "GET",
        authority: "example.org",
        target: "/a?b=c",
        now: NOW,
        seed: 7,
        fields: Vec::new(),
        signature: None,
    }
}

impl Trial {
    /// The same, signed with another `Signature-Input`.
    fn input(self, change: impl FnOnce(String) -> String) -> Self {
        Self { input: change(self.input.clone()), ..self }
    }

    fn replace(self, from: &str, to: &str) -> Self {
        assert!(self.input.contains(from), "{from}");
        self.input(|input| input.replace(from, to))
    }

    /// Signs, lets `change` do its work, and examines.
    fn outcome(self, change: impl FnOnce(&mut Self)) -> Result<bool, SignatureFault> {
        let mut sent = self;
        let signature = sent.signed();
        sent.signature.get_or_insert(signature);
        change(&mut sent);
        let names: Vec<(&str, String)> = sent.all_fields();
        let lines: Vec<FieldLine<'_>> =
            names.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let message = message(sent.method, sent.authority, sent.target, &lines);
        let mut known = Known::of(AGENT, &[public(&pair(7))]);
        known.0.insert(AgentOrigin::parse("https://other.example").unwrap(), Some(HashMap::new()));
        known.0.insert(AgentOrigin::parse("https://new.example").unwrap(), None);
        let outcome = known.examine(&message, at(sent.now));
        let (explained, steps) = explain(&message, at(sent.now), |agent| known.0.get(agent), &mut PlainCheck);
        assert_eq!(explained, outcome);
        assert!(!steps.is_empty());
        outcome.map(|verified| verified.covers_target)
    }

    fn all_fields(&self) -> Vec<(&'static str, String)> {
        let mut all = self.fields.clone();
        if !self.input.is_empty() {
            all.push(("Signature-Input", self.input.clone()));
        }
        if !self.agent.is_empty() {
            all.push(("Signature-Agent", self.agent.clone()));
        }
        all.extend(self.signature.clone().map(|signature| ("Signature", signature)));
        all
    }

    /// The field `Signature`; of a base that cannot be built, something of the right length.
    fn signed(&self) -> String {
        let fields = self.all_fields();
        let lines: Vec<FieldLine<'_>> =
            fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let message = message(self.method, self.authority, self.target, &lines);
        let base = FieldDictionary::parse(self.input.as_bytes())
            .ok()
            .and_then(|inputs| signature_base(&message, inputs.0.first()?).ok());
        let signature = pair(self.seed).sign(&base.unwrap_or_default());
        let label = self.input.split('=').next().unwrap_or("sig1");
        format!("{label}=:{}:", STANDARD.encode(signature.as_ref()))
    }
}

#[test]
fn good_signatures_are_verified() {
    let as_is = |_: &mut Trial| {};
    assert_eq!(good().outcome(as_is), Ok(true));
    // What is not covered may change: the query here, and fields.
    assert_eq!(good().outcome(|sent| sent.target = "/a?other"), Ok(true));
    assert_eq!(good().outcome(|sent| sent.fields.push(("X", "y".into()))), Ok(true));
    let legacy = Trial { agent: format!("\"{AGENT}\""), ..good().replace(";key=\"sig1\"", "") };
    assert_eq!(legacy.outcome(as_is), Ok(true));
    assert_eq!(good().replace(" \"@method\" \"@path\"", "").outcome(as_is), Ok(false));
    assert_eq!(
        good().replace("\"@authority\" \"@method\" \"@path\"", "\"@target-uri\"").outcome(as_is),
        Ok(true)
    );
    assert_eq!(good().replace(";alg=\"ed25519\"", "").outcome(as_is), Ok(true));
    assert_eq!(good().replace(";nonce=\"abc\"", "").outcome(as_is), Ok(true));
    assert_eq!(
        good()
            .replace("\"@method\"", "\"@method\" \"@query\" \"@scheme\" \"@request-target\"")
            .outcome(as_is),
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

type Change = fn(&mut Trial);

/// Changed after signing.
const CHANGED: [(&str, Change, SignatureFault); 27] = [
    ("other authority", |t| t.authority = "example.com", SignatureFault::Mismatch),
    ("other port", |t| t.authority = "example.org:8443", SignatureFault::Mismatch),
    ("other method", |t| t.method = "POST", SignatureFault::Mismatch),
    ("other path", |t| t.target = "/b?b=c", SignatureFault::Mismatch),
    ("path in another spelling", |t| t.target = "/%61?b=c", SignatureFault::Mismatch),
    ("time of signing passed", |t| t.now = NOW + 290, SignatureFault::Expired),
    ("long expired", |t| t.now = NOW + 9_999_999, SignatureFault::Expired),
    ("from the future", |t| t.now = NOW - 71, SignatureFault::FromTheFuture),
    ("later end", |t| t.input = t.input.replace("expires=17", "expires=18"), SignatureFault::Mismatch),
    ("other nonce", |t| t.input = t.input.replace("abc", "abd"), SignatureFault::Mismatch),
    (
        "parameters in another order",
        |t| {
            t.input =
                t.input.replace(";nonce=\"abc\";tag=\"web-bot-auth\"", ";tag=\"web-bot-auth\";nonce=\"abc\"");
        },
        SignatureFault::Mismatch,
    ),
    (
        "components in another order",
        |t| {
            t.input = t.input.replace("\"@authority\" \"@method\"", "\"@method\" \"@authority\"");
        },
        SignatureFault::Mismatch,
    ),
    ("a component left out", |t| t.input = t.input.replace(" \"@path\"", ""), SignatureFault::Mismatch),
    (
        "another agent, whose key it is not",
        |t| t.agent = "sig1=\"https://other.example\"".into(),
        SignatureFault::UnknownKey,
    ),
    (
        "an agent that nobody named",
        |t| t.agent = "sig1=\"https://unknown.example\"".into(),
        SignatureFault::UnknownAgent,
    ),
    (
        "an agent without keys yet",
        |t| t.agent = "sig1=\"https://new.example\"".into(),
        SignatureFault::NoKeys,
    ),
    ("agent taken away", |t| t.agent = String::new(), SignatureFault::NoAgent),
    ("agent of another label", |t| t.agent = format!("sig2=\"{AGENT}\""), SignatureFault::AgentNotCovered),
    ("agent turned into a string", |t| t.agent = format!("\"{AGENT}\""), SignatureFault::AgentNotCovered),
    ("agent in upper case", |t| t.agent = "sig1=\"https://AGENT.example\"".into(), SignatureFault::Mismatch),
    (
        "agent twice",
        |t| t.agent = format!("sig1=\"{AGENT}\", sig1=\"https://evil.example\""),
        SignatureFault::DuplicateLabel,
    ),
    ("no signature", |t| t.signature = Some(String::new()), SignatureFault::MissingSignature),
    (
        "signature of another label",
        |t| {
            t.signature = t.signature.as_ref().map(|field| field.replacen("sig1", "sig2", 1));
        },
        SignatureFault::MissingSignature,
    ),
    ("signature as text", |t| t.signature = Some("sig1=\"abc\"".into()), SignatureFault::MissingSignature),
    (
        "signature of another length",
        |t| t.signature = Some("sig1=:AAAA:".into()),
        SignatureFault::WrongLength,
    ),
    (
        "signature of zeros",
        |t| {
            t.signature = Some(format!("sig1=:{}:", STANDARD.encode([0; 64])));
        },
        SignatureFault::Mismatch,
    ),
    (
        "signature twice",
        |t| {
            t.signature = t.signature.as_ref().map(|field| format!("{field}, {field}"));
        },
        SignatureFault::DuplicateLabel,
    ),
];

/// Signed as they are, by whoever holds the key: from what stands in `Signature-Input` to what takes its place.
const SIGNED: [(&str, &str, SignatureFault); 38] = [
    ("\"web-bot-auth\"", "\"web-bot\"", SignatureFault::WrongTag),
    (";tag=\"web-bot-auth\"", "", SignatureFault::WrongTag),
    ("\"web-bot-auth\"", "web-bot-auth", SignatureFault::WrongTag),
    (";created=1789999990", "", SignatureFault::MissingCreated),
    (";expires=1790000290", "", SignatureFault::MissingExpires),
    ("keyid=", "key-id=", SignatureFault::MissingKeyid),
    ("created=1789999990", "created=\"1789999990\"", SignatureFault::WrongType),
    ("created=1789999990", "created=-1", SignatureFault::WrongType),
    ("created=1789999990", "created=1789999990.5", SignatureFault::WrongType),
    ("expires=1790000290", "expires=never", SignatureFault::WrongType),
    ("expires=1790000290", "expires=1789999990", SignatureFault::EndsBeforeStart),
    ("expires=1790000290", "expires=1789999999", SignatureFault::Expired),
    ("created=1789999990", "created=1789900000", SignatureFault::Expired),
    ("created=1789999990", "created=1790000200", SignatureFault::FromTheFuture),
    ("nonce=\"abc\"", "nonce=abc", SignatureFault::WrongType),
    ("nonce=\"abc\"", "nonce=\"abc\";nonce=\"abc\"", SignatureFault::DuplicateParameter),
    ("alg=\"ed25519\"", "alg=\"hmac-sha256\"", SignatureFault::SharedSecret),
    ("alg=\"ed25519\"", "alg=\"rsa-v1_5-sha256\"", SignatureFault::UnknownAlgorithm),
    ("alg=\"ed25519\"", "alg=\"none\"", SignatureFault::UnknownAlgorithm),
    ("alg=\"ed25519\"", "alg=ed25519", SignatureFault::WrongType),
    ("alg=\"ed25519\"", "alg=\"rsa-pss-sha512\"", SignatureFault::AlgorithmMismatch),
    ("alg=\"ed25519\"", "alg=\"ecdsa-p256-sha256\"", SignatureFault::AlgorithmMismatch),
    ("keyid=\"", "keyid=\"x", SignatureFault::UnknownKey),
    ("\"@authority\" ", "", SignatureFault::AuthorityNotCovered),
    ("\"@authority\"", "\"@authority\";x", SignatureFault::UnsupportedParameter),
    ("\"@authority\"", "\"@authority\";req", SignatureFault::UnsupportedParameter),
    (" \"signature-agent\";key=\"sig1\"", "", SignatureFault::AgentNotCovered),
    ("key=\"sig1\"", "key=\"sig9\"", SignatureFault::AgentNotCovered),
    ("\"@path\"", "\"@path\" \"@path\"", SignatureFault::DuplicateComponent),
    ("\"@path\"", "\"@path\" \"x-none\"", SignatureFault::MissingComponent),
    ("\"@path\"", "\"@path\" \"@status\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" \"@signature-params\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" \"X-Upper\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" path", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@query-param\";name=\"none\"", SignatureFault::MissingComponent),
    ("\"@path\"", "\"@path\" \"signature-agent\";sf", SignatureFault::UnsupportedParameter),
    ("\"@path\"", "\"@path\";\"x\"", SignatureFault::Unreadable),
    ("sig1=(", "sig1=\"x\", sig1=(", SignatureFault::WrongTag),
];

#[test]
fn broken_signatures_have_their_reasons() {
    let mut seen = 0;
    for (what, change, fault) in CHANGED {
        assert_eq!(good().outcome(change), Err(fault), "{what}");
        seen += 1;
    }
    for (from, to, fault) in SIGNED {
        assert_eq!(good().replace(from, to).outcome(|_| {}), Err(fault), "{from} -> {to}");
        seen += 1;
    }
    println!("{seen} broken signatures");
    assert!(seen >= 60);
}

#[test]
fn broken_fields_have_their_reasons() {
    let as_is = |_: &mut Trial| {};
    let labels = |count: usize| {
        (0..count).map(|n| format!("s{n}=(\"@path\");tag=\"web-bot-auth\"")).collect::<Vec<_>>().join(", ")
    };
    let agent = |agent: &str| Trial { agent: agent.to_owned(), ..good() };
    for (what, trial, fault) in [
        ("signed by another key", Trial { seed: 8, ..good() }, SignatureFault::Mismatch),
        (
            "no fields",
            Trial { input: String::new(), signature: Some(String::new()), ..good() },
            SignatureFault::WrongTag,
        ),
        ("an item", good().input(|_| "sig1=1;tag=\"web-bot-auth\"".into()), SignatureFault::WrongTag),
        ("five signatures", good().input(|_| labels(5)), SignatureFault::TooMany),
        (
            "a long field",
            good().input(|input| format!("x={}, {input}", "1".repeat(9_000))),
            SignatureFault::TooLong,
        ),
        (
            "many components",
            good().input(|input| input.replace("\"@path\"", &"\"x\" ".repeat(40))),
            SignatureFault::TooMany,
        ),
        ("http", agent("sig1=\"http://agent.example\""), SignatureFault::NotAnOrigin),
        ("a path", agent("sig1=\"https://agent.example/x\""), SignatureFault::NotAnOrigin),
        ("a token", agent("sig1=https"), SignatureFault::NotAnOrigin),
        ("a list", agent("sig1=(\"https://agent.example\")"), SignatureFault::NotAnOrigin),
        (
            "another type",
            agent("sig1=\"https://agent.example\";type=jwks_uri"),
            SignatureFault::DirectoryType,
        ),
        (
            "a type as text",
            agent("sig1=\"https://agent.example\";type=\"directory\""),
            SignatureFault::WrongType,
        ),
        (
            "a type twice",
            agent("sig1=\"https://agent.example\";type=directory;type=cimd"),
            SignatureFault::DuplicateParameter,
        ),
        ("an agent that cannot be read", agent("sig1=\"https://agent.example"), SignatureFault::Unreadable),
        (
            "an input that cannot be read",
            good().input(|input| format!("{input}, ")),
            SignatureFault::Unreadable,
        ),
        ("an input of bytes", good().input(|input| format!("{input}\u{e9}")), SignatureFault::Unreadable),
    ] {
        assert_eq!(trial.outcome(as_is), Err(fault), "{what}");
    }
}

#[test]
fn a_header_that_comes_twice_is_one_field() {
    // Two equal labels are in doubt.
    let twice = |sent: &mut Trial| sent.fields.push(("Signature-Input", sent.input.clone()));
    assert_eq!(good().outcome(twice), Err(SignatureFault::DuplicateLabel));
    let twice = |sent: &mut Trial| sent.fields.push(("signature-agent", sent.agent.clone()));
    assert_eq!(good().outcome(twice), Err(SignatureFault::DuplicateLabel));
    let covered =
        Trial { fields: vec![("Accept", "a".into())], ..good().replace("\"@path\"", "\"@path\" \"accept\"") };
    let twice = |sent: &mut Trial| sent.fields.push(("Accept", "b".into()));
    assert_eq!(covered.outcome(twice), Err(SignatureFault::Mismatch));
}

#[test]
fn every_fault_has_a_sentence_and_a_kind() {
    for &fault in SignatureFault::VARIANTS {
        let sentence = fault.sentence();
        assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{fault}");
        assert_ne!(fault.kind().as_str(), "verified");
    }
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
    let (_, steps) = explain(&message, at(NOW), |agent| known.0.get(agent), &mut PlainCheck);
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
