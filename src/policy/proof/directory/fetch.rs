//! Fetching directories of keys, each with what it proves of itself.
//!
//! Bounded as the draft wants it: HTTPS, status 200 only, no redirects, no private address, ten seconds, 64 KiB, 32 keys.
//! Where a directory signs its answer with a key, that signature must match, or the key is not taken. One that does not
//! sign, or whose signature says nothing here (it has expired, it covers what is not known), is believed by its certificate
//! alone, and `gatewayctl crawlers` says so: whoever could alter the answer could leave the signature out.
//!
//! Where no key of an answer can be used, the keys of before are kept, less those that it does not have any more.

use super::super::public::is_public;
use super::super::refresh::{Fetched, PublicationClient};
use super::{KeyDirectory, KeySet, LARGEST, error_path};
use crate::identify::signature::{
    AgentOrigin, AnswerParts, FieldLine, SignatureFault, SignedMessage, prove_directory,
};
use crate::record::replace_file;
use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";

/// Media types by which a directory may come. Some are published by servers that know no other name for JSON.
const MEDIA_TYPES: [&str; 3] = [MEDIA_TYPE, "application/jwk-set+json", "application/json"];

/// Who fetches keys: from agents or, where `is_for_anybody`, from a mirror that the operator named.
pub(in crate::policy::proof) fn key_client(
    options: ureq::config::Config,
    is_for_anybody: bool,
) -> ureq::Agent {
    let resolver = PublicResolver { is_for_anybody, inner: DefaultResolver::default() };
    ureq::Agent::with_parts(options, DefaultConnector::new(), resolver)
}

impl PublicationClient {
    /// Fetches the keys of one agent, and keeps them; what went wrong is kept beside them.
    ///
    /// # Errors
    /// Why they could not be fetched; those that are kept stay.
    pub fn refresh_keys(&self, directory: &KeyDirectory) -> Result<Fetched, String> {
        let result = self.fetch_keys(&directory.agent, &directory.path);
        let place = error_path(&directory.path);
        let noted = match &result {
            Ok(_) if !place.exists() => Ok(()),
            Ok(_) => std::fs::remove_file(&place),
            Err(error) => replace_file(&place, error.as_bytes()),
        };
        result.and_then(|fetched| {
            noted.map(|()| fetched).map_err(|error| format!("cannot be written: {error}"))
        })
    }

    fn fetch_keys(&self, agent: &AgentOrigin, path: &Path) -> Result<Fetched, String> {
        let request = self.key_agent.get(self.address(&agent.directory())).header("Accept", MEDIA_TYPE);
        let mut answer = request.call().map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        if status == 404 && self.mirror.is_some() {
            return Ok(Fetched::Absent);
        }
        if status != 200 {
            return Err(format!("answered with status {status}, and only 200 is taken"));
        }
        let kind =
            answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if self.mirror.is_none() && !MEDIA_TYPES.iter().any(|own| kind.eq_ignore_ascii_case(own)) {
            return Err(format!("is of the media type `{kind}`, and not of `{MEDIA_TYPE}`"));
        }
        let body = answer.body_mut().with_config().limit(LARGEST).read_to_vec();
        let body = body.map_err(|error| error.to_string())?;
        let fields: Vec<FieldLine<'_>> = answer
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
            .collect();
        let (set, published) =
            proved(agent, AnswerParts { status, fields: &fields }, &body, SystemTime::now())?;
        if let Some(fault) = set.faults.first().filter(|_| set.keys.is_empty()) {
            evict(path, &published)?;
            return Err(format!("has no key that can be used: {fault}"));
        }
        keep(path, &set)
    }
}

/// Takes away what is kept at `path` and is published no more.
fn evict(path: &Path, published: &HashSet<Box<str>>) -> Result<(), String> {
    let Ok(Some((mut former, _))) = super::read(path) else { return Ok(()) };
    if former.retain(published) {
        keep(path, &former)?;
    }
    Ok(())
}

fn keep(path: &Path, set: &KeySet) -> Result<Fetched, String> {
    let bytes = set.to_bytes();
    let is_same = std::fs::read(path).is_ok_and(|present| present == bytes);
    replace_file(path, &bytes).map_err(|error| format!("cannot be written: {error}"))?;
    for fault in &set.faults {
        tracing::warn!(keys = %path.display(), "a directory of keys has a fault: {fault}");
    }
    Ok(if is_same { Fetched::Unchanged } else { Fetched::Replaced })
}

