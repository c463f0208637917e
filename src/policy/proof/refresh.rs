//! Fetching the lists of address ranges that operators publish.
//!
//! Conditional requests (RFC 9110 §13) over HTTPS, one after the other. A list is replaced in one rename,
//! and only by one that was read without fault; everything else keeps what is there.

use super::Evidence;
use super::directory::key_client;
use super::range_list::{LARGEST_LIST, RangeList, Receipt};
use crate::config::ranges::{self, file_name};
use crate::config::{Config, MOST_BYTES, catalogue, reading};
use crate::identify::{Card, Catalogue};
use crate::record::{beside, replace_file};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use http::header::{self, HeaderName};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// How long one list may take, from the first byte sent to the last received.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a publisher is asked at most.
const HOUR: Duration = Duration::from_secs(3_600);

/// How often a publisher may point elsewhere.
const REDIRECTS: u32 = 5;

/// How long the keys of one agent may take.
const KEY_PATIENCE: Duration = Duration::from_secs(10);

/// Where lists and keys are fetched from, and where they are put.
#[derive(Debug)]
pub struct PublicationClient {
    agent: ureq::Agent,
    pub(super) key_agent: ureq::Agent,
    folder: PathBuf,
    pub(super) mirror: Option<String>,
}

/// What became of one list.
#[derive(Debug)]
pub struct Refreshed<'c> {
    /// Where it is published.
    pub url: &'c str,
    /// Whom it is for.
    pub crawlers: Vec<&'c str>,
    /// Where it lies.
    pub path: PathBuf,
    /// What was done, or why nothing was.
    pub result: Result<Fetched, String>,
    /// The list that lies there now, if one does.
    pub list: Option<Arc<RangeList>>,
}

/// What was done with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Fetched {
    /// It is new, or has changed.
    Replaced,
    /// It is what it was, or was asked for within the hour.
    Unchanged,
    /// A mirror does not have it, as those that were made for address ranges do not have keys. What is kept stays.
    Absent,
}

impl PublicationClient {
    /// Fetches from the publishers themselves or, if `mirror` names one, from a folder that holds their
    /// lists under the names they are kept by.
    ///
    /// # Errors
    /// When the certificates that the configuration names cannot be read.
    pub fn new(config: &Config, mirror: Option<String>) -> Result<Self, String> {
        let mirror = mirror.or_else(|| config.verify.mirror.clone());
        let is_plain = mirror.as_ref().is_some_and(|mirror| mirror.starts_with("http://"));
        let certificates = TlsConfig::builder().root_certs(root_certs(config.verify.ca.as_deref())?).build();
        let options = |patience, redirects| {
            ureq::Agent::config_builder()
                .timeout_global(Some(patience))
                .timeout_connect(Some(CONNECT))
                .https_only(!is_plain)
                .max_redirects(redirects)
                .tls_config(certificates.clone())
                .http_status_as_error(false)
                .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
                .build()
        };
        // Plain HTTP is for a mirror near by, and must not lead away from it.
        let agent = options(PATIENCE, if is_plain { 0 } else { REDIRECTS }).into();
        let key_agent = key_client(options(KEY_PATIENCE, 0), mirror.is_some());
        Ok(Self { agent, key_agent, folder: Evidence::folder(config), mirror })
    }

