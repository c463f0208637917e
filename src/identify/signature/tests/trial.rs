//! A good signature that tests change, before it is made or after.

use super::super::base::signature_base;
use super::super::field::{self, Dictionary};
use super::super::{FieldLine, SignatureFault};
use super::*;
use crate::identify::signature::explain_signature;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

pub(super) const NOW: u64 = 1_790_000_000;
pub(super) const AGENT: &str = "https://agent.example";

pub(super) fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

pub(super) fn public(pair: &Ed25519KeyPair) -> PublicKey {
    let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    JwkParts { kty: "OKP", crv: "Ed25519", x: &x, ..JwkParts::default() }.key().unwrap()
}

/// A request that is signed, and what is changed after it was.
#[derive(Clone)]
pub(super) struct Trial {
    /// `Signature-Input` and `Signature-Agent` as signed.
    pub(super) input: String,
    pub(super) agent: String,
    pub(super) method: &'static str,
    pub(super) authority: &'static str,
    pub(super) target: &'static str,
    pub(super) now: u64,
    pub(super) seed: u8,
    pub(super) fields: Vec<(&'static str, String)>,
    /// What stands in place of the signature.
    pub(super) signature: Option<String>,
}

pub(super) fn components() -> String {
    "\"@authority\" \"@method\" \"@path\" \"@query\" \"signature-agent\";key=\"sig1\"".to_owned()
}

pub(super) fn parameters() -> String {
    format!(
        ";created={};expires={};keyid=\"{}\";alg=\"ed25519\";nonce=\"abc\";tag=\"web-bot-auth\"",
        NOW - 10,
        NOW + 290,
        public(&pair(7)).thumbprint
    )
}

pub(super) fn good() -> Trial {
    Trial {
        input: format!("sig1=({}){}", components(), parameters()),
        agent: format!("sig1=\"{AGENT}\""),
        method: "GET",
        authority: "example.org",
        target: "/a",
        now: NOW,
        seed: 7,
        fields: Vec::new(),
        signature: None,
    }
}

impl Trial {
    /// The same, signed with another `Signature-Input`.
    pub(super) fn input(self, change: impl FnOnce(String) -> String) -> Self {
        Self { input: change(self.input.clone()), ..self }
    }

    pub(super) fn replace(self, from: &str, to: &str) -> Self {
        assert!(self.input.contains(from), "{from}");
        self.input(|input| input.replace(from, to))
    }

    /// Signs, lets `change` do its work, and examines.
    pub(super) fn outcome(self, change: impl FnOnce(&mut Self)) -> Result<bool, SignatureFault> {
        let mut sent = self;
        let signature = sent.signed();
        sent.signature.get_or_insert(signature);
        change(&mut sent);
        let names: Vec<(&str, String)> = sent.all_fields();
        let lines: Vec<FieldLine<'_>> =
            names.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let message = message(sent.method, sent.authority, sent.target, &lines);
        let mut known = Known::of(AGENT, &[public(&pair(7))]);
        known.0.insert(SignatureAgent::parse("https://other.example").unwrap(), Some(HashMap::new()));
        known.0.insert(SignatureAgent::parse("https://new.example").unwrap(), None);
        let keys = known.0.get(&SignatureAgent::parse(AGENT).unwrap()).cloned().unwrap();
        known.0.insert(SignatureAgent::parse("https://keys.example/jwks.json").unwrap(), keys);
        let outcome = known.verify(&message, at(sent.now));
        let (explained, steps) = explain_signature(&message, at(sent.now), |agent| known.0.get(agent));
        assert_eq!(explained, outcome);
        assert!(!steps.is_empty());
        outcome.map(|verified| verified.covers_target)
    }

    pub(super) fn all_fields(&self) -> Vec<(&'static str, String)> {
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
    pub(super) fn signed(&self) -> String {
        let fields = self.all_fields();
        let lines: Vec<FieldLine<'_>> =
            fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let message = message(self.method, self.authority, self.target, &lines);
        let base = field::parse::<Dictionary>(self.input.as_bytes())
            .ok()
            .and_then(|inputs| signature_base(&message, field::list(inputs.values().next()?)?).ok());
        let signature = pair(self.seed).sign(&base.unwrap_or_default());
        let label = self.input.split('=').next().unwrap_or("sig1");
        format!("{label}=:{}:", STANDARD.encode(signature.as_ref()))
    }
}
