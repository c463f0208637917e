//! What the store knows of the ledger: that there was one, or what version 0.1 served, which had none.

use super::past::FilesByHost;
use crate::config::Config;
use crate::decide::{RulesId, VersionId};
use crate::record::{
    FileDigest, LedgerChange, LedgerMemory, LedgerSeed, ReadBook, StoreError, StoreErrorKind, StoreReader,
    VersionRecord, digest,
};
use crate::robots::Robots;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What the store of this configuration remembers.
pub(super) fn memory(config: &Config) -> LedgerMemory {
    match remembered(&config.store.path, config) {
        Ok(memory) => memory,
        Err(error) if error.kind() == StoreErrorKind::Missing => LedgerMemory::Nothing,
        Err(error) => {
            tracing::warn!("the store cannot say whether there was a ledger of robots.txt versions: {error}");
            LedgerMemory::Unreadable
        }
    }
}

fn remembered(path: &Path, config: &Config) -> Result<LedgerMemory, StoreError> {
    let reader = StoreReader::open(path)?;
    if let Some(entry) = reader.ledger_entry()? {
        return Ok(LedgerMemory::Entry(entry));
    }
    let versions = reader.versions(None)?;
    Ok(if versions.is_empty() {
        LedgerMemory::Nothing
    } else {
        LedgerMemory::Seeds(seeds(&versions, config))
    })
}

/// Takes up who has read what, as the store remembers it.
pub fn take_up_reads(config: &Config, reads: &ReadBook) {
    let remembered = match StoreReader::open(&config.store.path).and_then(|reader| reader.remembered()) {
        Ok(remembered) => remembered,
        Err(error) if error.kind() == StoreErrorKind::Missing => return,
        Err(error) => {
            tracing::warn!("who has read robots.txt is not known: {error}");
            return;
        }
    };
    let limits = super::limits(config);
    let mut rules: HashMap<VersionId, RulesId> = HashMap::new();
    // What version 0.1 noted does not say what was read.
    let wanted: HashSet<VersionId> =
        remembered.reads.iter().filter(|read| read.rules.is_none()).map(|read| read.version).collect();
    for version in &remembered.versions {
        if let (Some(id), Some(bytes)) = (version.id.filter(|id| wanted.contains(id)), &version.bytes) {
            rules.insert(id, RulesId::of(&Robots::parse(bytes, &limits).robots));
        }
    }
    reads.restore(&remembered.reads, |version| rules.get(&version).copied());
}

/// What version 0.1 served, by site; a site's hosts are those that it has now.
fn seeds(versions: &[VersionRecord], config: &Config) -> Vec<LedgerSeed> {
    let now = SystemTime::now();
    let mut patterns: HashMap<&str, Vec<Box<str>>> = HashMap::new();
    for site in &config.sites {
        patterns.entry(&site.name).or_default().extend(site.patterns());
    }
    let mut versions: Vec<&VersionRecord> =
        versions.iter().filter(|version| patterns.contains_key(&*version.site)).collect();
    versions.sort_by_key(|version| version.row);
    let mut seeds = Vec::new();
    let mut ago = Duration::MAX;
    for version in versions {
        // The clock may have been set back in between.
        ago = ago.min(now.duration_since(version.from).unwrap_or_default());
        // Rows are the order, also of what was read. The file takes the place before its version.
        let sequence = 2 * version.row + 1;
        let seed = |sequence, change| LedgerSeed { sequence, ago, time: version.from, change };
        let file: FileDigest = version.bytes.as_deref().map(digest);
        if let Some(bytes) = version.bytes.as_deref() {
            seeds.push(seed(sequence - 1, LedgerChange::file(bytes)));
        }
        let names = patterns.get(&*version.site).into_iter().flatten();
        let hosts: FilesByHost = names.map(|name| (name.clone(), file.clone())).collect();
        seeds.push(seed(sequence, LedgerChange::Serving { hosts, gone: Vec::new() }));
    }
    seeds
}