    /// Fetches the lists of the catalogue that `is_wanted` by their URL, each when it is asked for.
    pub fn refresh<'c>(
        &self,
        catalogue: &'c Catalogue,
        is_wanted: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = Refreshed<'c>> {
        let wanted = Evidence::published(catalogue).into_iter().filter(move |(url, _)| is_wanted(url));
        wanted.map(|(url, crawlers)| {
            let path = self.folder.join(file_name(url));
            let result = self.fetch(url, &path, |bytes, present| fits(&path, bytes, present));
            let list = RangeList::load(&path, None).0;
            Refreshed { url, crawlers, path, result, list }
        })
    }

    /// Fetches the cards of agents that `is_wanted`, each when it is asked for.
    pub fn refresh_cards<'c>(
        &self,
        catalogue: &'c Catalogue,
        is_wanted: impl Fn(&Card) -> bool,
    ) -> impl Iterator<Item = Refreshed<'c>> {
        let cards = catalogue.crawlers().iter().filter_map(|crawler| Some((crawler, crawler.card.as_ref()?)));
        cards.filter(move |(_, card)| is_wanted(card)).map(|(crawler, card)| {
            let is_card = |bytes: &[u8], _: Option<&[u8]>| catalogue::parse_card(bytes).map(drop);
            let result = self.fetch(&card.url, &card.path, is_card);
            Refreshed {
                url: &card.url,
                crawlers: vec![&crawler.name],
                path: card.path.clone(),
                result,
                list: None,
            }
        })
    }

    fn fetch(
        &self,
        url: &str,
        path: &Path,
        fits: impl Fn(&[u8], Option<&[u8]>) -> Result<(), String>,
    ) -> Result<Fetched, String> {
        let present = reading::read(path, LARGEST_LIST).ok().map(|read| read.bytes);
        let receipt = present.as_ref().and_then(|bytes| Receipt::of(path, bytes));
        if self.mirror.is_none() && receipt.is_some() && was_asked_within_the_hour(path, SystemTime::now()) {
            return Ok(Fetched::Unchanged);
        }
        let mut request = self.agent.get(self.address(url));
        if let Some(receipt) = &receipt {
            let validators =
                [(header::IF_NONE_MATCH, &receipt.etag), (header::IF_MODIFIED_SINCE, &receipt.last_modified)];
            for (field, value) in validators {
                request = value.iter().fold(request, |request, value| request.header(&field, value));
            }
        }
        let mut answer = request.call().map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200 => {}
            304 if receipt.is_some() => return touch(path).map(|()| Fetched::Unchanged),
            status => return Err(format!("answered with status {status}")),
        }
        let field = |name: HeaderName| {
            answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        if let Some(version) = newer_version(&field(header::CONTENT_TYPE).unwrap_or_default()) {
            return Err(format!("is of version {version} of its format, and 1 is understood"));
        }
        let (etag, last_modified) = (field(header::ETAG), field(header::LAST_MODIFIED));
        let body = answer.body_mut().with_config().limit(LARGEST_LIST).read_to_vec();
        let bytes = body.map_err(|error| error.to_string())?;
        fits(&bytes, present.as_deref())?;
        let receipt = Receipt::new(&bytes, etag, last_modified);
        // First: of a list that it was not written for, a receipt says nothing.
        let written = receipt.write(path).and_then(|()| replace_file(path, &bytes));
        written.map_err(|error| format!("cannot be written: {error}"))?;
        Ok(if present.as_ref() == Some(&bytes) { Fetched::Unchanged } else { Fetched::Replaced })
    }

    /// Publishers are asked over HTTPS even where the catalogue says otherwise: what proves a name must
    /// not be for anybody on the way to write.
    pub(super) fn address(&self, url: &str) -> String {
        match &self.mirror {
            Some(mirror) => format!("{mirror}{}", file_name(url)),
            None => {
                url.strip_prefix("http://").map_or_else(|| url.to_owned(), |rest| format!("https://{rest}"))
            }
        }
    }
}

/// Whether `bytes` are a list that may replace the one that is there.
fn fits(path: &Path, bytes: &[u8], present: Option<&[u8]>) -> Result<(), String> {
    let read = ranges::parse(path, bytes).map_err(|fault| fault_of(&fault))?;
    let present = present.and_then(|present| ranges::parse(path, present).ok());
    let lost = present.and_then(|present| set_aside(path, bytes, &present.networks, &read.networks));
    lost.map_or(Ok(()), Err)
}

/// Whether the list at `path` was fetched, or said to be unchanged, less than an hour ago. Publishers ask not to be asked
/// more often (draft-illyes-webbotauth-jafar); a mirror is the operator's own.
fn was_asked_within_the_hour(path: &Path, now: SystemTime) -> bool {
    let heard = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    heard.is_ok_and(|heard| now.duration_since(heard).is_ok_and(|age| age < HOUR))
}

/// The version that a media type `application/jafar+json` gives, where its major number is higher than what is understood:
/// what it holds must not be guessed at.
fn newer_version(media_type: &str) -> Option<&str> {
    let (kind, parameters) = media_type.split_once(';')?;
    let is_version = |parameter: &str| {
        parameter.trim().split_once('=').as_ref().is_some_and(|(name, _)| *name == "version")
    };
    let parameter = parameters.split(';').find(|parameter| is_version(parameter))?;
    let version = parameter.trim().split_once('=')?.1.trim_matches('"');
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    let is_newer = major.is_none_or(|major| major > 1);
    (kind.trim().eq_ignore_ascii_case("application/jafar+json") && is_newer).then_some(version)
}

