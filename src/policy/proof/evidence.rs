//! What one policy generation has to prove crawlers by: the methods of each, and the lists of ranges.
//!
//! Lists lie in the folder `ranges` of the state folder, one for each URL of the catalogue, under the
//! name that [`file_name`] makes of the URL; the operator's own lie where the configuration says. A list
//! that was never fetched is no method: then reverse DNS alone decides.

use super::answer::ProofAnswer;
use super::directory::{KeyDirectory, read_directories};
use super::own_addresses::OwnAddresses;
use super::range_list::{RangeList, ServiceNames};
use crate::config::ranges::file_name;
use crate::config::{Config, ConfigError, ConfigErrors};
use crate::identify::{Basis, Catalogue, Crawler, Identity};
use crate::policy::fetched::FetchHead;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The folder of fetched lists, in the state folder.
const FOLDER: &str = "ranges";

/// How crawlers can be proved, compiled.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Asked for each judged request: its hasher is several times as fast as the standard library's.
    methods: HashMap<Arc<str>, Methods>,
    /// Every list that is named, there or not.
    pub sources: Vec<RangeSource>,
    /// Every suffix of a name that proves some crawler.
    pub(super) suffixes: Arc<[Box<str>]>,
    /// What is wrong with lists that are there.
    pub faults: Vec<ConfigError>,
    /// The keys of agents that sign.
    pub directories: Vec<KeyDirectory>,
    /// The addresses that crawlers have to themselves.
    pub own_addresses: OwnAddresses,
}

/// A list that the catalogue or the operator names, and what was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSource {
    /// Where it lies, or would lie.
    pub path: PathBuf,
    /// The list, once there is one.
    pub list: Option<Arc<RangeList>>,
    /// Whether what lies there is no list.
    is_faulty: bool,
}

/// How one crawler can be proved.
#[derive(Debug)]
pub(super) struct Methods {
    pub(super) suffixes: Box<[Box<str>]>,
    pub(super) forward: bool,
    pub(super) lists: Vec<Arc<RangeList>>,
    /// By which names these may mean it.
    pub(super) names: ServiceNames,
    /// Whether each of its lists is there and without fault.
    pub(super) is_complete: bool,
    /// Whether any of its lists is or was there.
    has_ranges: bool,
}

impl Evidence {
    /// The folder in which the fetched lists lie.
    pub fn folder(config: &Config) -> PathBuf {
        config.state_dir.join(FOLDER)
    }

    /// Reads every list; one that cannot be read stays as it was in `previous`. There may be `faults` of the catalogue already.
    ///
    /// # Errors
    /// When the configuration names a crawler that is not known, or a list that is not there and never was.
    pub(crate) fn load(
        config: &Config,
        catalogue: &Catalogue,
        previous: Option<&Self>,
        mut faults: Vec<ConfigError>,
    ) -> Result<Self, ConfigErrors> {
        let named: BTreeSet<PathBuf> =
            catalogue.crawlers().iter().flat_map(|crawler| lists_of(crawler, config)).collect();
        let mut sources = Vec::new();
        for path in named {
            let former = previous.and_then(|previous| found(&previous.sources, &path)?.list.as_ref());
            let (list, fault) = RangeList::load(&path, former);
            sources.push(RangeSource { path, list, is_faulty: fault.is_some() });
            faults.extend(fault);
        }
        check_own(config, catalogue, &sources)?;
        let former = previous.map(|previous| &*previous.directories).unwrap_or_default();
        let directories = read_directories(config, catalogue, former, &mut faults);
        let compile = |crawler: &Crawler| Methods::new(crawler, catalogue, config, &sources);
        let crawlers = catalogue.crawlers().iter().filter(|crawler| crawler.client.is_judged());
        let methods: HashMap<Arc<str>, Methods> =
            crawlers.filter_map(|crawler| Some((Arc::clone(&crawler.name), compile(crawler)?))).collect();
        let suffixes: BTreeSet<&Box<str>> = methods.values().flat_map(|methods| &methods.suffixes).collect();
        let suffixes = suffixes.into_iter().cloned().collect();
        let own_addresses = OwnAddresses::new(catalogue, &methods);
        Ok(Self { methods, sources, suffixes, faults, directories, own_addresses })
    }

    /// The methods for whoever says to be `identity`. Only a name of the catalogue can be proved.
    pub(super) fn methods(&self, identity: &Identity) -> Option<&Methods> {
        let name = identity
            .crawler
            .as_ref()
            .filter(|_| matches!(identity.basis, Basis::Catalogue | Basis::Signature))?;
        self.methods.get(name)
    }

