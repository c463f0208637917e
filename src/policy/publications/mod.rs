//! What operators of crawlers publish: lists of address ranges, the keys by which agents sign, what agents say of themselves,
//! and catalogues of crawlers. Fetched when `gatewayctl crawlers refresh` is called, and from time to time where the operator
//! turned that on. Here are the kinds, and by which rules each is fit.

mod client;
mod timer;

pub use client::{PublicationClient, Refreshed, root_certs};
pub use timer::refresh_regularly;

use crate::config::ranges::{self, file_name, is_understood};
use crate::config::{Config, ConfigError, catalogue};
use crate::identify::signature::has_signed_file;
use crate::identify::{Catalogue, Identifier};
use crate::policy::fetched::{FetchedCopy, Schedule};
use crate::policy::proof::KeySet;
use crate::record::{beside, hexadecimal, replace_file};
use crate::request::prefixes::Prefixes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const KEYS_TYPE: &str = "application/http-message-signatures-directory+json";

/// Media types by which a directory may come. Some are published by servers that know no other name for JSON.
const KEYS_TYPES: [&str; 3] = [KEYS_TYPE, "application/jwk-set+json", "application/json"];

/// How often a publisher of ranges is asked at most (draft-illyes-webbotauth-jafar).
const HOUR: Duration = Duration::from_secs(3_600);

const DAY: Duration = Duration::from_secs(86_400);

/// Something that is published, and where it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedFile {
    /// What it is.
    pub kind: PublishedKind,
    /// Where it is published.
    pub url: Box<str>,
    /// Whom it is for.
    pub crawlers: Vec<Arc<str>>,
    /// Where it lies.
    pub path: PathBuf,
}

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedKind {
    /// A list of address ranges.
    Ranges,
    /// The keys of an agent that signs.
    Keys,
    /// What an agent says of itself.
    Card,
    /// A catalogue, which this key has to have signed.
    Catalogue([u8; 32]),
}

impl PublishedKind {
    /// What it is called.
    const fn what(self) -> &'static str {
        match self {
            Self::Ranges => "address ranges",
            Self::Keys => "keys of an agent",
            Self::Card => "the card of an agent",
            Self::Catalogue(_) => "the published catalogue",
        }
    }

    /// More bytes than any in use has.
    pub(super) const fn largest(self) -> u64 {
        match self {
            Self::Ranges => 16 * 1_024 * 1_024,
            Self::Keys => 64 * 1_024,
            Self::Card => catalogue::LARGEST_CARD,
            Self::Catalogue(_) => 8 * 1_024 * 1_024,
        }
    }

    /// How often it is fetched. Agents change their keys and cards: they are fetched once a day at least, and soon where that
    /// fails.
    fn schedule(self, config: &Config) -> Option<Schedule> {
        let (every, retry) = match self {
            Self::Ranges => ((*config.verify.refresh)?, HOUR),
            Self::Keys | Self::Card => ((*config.verify.refresh)?.min(DAY), HOUR / 12),
            Self::Catalogue(_) => (*config.catalogue.every, HOUR / 12),
        };
        Some(Schedule { every, retry, most: every })
    }

    /// From how many days on its age is told, and why it matters. Ranges: a day before a list stops accusing. Keys are never
    /// too old to verify by: a fetch that fails takes none away.
    const fn old(self) -> (u32, &'static str) {
        match self {
            Self::Ranges => (6, "address ranges are old; once they are seven days old, they accuse nobody"),
            Self::Keys => (7, "the keys are old, and the agent may have withdrawn one of them since"),
            Self::Card => (30, "the card is old, and the agent may say something else by now"),
            Self::Catalogue(_) => (30, "the published catalogue is old, and new crawlers are not in it"),
        }
    }

    /// The folder in which all of the kind are kept. What another key has signed is another catalogue.
    pub fn folder(self, config: &Config) -> PathBuf {
        config.state_dir.join(match self {
            Self::Ranges => PathBuf::from("ranges"),
            Self::Keys => PathBuf::from("keys"),
            Self::Card => PathBuf::from(catalogue::CARDS),
            Self::Catalogue(key) => Path::new("catalogue").join(hexadecimal(&key)),
        })
    }

    /// Whether an answer may be of this media type.
    fn check_media_type(self, media_type: &str, is_mirror: bool) -> Result<(), String> {
        if let Some(version) = newer_version(media_type) {
            return Err(format!("is of version {version} of its format, and 1 is understood"));
        }
        let own = media_type.split(';').next().unwrap_or_default().trim();
        let is_known = KEYS_TYPES.iter().any(|known| own.eq_ignore_ascii_case(known));
        if self != Self::Keys || is_mirror || is_known {
            return Ok(());
        }
        Err(format!("is of the media type `{own}`, and not of `{KEYS_TYPE}`"))
    }
}

