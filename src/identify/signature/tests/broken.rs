//! Signatures that are broken in one place each, with the reason that is given.

use super::super::SignatureFault;
use super::trial::{AGENT, NOW, Trial, good};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use strum::VariantArray as _;

type Change = fn(&mut Trial);

/// Changed after signing.
const CHANGED: [(&str, Change, SignatureFault); 26] = [
    ("other authority", |t| t.authority = "example.com", SignatureFault::Mismatch),
    ("other port", |t| t.authority = "example.org:8443", SignatureFault::Mismatch),
    ("other method", |t| t.method = "POST", SignatureFault::Mismatch),
    ("other path", |t| t.target = "/b", SignatureFault::Mismatch),
    ("path in another spelling", |t| t.target = "/%61", SignatureFault::Mismatch),
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
        "agent twice, the last one of which counts",
        |t| t.agent = format!("sig1=\"{AGENT}\", sig1=\"https://unknown.example\""),
        SignatureFault::UnknownAgent,
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
    ("signature of another length", |t| t.signature = Some("sig1=:AAAA:".into()), SignatureFault::Mismatch),
    (
        "signature of zeros",
        |t| {
            t.signature = Some(format!("sig1=:{}:", STANDARD.encode([0; 64])));
        },
        SignatureFault::Mismatch,
    ),
];

/// Signed as they are, by whoever holds the key: from what stands in `Signature-Input` to what takes its place.
const SIGNED: [(&str, &str, SignatureFault); 36] = [
    ("\"web-bot-auth\"", "\"web-bot\"", SignatureFault::WrongTag),
    (";tag=\"web-bot-auth\"", "", SignatureFault::WrongTag),
    ("\"web-bot-auth\"", "web-bot-auth", SignatureFault::WrongTag),
    (";created=1789999990", "", SignatureFault::MissingParameter),
    (";expires=1790000290", "", SignatureFault::MissingParameter),
    ("keyid=", "key-id=", SignatureFault::MissingParameter),
    ("created=1789999990", "created=\"1789999990\"", SignatureFault::WrongType),
    ("created=1789999990", "created=-1", SignatureFault::WrongType),
    ("created=1789999990", "created=1789999990.5", SignatureFault::WrongType),
    ("expires=1790000290", "expires=never", SignatureFault::WrongType),
    ("expires=1790000290", "expires=1789999990", SignatureFault::WrongType),
    ("expires=1790000290", "expires=1789999999", SignatureFault::Expired),
    ("created=1789999990", "created=1789900000", SignatureFault::Expired),
    ("created=1789999990", "created=1790000200", SignatureFault::FromTheFuture),
    ("nonce=\"abc\"", "nonce=abc", SignatureFault::WrongType),
    ("alg=\"ed25519\"", "alg=\"hmac-sha256\"", SignatureFault::AlgorithmMismatch),
    ("alg=\"ed25519\"", "alg=\"rsa-v1_5-sha256\"", SignatureFault::AlgorithmMismatch),
    ("alg=\"ed25519\"", "alg=\"none\"", SignatureFault::AlgorithmMismatch),
    ("alg=\"ed25519\"", "alg=ed25519", SignatureFault::WrongType),
    ("alg=\"ed25519\"", "alg=\"rsa-pss-sha512\"", SignatureFault::AlgorithmMismatch),
    ("alg=\"ed25519\"", "alg=\"ecdsa-p256-sha256\"", SignatureFault::AlgorithmMismatch),
    ("keyid=\"", "keyid=\"x", SignatureFault::UnknownKey),
    ("\"@authority\" ", "", SignatureFault::AuthorityNotCovered),
    ("\"@authority\"", "\"@authority\";x", SignatureFault::UnknownComponent),
    ("\"@authority\"", "\"@authority\";req", SignatureFault::UnknownComponent),
    (" \"signature-agent\";key=\"sig1\"", "", SignatureFault::AgentNotCovered),
    ("key=\"sig1\"", "key=\"sig9\"", SignatureFault::AgentNotCovered),
    ("\"@path\"", "\"@path\" \"@path\"", SignatureFault::DuplicateComponent),
    ("\"@path\"", "\"@path\" \"x-none\"", SignatureFault::MissingComponent),
    ("\"@path\"", "\"@path\" \"@status\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" \"@signature-params\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" \"X-Upper\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" path", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@query-param\";name=\"a\"", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\" \"signature-agent\";sf", SignatureFault::UnknownComponent),
    ("\"@path\"", "\"@path\";\"x\"", SignatureFault::Unreadable),
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
#[expect(clippy::too_many_lines, reason = "one table")]
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
            SignatureFault::TooMany,
        ),
        (
            "many components",
            good().input(|input| input.replace("\"@path\"", &"\"x\" ".repeat(40))),
            SignatureFault::TooMany,
        ),
        ("http", agent("sig1=\"http://agent.example\""), SignatureFault::NotAnOrigin),
        ("a path that nobody named", agent("sig1=\"https://agent.example/x\""), SignatureFault::UnknownAgent),
        (
            "the same under the older form",
            agent("sig1=\"https://agent.example/x\";type=directory"),
            SignatureFault::UnknownAgent,
        ),
        ("another parameter", agent("sig1=\"https://agent.example\";x"), SignatureFault::DirectoryType),
        ("a fragment", agent("sig1=\"https://agent.example/x#y\""), SignatureFault::NotAnOrigin),
        (
            "several agents, none of this label",
            Trial {
                agent: format!("a=\"{AGENT}\", b=\"https://other.example\""),
                ..good().replace(";key=\"sig1\"", "")
            },
            SignatureFault::AgentNotCovered,
        ),
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
            SignatureFault::DirectoryType,
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
    let twice = |sent: &mut Trial| sent.fields.push(("Signature-Input", sent.input.clone()));
    assert_eq!(good().outcome(twice), Ok(true), "the same twice is the same");
    let other = |sent: &mut Trial| {
        sent.fields.push(("Signature-Agent", sent.agent.clone()));
        sent.agent = "sig1=\"https://unknown.example\"".into();
    };
    assert_eq!(good().outcome(other), Err(SignatureFault::UnknownAgent), "the last one counts");
    let covered =
        Trial { fields: vec![("Accept", "a".into())], ..good().replace("\"@path\"", "\"@path\" \"accept\"") };
    let twice = |sent: &mut Trial| sent.fields.push(("Accept", "b".into()));
    assert_eq!(covered.outcome(twice), Err(SignatureFault::Mismatch));
}

/// Scripts of operators look for these words in what `explain` says.
#[test]
fn every_fault_has_a_word_that_stays_and_a_sentence_of_its_own() {
    let words: Vec<&str> = SignatureFault::VARIANTS.iter().map(|fault| fault.as_str()).collect();
    let expected = "algorithm-mismatch agent-not-covered authority-not-covered directory-type duplicate-component \
        expired from-the-future mismatch missing-component missing-parameter missing-signature no-agent no-keys \
        not-an-origin too-many too-much-work unknown-agent unknown-component \
        unknown-key unreadable wrong-tag wrong-type";
    assert_eq!(words, expected.split_whitespace().collect::<Vec<_>>());
    let mut sentences: Vec<&str> = SignatureFault::VARIANTS.iter().map(|fault| fault.sentence()).collect();
    assert!(sentences.iter().all(|sentence| !sentence.is_empty() && !sentence.ends_with('.')));
    sentences.sort_unstable();
    sentences.dedup();
    assert_eq!(sentences.len(), words.len());
    assert!(SignatureFault::VARIANTS.iter().all(|fault| fault.kind().as_str() != "verified"));
}
