//! Asking publishers, and keeping what they answer.
//!
//! Conditional requests (RFC 9110 §13) over HTTPS, one after the other. What is there is replaced in one rename, and only by
//! what was read without fault; everything else keeps what is there.
//!
//! Keys are bounded as the draft wants it: status 200 only, no redirects, no private address, ten seconds, 64 KiB, 32 keys.
//! A set is believed by its certificate. A signature of the answer would add nothing: whoever could alter the answer could
//! leave it out.

use super::{HOUR, KEYS_TYPE, PublishedFile, PublishedKind};
use crate::config::Config;
use crate::config::ranges::file_name;
use crate::policy::certificates::read_certificates;
use crate::policy::fetched::{FetchAnswer, FetchedFrom, Validators, retry_after};
use crate::request::address::is_public;
use http::header;
use std::path::Path;
use std::time::{Duration, SystemTime};
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// How long one list may take, from the first byte sent to the last received.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a publisher may point elsewhere.
const REDIRECTS: u32 = 5;

/// How long the keys of one agent may take.
const KEY_PATIENCE: Duration = Duration::from_secs(10);

/// Who asks publishers, or a mirror in their stead.
#[derive(Debug)]
pub struct PublicationClient {
    tls: TlsConfig,
    mirror: Option<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Refreshed {
    /// It is new, or has changed.
    Replaced,
    /// It is what it was, or was asked for within the hour.
    Unchanged,
    /// A mirror does not have it, as those that were made for address ranges do not have keys and cards. What is kept stays.
    Absent,
}

impl PublicationClient {
    /// Fetches from the publishers themselves or, if `mirror` names one, from a folder that holds their
    /// lists under the names they are kept by.
    ///
    /// # Errors
    /// When the certificates that the configuration names cannot be read.
    pub fn new(config: &Config, mirror: Option<String>) -> Result<Self, String> {
        let tls = TlsConfig::builder().root_certs(root_certs(config.verify.ca.as_deref())?).build();
        Ok(Self { tls, mirror: mirror.or_else(|| config.verify.mirror.as_deref().cloned()) })
    }

    /// Fetches what is published, and keeps it; what went wrong is noted beside it.
    ///
    /// # Errors
    /// Why it could not be fetched, or not be kept; what is kept stays.
    pub fn refresh(&self, publication: &PublishedFile, now: SystemTime) -> Result<Refreshed, String> {
        let (kind, url) = (publication.kind, &publication.url);
        let mut copy = publication.copy();
        let age = copy.validators().and_then(|_| copy.head.age(now));
        // A mirror is the operator's own.
        if self.mirror.is_none() && kind == PublishedKind::Ranges && age.is_some_and(|age| age < HOUR) {
            return Ok(Refreshed::Unchanged);
        }
        let answer = self.fetch(kind, url, copy.validators());
        let answer = answer.unwrap_or_else(|why| FetchAnswer::Failed { why, retry_after: None });
        let is_absent =
            self.mirror.is_some() && kind != PublishedKind::Ranges && answer == FetchAnswer::None(404);
        let signature = || match self.fetch(kind, &format!("{url}.sig"), None) {
            Ok(FetchAnswer::File { bytes, .. }) => Ok(bytes),
            _ => Err(format!("its signature, {url}.sig, could not be fetched")),
        };
        let answer = answer.checked(|bytes| publication.accept(bytes, copy.bytes.as_deref(), signature));
        copy.head.source = url.to_string();
        let is_new = copy.apply(answer, FetchedFrom::Publisher, now.into());
        if is_absent {
            copy.head.error = None;
        }
        let written = copy.write(&publication.path);
        let unwritten = written.err().map(|error| format!("cannot be written: {error}"));
        match copy.head.error.or(unwritten) {
            Some(error) => Err(error),
            None if is_absent => Ok(Refreshed::Absent),
            None => Ok(if is_new { Refreshed::Replaced } else { Refreshed::Unchanged }),
        }
    }

