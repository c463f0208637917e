//! The keys of agents that sign, one directory for each agent that the catalogue or the operator names.
//!
//! Directories lie in the folder `keys` of the state folder, under the name that [`file_name`] makes of their URL. They
//! are fetched where ranges are fetched, and never because of a request. A directory that was fetched replaces the one
//! before, so a key that it no longer has verifies nothing any more; one that cannot be fetched or read changes nothing.

mod key_set;

pub(in crate::policy) use key_set::KeySet;

use crate::config::ranges::file_name;
use crate::config::{Config, ConfigError, reading};
use crate::identify::signature::{AgentKeys, SignatureAgent, VerifiedSignature};
use crate::identify::{Basis, Catalogue, Identity, Recognised};
use crate::policy::fetched::FetchHead;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The folder of fetched directories, in the state folder.
const FOLDER: &str = "keys";

/// More than any directory in use has, in bytes.
pub(in crate::policy) const LARGEST_KEYS: u64 = 64 * 1_024;

/// The keys of one agent, as last read without fault.
#[derive(Debug, Clone)]
pub struct KeyDirectory {
    /// Whose keys they are.
    pub agent: SignatureAgent,
    /// The crawlers of the catalogue that sign by them.
    pub crawlers: Vec<Arc<str>>,
    /// Where it lies.
    pub path: PathBuf,
    /// The keys; `None` where it was never fetched.
    pub keys: AgentKeys,
    /// When it was fetched, or said to be unchanged.
    pub fetched: Option<SystemTime>,
    /// Why it could not be fetched when that was tried last.
    pub error: Option<String>,
    /// Who signs by it: the first of the crawlers, as the catalogue has it.
    signer: Arc<Identity>,
    /// The same behind the header of a person's browser.
    behind_browser: Arc<Identity>,
}

impl KeyDirectory {
    /// How old it is; `None` where it was never fetched.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        self.fetched.map(|fetched| now.duration_since(fetched).unwrap_or_default())
    }

    /// Reads it from disk, if it is there. What cannot be read leaves what `former` had.
    fn read(&mut self, former: Option<&Self>) -> Option<ConfigError> {
        let head = FetchHead::read(&self.path);
        let read = read(&self.path, &head);
        self.error = head.error;
        match read {
            Ok(Some((set, fetched))) => {
                self.keys = Some(set.keys);
                self.fetched = Some(fetched);
                None
            }
            Ok(None) => None,
            Err(message) => {
                if let Some(former) = former {
                    self.keys.clone_from(&former.keys);
                    self.fetched = former.fetched;
                }
                Some(ConfigError::whole(&self.path, message))
            }
        }
    }

    fn is_as(&self, other: &Self) -> bool {
        (&self.agent, &self.path, &self.keys, self.fetched)
            == (&other.agent, &other.path, &other.keys, other.fetched)
    }
}

/// The directories of all agents that are named.
#[derive(Debug, Default)]
pub struct KeyDirectories(BTreeMap<SignatureAgent, KeyDirectory>);

impl KeyDirectories {
    /// The folder in which they lie.
    pub(in crate::policy) fn folder(config: &Config) -> PathBuf {
        config.state_dir.join(FOLDER)
    }

    /// Those that a catalogue names, without their keys.
    fn named(config: &Config, catalogue: &Catalogue) -> Self {
        let folder = Self::folder(config);
        let mut all: BTreeMap<SignatureAgent, KeyDirectory> = BTreeMap::new();
        for crawler in catalogue.crawlers() {
            let Some(agent) = &crawler.verify.agent else { continue };
            let directory = all.entry(agent.clone()).or_insert_with(|| KeyDirectory {
                agent: agent.clone(),
                crawlers: Vec::new(),
                path: folder.join(file_name(agent.key_set())),
                keys: None,
                fetched: None,
                error: None,
                signer: Arc::new(Identity::of_entry(crawler, Basis::Signature)),
                behind_browser: Arc::new(Identity::of_agent(crawler)),
            });
            directory.crawlers.push(Arc::clone(&crawler.name));
        }
        Self(all)
    }

    /// Reads them all from disk, and says what is wrong with those that cannot be read.
    pub(in crate::policy) fn load(
        config: &Config,
        catalogue: &Catalogue,
        previous: Option<&Self>,
    ) -> (Self, Vec<ConfigError>) {
        let mut all = Self::named(config, catalogue);
        let mut faults = Vec::new();
        for directory in all.0.values_mut() {
            let former = previous.and_then(|previous| previous.0.get(&directory.agent));
            faults.extend(directory.read(former));
        }
        (all, faults)
    }

    /// The keys of an agent; `None` for one that neither the catalogue nor the operator names.
    #[must_use]
    pub fn keys(&self, agent: &SignatureAgent) -> Option<&AgentKeys> {
        self.0.get(agent).map(|directory| &directory.keys)
    }

    /// All of them, by their agents' names.
    #[must_use]
    pub fn all(&self) -> Vec<&KeyDirectory> {
        self.0.values().collect()
    }

    /// Where they lie, and which of them are there.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.0.values().map(|directory| (directory.path.as_path(), directory.keys.is_some()))
    }

    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.values().zip(other.0.values()).all(|(own, other)| own.is_as(other))
    }

    /// Who sent a request that the header gives as `recognised`, and that was signed. The signature wins; where header and
    /// signature name the same crawler, what the header adds stays.
    pub(in crate::policy) fn signer(
        &self,
        signature: &VerifiedSignature,
        recognised: Recognised,
    ) -> Recognised {
        let Some(directory) = self.0.get(&signature.agent) else { return recognised };
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

/// The keys at `path` and when they were fetched, or put there by hand; `None` where there is nothing.
fn read(path: &Path, head: &FetchHead) -> Result<Option<(KeySet, SystemTime)>, String> {
    let refuse = |error: io::Error| format!("cannot read the keys: {error}");
    let read = match reading::read(path, LARGEST_KEYS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(refuse)?,
    };
    let by_hand = || read.metadata.modified().map_err(refuse);
    let fetched = head.said_of(&read.bytes).map_or_else(by_hand, Ok)?;
    Ok(Some((KeySet::parse(&read.bytes)?, fetched)))
}