impl PublishedFile {
    /// The catalogue, where one is to be fetched; then all that the catalogue in force names: cards, lists, keys.
    pub fn all(config: &Config, catalogue: &Catalogue) -> Vec<Self> {
        let mut all: Vec<Self> = Self::catalogue(config).into_iter().collect();
        for crawler in catalogue.crawlers() {
            let card = crawler.card.iter().map(|card| (PublishedKind::Card, &*card.url));
            let ranges = crawler.verify.ranges.iter().map(|url| (PublishedKind::Ranges, &**url));
            let keys = crawler.verify.agent.iter().map(|agent| (PublishedKind::Keys, agent.key_set()));
            for (kind, url) in card.chain(ranges).chain(keys) {
                let one = Self::new(kind, url, vec![Arc::clone(&crawler.name)], config);
                match all.iter_mut().find(|known| known.url == one.url && known.kind == kind) {
                    Some(known) => known.crawlers.extend(one.crawlers),
                    None => all.push(one),
                }
            }
        }
        all
    }

    /// The catalogue, where one is to be fetched.
    pub(super) fn catalogue(config: &Config) -> Option<Self> {
        let (url, key) =
            config.catalogue.url.as_deref().zip(config.catalogue.public_key.as_deref().copied())?;
        Some(Self::new(PublishedKind::Catalogue(key), url, Vec::new(), config))
    }

    fn new(kind: PublishedKind, url: &str, crawlers: Vec<Arc<str>>, config: &Config) -> Self {
        Self { kind, url: url.into(), crawlers, path: kind.folder(config).join(file_name(url)) }
    }

    /// What is kept of it, with its head.
    fn copy(&self) -> FetchedCopy {
        FetchedCopy::read(&self.path, self.kind.largest()).unwrap_or_default()
    }

    /// How many ranges, keys or crawlers of a catalogue lie there now, where anything does, and how long ago its publisher
    /// said so.
    pub fn held(&self, now: SystemTime) -> (Option<usize>, Option<Duration>) {
        let copy = self.copy();
        let count = |bytes: &[u8]| match self.kind {
            PublishedKind::Ranges => Some(ranges::parse(&self.path, bytes).ok()?.networks.len()),
            PublishedKind::Keys => Some(KeySet::parse(bytes).ok()?.keys.len()),
            PublishedKind::Card => Some(1),
            PublishedKind::Catalogue(_) => {
                Some(String::from_utf8_lossy(bytes).matches("[[crawler]]").count())
            }
        };
        (copy.bytes.as_deref().and_then(count), copy.head.age(now))
    }

    /// Whether `bytes`, with what is fetched as their signature, may take the place of those that are there.
    fn accept(
        &self,
        bytes: &[u8],
        present: Option<&[u8]>,
        signature: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        match self.kind {
            PublishedKind::Catalogue(key) => accept_catalogue(&self.path, bytes, &signature()?, &key),
            PublishedKind::Ranges => accept_ranges(&self.path, bytes, present),
            PublishedKind::Keys => accept_keys(&self.path, bytes),
            PublishedKind::Card => catalogue::parse_card(bytes).map(drop),
        }
    }
}

/// The text of the published catalogue, as last fetched and found good, and where it lies.
pub(super) fn published_catalogue(config: &Config) -> Option<(String, PathBuf)> {
    let publication = PublishedFile::catalogue(config)?;
    Some((String::from_utf8(publication.copy().bytes?).ok()?, publication.path))
}