    /// Who asks for a kind of what is published at this address.
    fn agent(&self, kind: PublishedKind, address: &str) -> ureq::Agent {
        let (is_keys, is_plain) = (kind == PublishedKind::Keys, address.starts_with("http://"));
        let options = ureq::Agent::config_builder()
            .timeout_global(Some(if is_keys { KEY_PATIENCE } else { PATIENCE }))
            .timeout_connect(Some(CONNECT))
            // Plain HTTP is for what is near by, and must not lead away from it.
            .https_only(!is_plain)
            .max_redirects(if is_plain || is_keys { 0 } else { REDIRECTS })
            .tls_config(self.tls.clone())
            .http_status_as_error(false)
            .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
            .build();
        let is_for_anybody = !is_keys || self.mirror.is_some();
        ureq::Agent::with_parts(options, DefaultConnector::new(), PublicResolver { is_for_anybody })
    }

    /// What the publisher says now, or why that is not known.
    fn fetch(
        &self,
        kind: PublishedKind,
        url: &str,
        known: Option<&Validators>,
    ) -> Result<FetchAnswer, String> {
        let address = self.address(kind, url);
        let accepted = if kind == PublishedKind::Keys { KEYS_TYPE } else { "*/*" };
        let mut request = self.agent(kind, &address).get(address).header(header::ACCEPT, accepted);
        for (field, value) in known.into_iter().flat_map(Validators::fields) {
            request = request.header(field, value);
        }
        let mut answer = request.call().map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200 => {}
            304 => return Ok(FetchAnswer::NotModified),
            status @ 400..=499 if status != 429 => return Ok(FetchAnswer::None(status)),
            status => {
                let wait = field(&answer, &header::RETRY_AFTER);
                let retry_after = wait.and_then(|wait| retry_after(&wait, SystemTime::now()));
                let why = format!("the publisher answers {status}");
                return Ok(FetchAnswer::Failed { why, retry_after });
            }
        }
        let media_type = field(&answer, &header::CONTENT_TYPE).unwrap_or_default();
        kind.check_media_type(&media_type, self.mirror.is_some())?;
        let (etag, modified) = (field(&answer, &header::ETAG), field(&answer, &header::LAST_MODIFIED));
        match answer.body_mut().with_config().limit(kind.largest()).read_to_vec() {
            Ok(bytes) => Ok(FetchAnswer::File { bytes, validators: Validators { etag, modified } }),
            Err(ureq::Error::BodyExceedsLimit(most)) => Err(format!("has more than {most} bytes")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Publishers are asked over HTTPS even where the catalogue says otherwise: what proves a name must
    /// not be for anybody on the way to write.
    fn address(&self, kind: PublishedKind, url: &str) -> String {
        match (kind, &self.mirror) {
            (PublishedKind::Catalogue(_), _) => url.to_owned(),
            (_, Some(mirror)) => format!("{mirror}{}", file_name(url)),
            (_, None) => format!("https://{}", url.split_once("://").map_or(url, |(_, rest)| rest)),
        }
    }
}

fn field<T>(answer: &Response<T>, name: &header::HeaderName) -> Option<String> {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The certificates of `ca`, or those built in.
///
/// # Errors
/// When the file holds none.
pub fn root_certs(ca: Option<&Path>) -> Result<RootCerts, String> {
    let Some(path) = ca else { return Ok(RootCerts::WebPki) };
    let certificates = read_certificates(path).map_err(|error| error.in_one_line())?;
    let certificates: Vec<_> = certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    Ok(RootCerts::new_with_certs(&certificates))
}

/// Finds the addresses of an agent, but none of a private network: nothing that somebody writes into DNS makes this
/// machine ask its neighbours. A mirror and a proxy (`HTTPS_PROXY`) may stand there, since the operator names them; a proxy
/// finds the agent's address itself.
#[derive(Debug)]
struct PublicResolver {
    is_for_anybody: bool,
}

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let is_for_proxy = config.proxy().is_some_and(|proxy| proxy.uri() == uri);
        let is_for_anybody = self.is_for_anybody || is_for_proxy;
        let mut kept = self.empty();
        for address in found.iter().filter(|address| is_for_anybody || is_public(address.ip())) {
            kept.push(*address);
        }
        if kept.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(kept) }
    }
}
