//! What 17 public negative vectors for Web Bot Auth ask for (github.com, ParallaxGrain/webbotauth-negative-vectors, of
//! draft-meunier-webbotauth-httpsig-protocol-02), each built here anew with a key of our own: its name there, and the outcome.

use super::super::SignatureOutcomeKind::{self, Invalid, Unverified, Verified};
use super::trial::{AGENT, NOW, Trial, good};

type VectorChange = fn(&mut Trial);

/// Broken before it is signed: what stands in `Signature-Input`, and what takes its place.
const SIGNED: [(&str, &str, &str, SignatureOutcomeKind); 6] = [
    ("NV-01 target not covered", "\"@authority\" ", "", Invalid),
    ("NV-03 required parameter missing", ";expires=1790000290", "", Invalid),
    ("NV-05 clock ahead", "created=1789999990", "created=1790000200", Invalid),
    ("NV-09 covered component missing", "\"@path\"", "\"@path\" \"x-none\"", Invalid),
    ("NV-14 member of Signature-Agent missing", "key=\"sig1\"", "key=\"agent9\"", Invalid),
    ("NV-19 component covered twice", "\"@path\"", "\"@path\" \"@path\"", Invalid),
];

/// Broken after it was signed.
const SENT: [(&str, VectorChange, SignatureOutcomeKind); 6] = [
    ("NV-04 expired", |t| t.now = NOW + 7_200, Invalid),
    (
        "NV-06 signature by another key",
        |t| {
            let other = Trial { seed: 8, ..good() };
            t.signature = Some(other.signed());
        },
        Invalid,
    ),
    ("NV-07 base written in another way", |t| t.authority = "example.org:8443", Invalid),
    ("NV-10 Signature-Input unreadable", |t| t.input = t.input.replace(')', ""), Invalid),
    ("NV-11 signature unreadable", |t| t.signature = Some("sig1=\"not bytes\"".into()), Invalid),
    ("NV-12 Signature-Agent absent", |t| t.agent = String::new(), Unverified),
];

/// Signed with another `Signature-Agent`.
const AGENTS: [(&str, &str, SignatureOutcomeKind); 3] = [
    ("NV-16 not https", "sig1=\"http://agent.example\"", Invalid),
    ("NV-17 with a path", "sig1=\"https://agent.example/keys\";type=directory", Unverified),
    ("NV-18 unparsable", "sig1=\"https://agent.example", Invalid),
];

fn kind(trial: Trial, change: impl FnOnce(&mut Trial)) -> SignatureOutcomeKind {
    trial.outcome(change).map_or_else(super::super::fault::SignatureFault::kind, |_| Verified)
}

#[test]
fn sixteen_of_seventeen_negative_vectors_come_out_as_they_ask_for() {
    let as_is = |_: &mut Trial| {};
    for (name, from, to, expected) in SIGNED {
        assert_eq!(kind(good().replace(from, to), as_is), expected, "{name}");
    }
    for (name, change, expected) in SENT {
        assert_eq!(kind(good(), change), expected, "{name}");
    }
    for (name, agent, expected) in AGENTS {
        assert_eq!(kind(Trial { agent: agent.to_owned(), ..good() }, as_is), expected, "{name}");
    }
    let ambiguous = Trial {
        agent: format!("a=\"{AGENT}\", b=\"https://other.example\""),
        ..good().replace(";key=\"sig1\"", "")
    };
    assert_eq!(kind(ambiguous, as_is), Invalid, "NV-13 ambiguous member");
    // The one that differs: a request is judged by its head, before its body is there. What the signature proves of the
    // body is for whoever reads that.
    let digest = ("Content-Digest", "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:".to_owned());
    let covered = good().replace("\"@path\"", "\"@path\" \"content-digest\"");
    assert_eq!(kind(Trial { fields: vec![digest], ..covered }, as_is), Verified, "NV-08 another body");
}
