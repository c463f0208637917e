//! Keys of an agent of ours, and requests signed by them, one way as the draft has it and one as agents still send.

use crate::support::{Request, get};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use std::time::SystemTime;

pub(crate) const AGENT: &str = "https://agent.example";

/// The name that a directory of [`AGENT`] is kept and published by.
pub(crate) const DIRECTORY: &str = "agent.example_.well-known_http-message-signatures-directory";

/// The operator's own entry of it.
pub(crate) const CATALOGUE: &str = "[[crawler]]\nname = \"Example Agent\"\nclient = \"fetcher\"\npurpose = \"ai-user\"\n\
     signs = []\ntokens = [\"ExampleAgent\"]\nsignature_agent = \"https://agent.example\"\n";

/// A pair of keys.
pub(crate) struct AgentKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl AgentKey {
    pub(crate) fn new(seed: u8) -> Self {
        let seed = [seed; 32];
        Self { seed, pair: Ed25519KeyPair::from_seed_unchecked(&seed).expect("a pair") }
    }

    fn x(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    pub(crate) fn thumbprint(&self) -> String {
        let canonical = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{}\"}}", self.x());
        URL_SAFE_NO_PAD.encode(Sha256::digest(canonical))
    }

    /// The private key, for a client.
    pub(crate) fn jwk(&self) -> String {
        let d = URL_SAFE_NO_PAD.encode(self.seed);
        format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"{d}\",\"x\":\"{}\"}}", self.x())
    }

    /// What its agent publishes.
    pub(crate) fn directory(&self) -> String {
        format!(
            "{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{}\",\"use\":\"sig\"}}]}}",
            self.x()
        )
    }

    /// The fields of a signature over these components, each with its value, beside `Signature-Agent`.
    pub(crate) fn fields(&self, components: &[(&str, &str)]) -> [(&'static str, String); 3] {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
        let agent = ("\"signature-agent\";key=\"sig1\"", "\"https://agent.example\"");
        let all: Vec<(&str, &str)> = components.iter().copied().chain([agent]).collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let parameters = format!(
            "({});created={};expires={};keyid=\"{}\";nonce=\"once\";tag=\"web-bot-auth\"",
            names.join(" "),
            now - 1,
            now + 300,
            self.thumbprint()
        );
        let lines: Vec<String> = all.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        let base = format!("{}\"@signature-params\": {parameters}", lines.concat());
        let signature = STANDARD.encode(self.pair.sign(base.as_bytes()).as_ref());
        [
            ("Signature-Agent", format!("sig1=\"{AGENT}\"")),
            ("Signature-Input", format!("sig1={parameters}")),
            ("Signature", format!("sig1=:{signature}:")),
        ]
    }

    /// A signed request for `target` of `host`.
    pub(crate) fn get(&self, host: &str, target: &str) -> Request {
        let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        let query = if query.is_empty() { "?" } else { query };
        let components =
            [("\"@authority\"", host), ("\"@method\"", "GET"), ("\"@path\"", path), ("\"@query\"", query)];
        signed(get(target).for_host(host), self.fields(&components))
    }
}

/// A request with these fields.
pub(crate) fn signed(request: Request, fields: [(&'static str, String); 3]) -> Request {
    fields.into_iter().fold(request, |request, (name, value)| request.with(name, value))
}
