//! The keys of agents that sign, one directory for each agent that the catalogue or the operator names.
//!
//! They are fetched where ranges are fetched, and never because of a request. A directory that was fetched replaces the one
//! before, so a key that it no longer has verifies nothing any more; one that cannot be fetched or read changes nothing.

use super::Evidence;
use crate::config::{Config, ConfigError};
use crate::identify::signature::{AgentKeys, KeyFault, PublicKey, SignatureAgent, VerifiedSignature};
use crate::identify::{Basis, Catalogue, Identity, Recognised};
use crate::policy::fetched::{FetchHead, KeptFile};
use crate::policy::{PublishedFile, PublishedKind};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The keys of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDirectory {
    /// Whose keys they are.
    pub agent: SignatureAgent,
    /// The crawlers of the catalogue that sign by them.
    pub crawlers: Vec<Arc<str>>,
    /// The keys as last read without fault, by their thumbprints.
    pub file: KeptFile<HashMap<Box<str>, PublicKey>>,
    /// Who signs by it: the first of the crawlers, as the catalogue has it.
    signer: Arc<Identity>,
    /// The same behind the header of a person's browser.
    behind_browser: Arc<Identity>,
}

impl KeyDirectory {
    /// The directories of all agents that a catalogue names, by the agents' names, as they lie on disk. Those that cannot be
    /// read stay as they were among the `former` ones.
    pub fn all(config: &Config, catalogue: &Catalogue, former: &[Self]) -> Vec<Self> {
        let published = PublishedFile::all(config, catalogue).into_iter();
        let read = |PublishedFile { path, crawlers, .. }: PublishedFile| {
            let crawler = catalogue.get(crawlers.first()?)?;
            let agent = crawler.verify.agent.clone()?;
            let former = former.iter().find(|former| former.agent == agent).map(|former| &former.file);
            let file = KeptFile::read(&path, PublishedKind::Keys.largest(), former, |bytes, copy| {
                let set = KeySet::parse(bytes).map_err(|message| ConfigError::whole(&path, message))?;
                Ok((set.keys, copy.as_of()))
            });
            let signer = Arc::new(Identity::of_entry(crawler, Basis::Signature));
            let behind_browser = Arc::new(Identity::of_agent(crawler));
            Some(Self { agent, crawlers, file, signer, behind_browser })
        };
        let mut all: Vec<Self> =
            published.filter(|one| one.kind == PublishedKind::Keys).filter_map(read).collect();
        all.sort_by(|one, other| one.agent.cmp(&other.agent));
        all
    }

    /// Why it could not be fetched when that was tried last.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        FetchHead::read(&self.file.path).error
    }
}

impl Evidence {
    /// The keys of an agent; `None` for one that neither the catalogue nor the operator names.
    #[must_use]
    pub fn keys(&self, agent: &SignatureAgent) -> Option<&AgentKeys> {
        self.directory(agent).map(|directory| &directory.file.held)
    }

    fn directory(&self, agent: &SignatureAgent) -> Option<&KeyDirectory> {
        self.directories.iter().find(|directory| directory.agent == *agent)
    }

    /// Who sent a request that the header gives as `recognised`, and that was signed. The signature wins; where header and
    /// signature name the same crawler, what the header adds stays.
    pub(in crate::policy) fn signer(
        &self,
        signature: &VerifiedSignature,
        recognised: Recognised,
    ) -> Recognised {
        let Some(directory) = self.directory(&signature.agent) else { return recognised };
        let claimed = &recognised.identity;
        let is_claimed = |name: &Arc<str>| claimed.crawler.as_ref() == Some(name);
        if claimed.basis == Basis::Catalogue && directory.crawlers.iter().any(is_claimed) {
            return recognised;
        }
        let is_judged = claimed.client.is_judged();
        let identity = if is_judged { &directory.signer } else { &directory.behind_browser };
        Recognised::from(identity)
    }
}

/// More keys than this are published by nobody.
const MOST_KEYS: usize = 32;

/// The keys of a directory that could verify a signature, which it holds as a JWK Set (RFC 7517 §5).
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
