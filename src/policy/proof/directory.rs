//! The keys of agents that sign, one directory for each agent that the catalogue or the operator names.
//!
//! They are fetched where ranges are fetched, and never because of a request. A directory that was fetched replaces the one
//! before, so a key that it no longer has verifies nothing any more; one that cannot be fetched or read changes nothing.

mod key_set;

pub(in crate::policy) use key_set::KeySet;

use super::Evidence;
use crate::config::{Config, ConfigError};
use crate::identify::signature::{AgentKeys, PublicKey, SignatureAgent, VerifiedSignature};
use crate::identify::{Basis, Catalogue, Identity, Recognised};
use crate::policy::fetched::{FetchHead, KeptFile};
use crate::policy::{PublishedFile, PublishedKind};
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