/// The keys of an answer, less those whose own signature of it does not match; and the thumbprints of all.
fn proved(
    agent: &AgentOrigin,
    answer: AnswerParts<'_>,
    body: &[u8],
    now: SystemTime,
) -> Result<(KeySet, HashSet<Box<str>>), String> {
    let mut set = KeySet::published(body)?;
    let published = set.keys.keys().cloned().collect();
    let message = SignedMessage {
        method: "GET",
        scheme: "https",
        authority: agent.authority(),
        target: AgentOrigin::WELL_KNOWN.as_bytes(),
        fields: &[],
        answer: Some(answer),
    };
    for (thumbprint, key) in set.keys.clone() {
        let fault = match prove_directory(&message, body, &key, now) {
            Ok(true) => {
                set.prove(&thumbprint);
                continue;
            }
            Ok(false) => continue,
            Err(fault) => fault,
        };
        let why = format!("the signature of the directory by {thumbprint}: {}", fault.sentence());
        if fault == SignatureFault::Mismatch {
            set.drop_key(&thumbprint, why);
        } else {
            set.faults.push(why);
        }
    }
    Ok((set, published))
}

/// Finds the addresses of an agent, but none of a private network: nothing that somebody writes into DNS makes this
/// machine ask its neighbours. A mirror and a proxy (`HTTPS_PROXY`) may stand there, since the operator names them; a proxy
/// finds the agent's address itself.
#[derive(Debug)]
struct PublicResolver {
    is_for_anybody: bool,
    inner: DefaultResolver,
}

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let is_for_proxy = config.proxy().is_some_and(|proxy| proxy.uri() == uri);
        let is_for_anybody = self.is_for_anybody || is_for_proxy;
        let mut kept = self.empty();
        for address in found.iter().filter(|address| is_for_anybody || is_public(address.ip())) {
            kept.push(*address);
        }
        if kept.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::signature::key_pairs::{Ed25519KeyPair, KeyPair as _};
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use std::time::Duration;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn jwk(seed: u8) -> String {
        let x = URL_SAFE_NO_PAD.encode(pair(seed).public_key().as_ref());
        format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{x}\"}}")
    }

    fn set(keys: &[String]) -> Vec<u8> {
        format!("{{\"keys\":[{}]}}", keys.join(",")).into_bytes()
    }

    fn thumbprint(seed: u8) -> String {
        KeySet::parse(&set(&[jwk(seed)])).unwrap().keys.keys().next().unwrap().to_string()
    }

    /// What is made of an answer of the key 1 with a signature of it, over these components and at these times.
    fn answered(components: &str, times: &str, signature: Option<[u8; 64]>) -> KeySet {
        let agent = AgentOrigin::parse("https://agent.example").unwrap();
        let tag = "tag=\"http-message-signatures-directory\"";
        let parameters = format!("({components}){times};keyid=\"{}\";{tag}", thumbprint(1));
        let base = format!("\"@authority\";req: agent.example\n\"@signature-params\": {parameters}");
        let signed = signature.unwrap_or_else(|| pair(1).sign(base.as_bytes()).as_ref().try_into().unwrap());
        let input = format!("a={parameters}");
        let signature = format!("a=:{}:", STANDARD.encode(signed));
        let fields: [FieldLine<'_>; 2] =
            [(b"Signature-Input", input.as_bytes()), (b"Signature", signature.as_bytes())];
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        proved(&agent, AnswerParts { status: 200, fields: &fields }, &set(&[jwk(1)]), now).unwrap().0
    }

    #[test]
    fn a_proof_that_says_nothing_takes_no_key_away_and_a_wrong_one_does() {
        let (authority, times) = ("\"@authority\";req", ";created=999000;expires=1001000");
        let right = answered(authority, times, None);
        assert_eq!((right.keys.len(), right.proved.len(), right.faults.len()), (1, 1, 0));
        for (components, times) in [
            (authority, ";created=900000;expires=990000"),
            (authority, ";created=1000100;expires=1001000"),
            ("\"@authority\"", times),
            ("\"@authority\";sf", times),
            (authority, ""),
        ] {
            let set = answered(components, times, None);
            let seen = (set.keys.len(), set.proved.len(), set.faults.len());
            assert_eq!(seen, (1, 0, 1), "{components} {times} {:?}", set.faults);
        }
        let wrong = answered(authority, times, Some([1; 64]));
        assert_eq!((wrong.keys.len(), wrong.faults.len()), (0, 1));
    }

    #[test]
    fn a_key_that_is_published_no_more_goes_though_no_other_can_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, set(&[jwk(1), jwk(2)])).unwrap();
        evict(&path, &HashSet::from([thumbprint(2).into()])).unwrap();
        let left = KeySet::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(left.keys.keys().map(ToString::to_string).collect::<Vec<_>>(), [thumbprint(2)]);
    }
}