    /// Every file whose change is to be noticed.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let lists = self.sources.iter().map(|source| (&source.path, source.list.is_some()));
        // A head comes with its list, and changes without it where that is said to be unchanged.
        lists.chain(self.key_files()).flat_map(|(path, is_there)| {
            let head = is_there.then(|| FetchHead::path_of(path));
            std::iter::once(path.clone()).chain(head)
        })
    }

    /// Whether the same lists are in force.
    pub fn is_as(&self, other: &Self) -> bool {
        self.faults == other.faults && self.directories == other.directories && self.sources == other.sources
    }
}

/// Where the lists of a crawler lie: those of the catalogue, and the operator's own.
fn lists_of<'a>(crawler: &'a Crawler, config: &'a Config) -> impl Iterator<Item = PathBuf> + 'a {
    let fetched = crawler.verify.ranges.iter().map(|url| Evidence::folder(config).join(file_name(url)));
    let own = config.verify.ranges.iter().filter(|(name, _)| crawler.name.eq_ignore_ascii_case(name));
    fetched.chain(own.flat_map(|(_, paths)| paths.iter().cloned()))
}

fn found<'a>(sources: &'a [RangeSource], path: &Path) -> Option<&'a RangeSource> {
    sources.iter().find(|source| source.path == path)
}

/// Whether the operator's own lists are there, and of crawlers that are known.
fn check_own(config: &Config, catalogue: &Catalogue, sources: &[RangeSource]) -> Result<(), ConfigErrors> {
    let mut errors = Vec::new();
    let place = config.path.clone().unwrap_or_default();
    for (name, paths) in &config.verify.ranges {
        if catalogue.get(name).is_none() {
            let message = format!("`[verify] ranges`: the catalogue knows no crawler `{name}`");
            errors.push(ConfigError::whole(&place, message).with_hint("see `gatewayctl crawlers`"));
        }
        let named = paths.iter().filter_map(|path| found(sources, path));
        let missing = named.filter(|source| source.list.is_none() && !source.is_faulty);
        errors.extend(
            missing.map(|own| ConfigError::whole(&own.path, "there is no such list of address ranges")),
        );
    }
    if errors.is_empty() { Ok(()) } else { Err(ConfigErrors(errors)) }
}

impl Methods {
    /// `None` for a crawler that cannot be proved.
    fn new(
        crawler: &Crawler,
        catalogue: &Catalogue,
        config: &Config,
        sources: &[RangeSource],
    ) -> Option<Self> {
        let named: Vec<&RangeSource> =
            lists_of(crawler, config).filter_map(|path| found(sources, &path)).collect();
        let suffixes: Box<[Box<str>]> = crawler.verify.rdns.iter().cloned().collect();
        (!suffixes.is_empty() || !named.is_empty()).then(|| Self {
            suffixes,
            forward: crawler.verify.forward,
            names: names(crawler, catalogue),
            lists: named.iter().filter_map(|source| source.list.clone()).collect(),
            is_complete: named.iter().all(|source| source.list.is_some()),
            has_ranges: named.iter().any(|source| source.list.is_some() || source.is_faulty),
        })
    }

    /// What the lists say of `address`; `None` where there is none.
    pub(super) fn by_ranges(&self, address: IpAddr, now: SystemTime) -> Option<ProofAnswer> {
        let mut answer = if self.is_complete { ProofAnswer::No } else { ProofAnswer::Unknown };
        for list in &self.lists {
            answer = answer.max(list.answer(address, &self.names, now));
            if answer == ProofAnswer::Yes {
                break;
            }
        }
        self.has_ranges.then_some(answer)
    }
}

/// By which names the lists of `crawler` may mean it, and by which the other crawlers that have one of them, too.
fn names(crawler: &Crawler, catalogue: &Catalogue) -> ServiceNames {
    let of = |crawler: &Crawler| {
        std::iter::once(Box::from(&*crawler.name)).chain(crawler.tokens.iter().cloned()).collect::<Vec<_>>()
    };
    let own = of(crawler);
    let shares = |other: &&Crawler| crawler.verify.ranges.iter().any(|url| other.verify.ranges.contains(url));
    let others = catalogue.crawlers().iter().filter(shares).flat_map(of);
    let others = others.filter(|name| !own.iter().any(|known| known.eq_ignore_ascii_case(name))).collect();
    ServiceNames { own, others }
}
