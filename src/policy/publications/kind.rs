//! The kinds of what is published, and by which rules each is fit.

use crate::config::ranges::{self, file_name};
use crate::config::{Config, ConfigError, catalogue};
use crate::identify::signature::has_signed_file;
use crate::identify::{Catalogue, Identifier};
use crate::policy::fetched::FetchedCopy;
use crate::policy::proof::{Evidence, KeyDirectories, KeySet, LARGEST_KEYS, LARGEST_LIST};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// More than any catalogue has.
const LARGEST_CATALOGUE: u64 = 8 * 1024 * 1024;

/// Something that is published, and where it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedFile {
    /// What it is.
    pub kind: PublishedKind,
    /// Where it is published.
    pub url: Box<str>,
    /// Whom it is for.
    pub crawlers: Vec<Box<str>>,
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
    /// In how many steps all kinds are fetched.
    pub const STEPS: usize = 3;

    /// In which of them this one is: a catalogue may name cards, and both may name lists and keys.
    pub const fn step(self) -> usize {
        match self {
            Self::Catalogue(_) => 0,
            Self::Card => 1,
            Self::Ranges | Self::Keys => 2,
        }
    }

    pub(super) const fn largest(self) -> u64 {
        match self {
            Self::Ranges => LARGEST_LIST,
            Self::Keys => LARGEST_KEYS,
            Self::Card => catalogue::LARGEST_CARD,
            Self::Catalogue(_) => LARGEST_CATALOGUE,
        }
    }
}

impl PublishedFile {
    /// The catalogue, where one is to be fetched; then all that the catalogue in force names: cards, lists, keys.
    pub fn all(config: &Config, catalogue: &Catalogue) -> Vec<Self> {
        let (lists, keys) = (Evidence::folder(config), KeyDirectories::folder(config));
        let mut all: Vec<Self> = Self::catalogue(config).into_iter().collect();
        for crawler in catalogue.crawlers() {
            let card = crawler.card.iter().map(|card| (PublishedKind::Card, &*card.url, card.path.clone()));
            let of_list = |url| (PublishedKind::Ranges, url, lists.join(file_name(url)));
            let of_keys = |url| (PublishedKind::Keys, url, keys.join(file_name(url)));
            let ranges = crawler.verify.ranges.iter().map(|url| of_list(url));
            let agent = crawler.verify.agent.iter().map(|agent| of_keys(agent.key_set()));
            for (kind, url, path) in card.chain(ranges).chain(agent) {
                let name = Box::from(&*crawler.name);
                match all.iter_mut().find(|known| known.path == path) {
                    Some(known) => known.crawlers.push(name),
                    None => all.push(Self { kind, url: url.into(), crawlers: vec![name], path }),
                }
            }
        }
        all
    }

    /// The catalogue, where one is to be fetched.
    fn catalogue(config: &Config) -> Option<Self> {
        let (url, key) = config.catalogue.published()?;
        let path = config.state_dir.join("catalogue").join(file_name(url));
        Some(Self { kind: PublishedKind::Catalogue(key), url: url.into(), crawlers: Vec::new(), path })
    }

    /// What its head says where it is from. What another key has signed is another catalogue.
    pub(super) fn source(&self) -> String {
        match self.kind {
            PublishedKind::Catalogue(key) => format!("{} {}", self.url, STANDARD.encode(key)),
            _ => self.url.to_string(),
        }
    }

    /// What is kept of it. Lists, keys and cards may be put there by somebody else; a catalogue counts as this key signed it.
    pub(super) fn copy(&self) -> FetchedCopy {
        let copy = FetchedCopy::read(&self.path, self.kind.largest());
        match self.kind {
            PublishedKind::Catalogue(_) => copy.only_of(&self.source()),
            _ => copy,
        }
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
        (copy.bytes().and_then(count), copy.head.age(now))
    }

    /// Whether bytes may take the place of those that are there, and why not. Of a catalogue they are signed.
    pub(super) fn accept(&self, bytes: &[u8], signature: &[u8]) -> Result<(), String> {
        match self.kind {
            PublishedKind::Catalogue(key) => accept_catalogue(&self.path, bytes, signature, &key),
            PublishedKind::Ranges => {
                ranges::parse(&self.path, bytes).map(drop).map_err(|fault| fault_of(&fault))
            }
            PublishedKind::Keys => accept_keys(&self.path, bytes),
            PublishedKind::Card => catalogue::parse_card(bytes).map(drop),
        }
    }
}

/// The text of the published catalogue, as last fetched and found good, and where it lies.
pub(in crate::policy) fn published_catalogue(config: &Config) -> Option<(String, PathBuf)> {
    let publication = PublishedFile::catalogue(config)?;
    let text = publication.copy().bytes().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())?;
    Some((text, publication.path))
}

/// The file of the published catalogue, where one is to be fetched.
pub(in crate::policy) fn catalogue_path(config: &Config) -> Option<PathBuf> {
    PublishedFile::catalogue(config).map(|publication| publication.path)
}

fn accept_catalogue(path: &Path, bytes: &[u8], signature: &[u8], key: &[u8; 32]) -> Result<(), String> {
    let signature = STANDARD.decode(signature.trim_ascii()).unwrap_or_default();
    if !has_signed_file(key, bytes, &signature) {
        let expected = "expected 64 bytes of Ed25519 in Base64";
        return Err(format!("its signature is not that of `public_key`: {expected}"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is no UTF-8".to_owned())?;
    // What cards say is asked when it is put in force: beside it none lie.
    let knowledge = catalogue::merge(text, path, path)
        .map_err(|faults| faults.first().map(fault_of).unwrap_or_default())?;
    Identifier::new(knowledge).map(drop).map_err(|error| error.to_string())
}

/// Keys that were withdrawn verify nothing any more, whatever is wrong with the new ones.
fn accept_keys(path: &Path, bytes: &[u8]) -> Result<(), String> {
    for fault in &KeySet::parse(bytes)?.faults {
        tracing::warn!(keys = %path.display(), "a directory of keys has a fault: {fault}");
    }
    Ok(())
}

/// The fault of a list that lies nowhere yet.
fn fault_of(fault: &ConfigError) -> String {
    match fault.line.zip(fault.column) {
        Some((line, column)) => format!("line {line}, column {column}: {}", fault.message),
        None => fault.message.clone(),
    }
}
