//! Fetching directories of keys, each with what it proves of itself.
//!
//! Bounded as the draft wants it: HTTPS, status 200 only, no redirects, no private address, ten seconds, 64 KiB, 32 keys.
//! Where a directory signs its answer with a key, that signature has to be right, or the key is not taken. One that does
//! not sign is believed by its certificate alone, and `gatewayctl crawlers` says so.

use super::super::public::is_public;
use super::super::refresh::{Fetched, replace, root_certs};
use super::{KeyDirectory, KeySet, LARGEST, error_path, folder};
use crate::config::Config;
use crate::config::ranges::file_name;
use crate::identify::signature::{AgentOrigin, AnswerParts, FieldLine, SignedMessage, prove_directory};
use crate::record::make_folder;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use ureq::http::Uri;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// How long one directory may take.
const PATIENCE: Duration = Duration::from_secs(10);

const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";

/// Media types by which a directory may come. Some are published by servers that know no other name for JSON.
const MEDIA_TYPES: [&str; 3] = [MEDIA_TYPE, "application/jwk-set+json", "application/json"];

/// Who fetches directories, and where they are put.
#[derive(Debug)]
pub(in crate::policy::proof) struct DirectoryClient {
    agent: ureq::Agent,
    folder: PathBuf,
    mirror: Option<String>,
}

impl DirectoryClient {
    /// Fetches from the agents themselves or, if `mirror` names one, from a folder that holds their directories under the
    /// names they are kept by.
    ///
    /// # Errors
    /// When the certificates that the configuration names cannot be read.
    pub(in crate::policy::proof) fn new(config: &Config, mirror: Option<String>) -> Result<Self, String> {
        let is_plain = mirror.as_ref().is_some_and(|mirror| mirror.starts_with("http://"));
        let certificates = TlsConfig::builder().root_certs(root_certs(config.verify.ca.as_deref())?).build();
        let options = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .https_only(!is_plain)
            .max_redirects(0)
            .tls_config(certificates)
            .http_status_as_error(false)
            .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = PublicResolver { is_for_anybody: mirror.is_some(), inner: DefaultResolver::default() };
        let agent = ureq::Agent::with_parts(options, DefaultConnector::new(), resolver);
        Ok(Self { agent, folder: folder(config), mirror })
    }

    /// Fetches one directory, and keeps it; what went wrong is kept beside it.
    pub(in crate::policy::proof) fn refresh(&self, directory: &KeyDirectory) -> Result<Fetched, String> {
        let result = self.fetch(&directory.agent, &directory.path);
        let place = error_path(&directory.path);
        let noted = match &result {
            Ok(_) if !place.exists() => Ok(()),
            Ok(_) => std::fs::remove_file(&place),
            Err(error) => make_folder(&self.folder).and_then(|()| replace(&place, error.as_bytes())),
        };
        result.and_then(|fetched| {
            noted.map(|()| fetched).map_err(|error| format!("cannot be written: {error}"))
        })
    }

    fn fetch(&self, agent: &AgentOrigin, path: &Path) -> Result<Fetched, String> {
        let url = match &self.mirror {
            Some(mirror) => format!("{mirror}{}", file_name(&agent.directory())),
            None => agent.directory(),
        };
        let request = self.agent.get(url).header("Accept", MEDIA_TYPE);
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
        let set = proved(agent, AnswerParts { status, fields: &fields }, &body, SystemTime::now())?;
        self.keep(path, &set)
    }

    fn keep(&self, path: &Path, set: &KeySet) -> Result<Fetched, String> {
        let bytes = set.to_bytes();
        let is_same = std::fs::read(path).is_ok_and(|present| present == bytes);
        let written = make_folder(&self.folder).and_then(|()| replace(path, &bytes));
        written.map_err(|error| format!("cannot be written: {error}"))?;
        for fault in &set.faults {
            tracing::warn!(keys = %path.display(), "a key of a directory is left out: {fault}");
        }
        Ok(if is_same { Fetched::Unchanged } else { Fetched::Replaced })
    }
}

/// The keys of an answer, less those whose own signature of it is wrong.
fn proved(
    agent: &AgentOrigin,
    answer: AnswerParts<'_>,
    body: &[u8],
    now: SystemTime,
) -> Result<KeySet, String> {
    let mut set = KeySet::parse(body)?;
    let message = SignedMessage {
        method: "GET",
        scheme: "https",
        authority: agent.authority(),
        target: AgentOrigin::WELL_KNOWN.as_bytes(),
        fields: &[],
        answer: Some(answer),
    };
    for (thumbprint, key) in set.keys.clone() {
        match prove_directory(&message, body, &key, now) {
            Ok(true) => set.prove(&thumbprint),
            Ok(false) => {}
            Err(fault) => {
                let why = format!("the signature of the directory by {thumbprint}: {}", fault.sentence());
                set.drop_key(&thumbprint, why);
            }
        }
    }
    match set.faults.first() {
        Some(fault) if set.keys.is_empty() => Err(format!("has no key that can be used: {fault}")),
        _ => Ok(set),
    }
}

/// Finds the addresses of an agent, but none of a private network: nothing that somebody writes into DNS makes this
/// machine ask its neighbours. A mirror may stand there, since the operator names it.
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
        let mut kept = self.empty();
        for address in found.iter().filter(|address| self.is_for_anybody || is_public(address.ip())) {
            kept.push(*address);
        }
        if kept.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(kept) }
    }
}