/// The certificates of `ca`, or those built in.
///
/// # Errors
/// When the file holds none.
pub fn root_certs(ca: Option<&Path>) -> Result<RootCerts, String> {
    let Some(path) = ca else { return Ok(RootCerts::WebPki) };
    let refuse = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = reading::read(path, MOST_BYTES).map_err(|error| refuse(&error))?.bytes;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| refuse(&error))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(refuse(&"no certificate in PEM form"));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}

/// The fault of a list that lies nowhere yet.
fn fault_of(fault: &crate::config::ConfigError) -> String {
    match fault.position {
        Some((line, column)) => format!("line {line}, column {column}: {}", fault.message),
        None => fault.message.clone(),
    }
}

/// The list is as of now.
fn touch(path: &Path) -> Result<(), String> {
    let file = File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(|error| format!("is unchanged, but its time cannot be set: {error}"))
}

/// Lists of fewer networks change as a whole when their publisher moves house.
const LEAST: usize = 8;

/// Puts `bytes` beside `path`, and says so, where they hold less than half of the networks that were there: half a list
/// would turn half of an operator's true crawlers into false ones, so somebody has to look at it. Addresses count, not
/// lines: a publisher that joins networks to larger ones loses nothing.
fn set_aside(path: &Path, bytes: &[u8], old: &[Network], new: &[Network]) -> Option<String> {
    let kept = kept(old, new);
    if old.len() < LEAST || kept * 2 >= old.len() {
        return None;
    }
    let lost = format!("only {kept} of {} ranges are left in it", old.len());
    let aside = beside(path, ".shrunken");
    Some(match replace_file(&aside, bytes) {
        Ok(()) => format!("{lost}: kept aside in {}; move it into place if that is right", aside.display()),
        Err(error) => format!("{lost}, and it cannot be kept aside: {error}"),
    })
}

/// How many of the old networks the new ones hold, by their first addresses.
fn kept(old: &[Network], new: &[Network]) -> usize {
    let new = Prefixes::new(new.iter().copied());
    old.iter().filter(|network| new.contains(network.address())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(count: u8) -> Vec<Network> {
        (0..count).map(|third| format!("20.171.{third}.0/24").parse().unwrap()).collect()
    }

    #[test]
    fn a_list_that_lost_most_of_its_networks_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let aside = folder.path().join("list.json.shrunken");
        assert_eq!(set_aside(&path, b"x", &networks(10), &networks(5)), None);
        assert_eq!(set_aside(&path, b"x", &networks(7), &networks(1)), None, "too small to tell");
        assert!(!aside.exists());
        let message = set_aside(&path, b"x", &networks(10), &networks(4)).unwrap();
        assert!(
            message.starts_with("only 4 of 10 ranges are left") && message.contains("list.json.shrunken")
        );
        assert_eq!(std::fs::read(&aside).unwrap(), b"x");
        assert!(!path.exists());
    }

    #[test]
    fn a_newer_format_is_told_by_its_media_type() {
        for fine in [
            "application/json",
            "application/jafar+json",
            "application/jafar+json; version=1.9",
            "Application/JAFAR+json;charset=utf-8;version=\"1.0\"",
            "application/json; version=2",
        ] {
            assert_eq!(newer_version(fine), None, "{fine}");
        }
        assert_eq!(newer_version("application/jafar+json; version=2.0"), Some("2.0"));
        assert_eq!(newer_version("application/jafar+json;charset=utf-8;version=\"10\""), Some("10"));
        assert_eq!(newer_version("application/jafar+json; version=new"), Some("new"));
    }

    #[test]
    fn a_publisher_is_asked_hourly_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let now = SystemTime::now();
        assert!(!was_asked_within_the_hour(&path, now));
        std::fs::write(&path, "x").unwrap();
        assert!(
            was_asked_within_the_hour(&path, now + HOUR / 2)
                && !was_asked_within_the_hour(&path, now + 2 * HOUR)
        );
    }

    #[test]
    fn larger_networks_that_hold_the_old_ones_lose_nothing() {
        let joined: Network = "20.171.0.0/16".parse().unwrap();
        assert_eq!(kept(&networks(100), &[joined]), 100);
        assert_eq!(kept(&[joined], &networks(1)), 1);
    }
}
