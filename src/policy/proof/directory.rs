//! The keys of agents that sign, one directory for each agent that the catalogue or the operator names.
//!
//! Directories lie in the folder `keys` of the state folder, under the name that [`file_name`] makes of their URL. They
//! are fetched where ranges are fetched, and never because of a request. A directory that was fetched replaces the one
//! before, so a key that it no longer has verifies nothing any more; one that cannot be fetched or read changes nothing.

mod key_set;

pub(in crate::policy) use key_set::KeySet;

use super::Evidence;
use crate::config::ranges::file_name;
use crate::config::{Config, ConfigError};
use crate::identify::signature::{AgentKeys, SignatureAgent, VerifiedSignature};
use crate::identify::{Basis, Catalogue, Identity, Recognised};
use crate::policy::fetched::{FetchHead, FetchedCopy};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The folder of fetched directories, in the state folder.
const FOLDER: &str = "keys";

/// More than any directory in use has, in bytes.
pub(in crate::policy) const LARGEST_KEYS: u64 = 64 * 1_024;

/// The keys of one agent, as last read without fault.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDirectory {
    /// Whose keys they are.
    pub agent: SignatureAgent,
    /// The crawlers of the catalogue that sign by them.
    pub crawlers: Vec<Arc<str>>,
    /// Where it lies.
    path: PathBuf,
    /// The keys; `None` where it was never fetched.
    pub keys: AgentKeys,
    /// When it was fetched, said to be unchanged, or put there by hand.
    fetched: Option<SystemTime>,
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

    /// Why it could not be fetched when that was tried last.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        FetchHead::read(&self.path).error
    }

    /// Reads it from disk, if it is there. What cannot be read leaves what `former` had.
    fn read(&mut self, former: Option<&Self>) -> Option<ConfigError> {
        let read = FetchedCopy::read(&self.path, LARGEST_KEYS);
        let parsed = read.map_err(|error| format!("cannot read the keys: {error}")).and_then(|copy| {
            Ok((copy.bytes.as_deref().map(KeySet::parse).transpose()?.map(|set| set.keys), copy.as_of()))
        });
        let former = former.map(|former| (former.keys.clone(), former.fetched));
        let (read, fault) = match parsed {
            Ok(read) => (Some(read), None),
            Err(message) => (former, Some(ConfigError::whole(&self.path, message))),
        };
        (self.keys, self.fetched) = read.unwrap_or_default();
        fault
    }
}

/// The folder in which directories lie.
pub(in crate::policy) fn key_folder(config: &Config) -> PathBuf {
    config.state_dir.join(FOLDER)
}

/// The directories of all agents that a catalogue names, by the agents' names, as they lie on disk. What is wrong with those
/// that cannot be read is one of the `faults`; they stay as they were in `previous`.
pub(super) fn read_directories(
    config: &Config,
    catalogue: &Catalogue,
    previous: &[KeyDirectory],
    faults: &mut Vec<ConfigError>,
) -> Vec<KeyDirectory> {
    let mut all: Vec<KeyDirectory> = Vec::new();
    for crawler in catalogue.crawlers() {
        let Some(agent) = &crawler.verify.agent else { continue };
        if let Some(known) = all.iter_mut().find(|known| known.agent == *agent) {
            known.crawlers.push(Arc::clone(&crawler.name));
            continue;
        }
        let mut directory = KeyDirectory {
            agent: agent.clone(),
            crawlers: vec![Arc::clone(&crawler.name)],
            path: key_folder(config).join(file_name(agent.key_set())),
            keys: None,
            fetched: None,
            signer: Arc::new(Identity::of_entry(crawler, Basis::Signature)),
            behind_browser: Arc::new(Identity::of_agent(crawler)),
        };
        faults.extend(directory.read(previous.iter().find(|former| former.agent == *agent)));
        all.push(directory);
    }
    all.sort_by(|one, other| one.agent.cmp(&other.agent));
    all
}

impl Evidence {
    /// The directories of all agents of a catalogue that sign, as they lie on disk now.
    #[must_use]
    pub fn key_directories(config: &Config, catalogue: &Catalogue) -> Vec<KeyDirectory> {
        read_directories(config, catalogue, &[], &mut Vec::new())
    }

    /// The keys of an agent; `None` for one that neither the catalogue nor the operator names.
    #[must_use]
    pub fn keys(&self, agent: &SignatureAgent) -> Option<&AgentKeys> {
        self.directory(agent).map(|directory| &directory.keys)
    }

    fn directory(&self, agent: &SignatureAgent) -> Option<&KeyDirectory> {
        self.directories.iter().find(|directory| directory.agent == *agent)
    }

    /// Where directories lie, and which of them are there.
    pub(super) fn key_files(&self) -> impl Iterator<Item = (&PathBuf, bool)> {
        self.directories.iter().map(|directory| (&directory.path, directory.keys.is_some()))
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