fn accept_catalogue(path: &Path, bytes: &[u8], signature: &[u8], key: &[u8; 32]) -> Result<(), String> {
    let signature = STANDARD.decode(signature.trim_ascii()).unwrap_or_default();
    if !has_signed_file(key, bytes, &signature) {
        let expected = "expected 64 bytes of Ed25519 in Base64";
        return Err(format!("its signature is not that of `public_key`: {expected}"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is no UTF-8".to_owned())?;
    // What cards say is asked when it is put in force: beside it none lie.
    let knowledge = catalogue::extend(catalogue::bundled(), text, path, Some(path))
        .map_err(|faults| faults.first().map(fault_of).unwrap_or_default())?;
    Identifier::new(knowledge).map(drop).map_err(str::to_owned)
}

fn accept_ranges(path: &Path, bytes: &[u8], present: Option<&[u8]>) -> Result<(), String> {
    let read = ranges::parse(path, bytes).map_err(|fault| fault_of(&fault))?;
    let old = present.and_then(|present| ranges::parse(path, present).ok());
    old.and_then(|old| set_aside(path, bytes, &old.networks, &read.networks)).map_or(Ok(()), Err)
}

fn accept_keys(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let set = KeySet::parse(bytes)?;
    if let Some(fault) = set.faults.first().filter(|_| set.keys.is_empty()) {
        // Those that were withdrawn verify nothing any more, whatever is wrong with the new ones.
        if path.exists() {
            replace_file(path, b"{\"keys\":[]}").map_err(|error| format!("cannot be written: {error}"))?;
        }
        return Err(format!("has no key that can be used: {fault}"));
    }
    for fault in &set.faults {
        tracing::warn!(keys = %path.display(), "a directory of keys has a fault: {fault}");
    }
    Ok(())
}

/// The version that a media type `application/jafar+json` gives, where it is higher than what is understood: what it holds must
/// not be guessed at.
fn newer_version(media_type: &str) -> Option<&str> {
    let (kind, parameters) = media_type.split_once(';')?;
    let version = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("version="))?;
    let version = version.trim_matches('"');
    let is_newer = kind.trim().eq_ignore_ascii_case("application/jafar+json") && !is_understood(version);
    is_newer.then_some(version)
}

/// The fault of a list that lies nowhere yet.
fn fault_of(fault: &ConfigError) -> String {
    match fault.line.zip(fault.column) {
        Some((line, column)) => format!("line {line}, column {column}: {}", fault.message),
        None => fault.message.clone(),
    }
}

/// Lists of fewer networks change as a whole when their publisher moves house.
const LEAST: usize = 8;

/// Puts `bytes` beside `path`, and says so, where they hold less than half of the networks that were there: half a list
/// would turn half of an operator's true crawlers into false ones, so somebody has to look at it. Addresses count, not
/// lines: a publisher that joins networks to larger ones loses nothing. One is still there where its first address is.
fn set_aside(path: &Path, bytes: &[u8], old: &Prefixes, new: &Prefixes) -> Option<String> {
    let kept = old.networks().filter(|network| new.contains(network.address())).count();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::address::Network;

    fn networks(count: u8) -> Prefixes {
        (0..count).map(|third| format!("20.171.{third}.0/24").parse::<Network>().unwrap()).collect()
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
    fn a_key_that_is_published_no_more_goes_though_no_other_can_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let faulty = br#"{"keys":[{"kty":"RSA","n":"AAAA","e":"AQAB"}]}"#;
        assert!(accept_keys(&path, faulty).unwrap_err().starts_with("has no key that can be used"));
        assert!(!path.exists());
        std::fs::write(&path, r#"{"keys":[{"kty":"OKP"}]}"#).unwrap();
        assert!(accept_keys(&path, faulty).is_err());
        assert_eq!(KeySet::parse(&std::fs::read(&path).unwrap()).unwrap().keys.len(), 0);
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
    fn larger_networks_that_hold_the_old_ones_lose_nothing() {
        let joined: Network = "20.171.0.0/16".parse().unwrap();
        let joined: Prefixes = [joined].into_iter().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        assert_eq!(set_aside(&path, b"x", &networks(100), &joined), None);
        let wide = (0..10).map(|second| format!("20.{second}.0.0/16").parse::<Network>().unwrap());
        let first = (0..10).map(|second| format!("20.{second}.0.0/24").parse::<Network>().unwrap());
        assert_eq!(set_aside(&path, b"x", &wide.collect(), &first.collect()), None, "by first addresses");
    }
}
