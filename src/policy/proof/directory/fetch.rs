//! Fetching the key sets of agents.
//!
//! Bounded as the draft wants it: HTTPS, status 200 only, no redirects, no private address, ten seconds, 64 KiB, 32 keys.
//! A set is believed by its certificate. A signature of the answer would add nothing: whoever could alter the answer could
//! leave it out.
//!
//! Where no key of an answer can be used, the keys of before are kept, less those that it does not have any more.

use super::super::public::is_public;
use super::super::refresh::{Fetched, PublicationClient};
use super::{KeyDirectory, KeySet, LARGEST, error_path};
use crate::identify::signature::SignatureAgent;
use crate::record::replace_file;
use std::collections::HashSet;
use std::path::Path;
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

    fn fetch_keys(&self, agent: &SignatureAgent, path: &Path) -> Result<Fetched, String> {
        let request = self.key_agent.get(self.address(agent.key_set())).header("Accept", MEDIA_TYPE);
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
        let set = KeySet::parse(&body)?;
        if let Some(fault) = set.faults.first().filter(|_| set.keys.is_empty()) {
            evict(path, &set.keys.keys().cloned().collect())?;
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
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

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
