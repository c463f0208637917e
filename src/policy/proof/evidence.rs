//! What one policy generation has to prove crawlers by: the methods of each, and the lists of ranges.
//!
//! Lists lie where [`PublishedFile`] says, one for each URL of the catalogue; the operator's own lie where the configuration
//! says. A list that was never fetched is no method: then reverse DNS alone decides.

use super::answer::ProofAnswer;
use super::directory::KeyDirectory;
use super::own_addresses::OwnAddresses;
use super::range_list::{RangeList, ServiceNames};
use crate::config::ranges::file_name;
use crate::config::{Config, ConfigError, ConfigErrors};
use crate::identify::{Basis, Catalogue, Crawler, Identity};
use crate::policy::fetched::FetchHead;
use crate::policy::{PublishedFile, PublishedKind};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// How crawlers can be proved, compiled.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Asked for each judged request: its hasher is several times as fast as the standard library's.
    methods: HashMap<Arc<str>, Methods>,
    /// What is published, as the catalogue in force and the configuration name it.
    pub published: Vec<PublishedFile>,
    /// Every list that is named, there or not, by where it lies.
    pub lists: RangeLists,
    /// Every suffix of a name that proves some crawler.
    pub(super) suffixes: Arc<[Box<str>]>,
    /// What is wrong with files that are there.
    pub faults: Vec<ConfigError>,
    /// The keys of agents that sign.
    pub directories: Vec<KeyDirectory>,
    /// The addresses that crawlers have to themselves.
    pub own_addresses: OwnAddresses,
}

type RangeLists = BTreeMap<PathBuf, Arc<RangeList>>;

/// How one crawler can be proved.
#[derive(Debug)]
pub(super) struct Methods {
    pub(super) suffixes: Box<[Box<str>]>,
    pub(super) forward: bool,
    /// There or not.
    pub(super) lists: Vec<Arc<RangeList>>,
    /// By which names these may mean it.
    pub(super) names: ServiceNames,
}

impl Evidence {
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
        let read = |path: PathBuf| {
            let former = previous.and_then(|previous| previous.lists.get(&path));
            let list = RangeList::load(&path, former.map(|former| &**former));
            (path, Arc::new(list))
        };
        let lists: RangeLists = named.into_iter().map(read).collect();
        check_own(config, catalogue, &lists)?;
        let former = previous.map(|previous| &*previous.directories).unwrap_or_default();
        let directories = KeyDirectory::all(config, catalogue, former);
        faults.extend(lists.values().filter_map(|list| list.fault.clone()));
        faults.extend(directories.iter().filter_map(|directory| directory.file.fault.clone()));
        let compile = |crawler: &Crawler| Methods::new(crawler, catalogue, config, &lists);
        let crawlers = catalogue.crawlers().iter().filter(|crawler| crawler.client.is_judged());
        let methods: HashMap<Arc<str>, Methods> =
            crawlers.filter_map(|crawler| Some((Arc::clone(&crawler.name), compile(crawler)?))).collect();
        let suffixes: BTreeSet<&Box<str>> = methods.values().flat_map(|methods| &methods.suffixes).collect();
        let suffixes = suffixes.into_iter().cloned().collect();
        let own_addresses = OwnAddresses::new(catalogue, &methods);
        let published = PublishedFile::all(config, catalogue);
        Ok(Self { methods, published, lists, suffixes, faults, directories, own_addresses })
    }

    /// The methods for whoever says to be `identity`. Only a name of the catalogue can be proved.
    pub(super) fn methods(&self, identity: &Identity) -> Option<&Methods> {
        let is_known = matches!(identity.basis, Basis::Catalogue | Basis::Signature);
        self.methods.get(identity.crawler.as_ref().filter(|_| is_known)?)
    }

    /// Every file that is fetched, and whose change is to be noticed.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let lists = self.lists.values().filter(|list| list.held.is_some()).map(|list| &list.path);
        let keys = self.directories.iter().map(|directory| &directory.file);
        let keys = keys.filter(|keys| keys.held.is_some()).map(|keys| &keys.path);
        // A head comes with its file, and changes without it where that is said to be unchanged.
        let heads = lists.chain(keys).map(|path| FetchHead::path_of(path));
        self.published.iter().map(|one| one.path.clone()).chain(heads)
    }

    /// Whether the same files are in force.
    pub fn is_as(&self, other: &Self) -> bool {
        self.faults == other.faults && self.directories == other.directories && self.lists == other.lists
    }
}

/// Where the lists of a crawler lie: those of the catalogue, and the operator's own.
fn lists_of<'a>(crawler: &'a Crawler, config: &'a Config) -> impl Iterator<Item = PathBuf> + 'a {
    let folder = PublishedKind::Ranges.folder(config);
    let fetched = crawler.verify.ranges.iter().map(move |url| folder.join(file_name(url)));
    let own = config.verify.ranges.iter().filter(|(name, _)| crawler.name.eq_ignore_ascii_case(name));
    fetched.chain(own.flat_map(|(_, paths)| paths.iter().cloned()))
}

/// Whether the operator's own lists are there, and of crawlers that are known.
fn check_own(config: &Config, catalogue: &Catalogue, lists: &RangeLists) -> Result<(), ConfigErrors> {
    let place = config.path.clone().unwrap_or_default();
    let unknown = config.verify.ranges.keys().filter(|name| catalogue.get(name).is_none()).map(|name| {
        let message = format!("`[verify] ranges`: the catalogue knows no crawler `{name}`");
        ConfigError::whole(&place, message).with_hint("see `gatewayctl crawlers`")
    });
    let own = config.verify.ranges.values().flatten().filter_map(|path| lists.get(path));
    let missing = own.filter(|list| list.held.is_none() && list.fault.is_none());
    let missing =
        missing.map(|list| ConfigError::whole(&list.path, "there is no such list of address ranges"));
    let errors: Vec<ConfigError> = unknown.chain(missing).collect();
    if errors.is_empty() { Ok(()) } else { Err(ConfigErrors(errors)) }
}

impl Methods {
    /// `None` for a crawler that cannot be proved.
    fn new(crawler: &Crawler, catalogue: &Catalogue, config: &Config, lists: &RangeLists) -> Option<Self> {
        let lists: Vec<_> = lists_of(crawler, config).filter_map(|path| lists.get(&path).cloned()).collect();
        (!crawler.verify.rdns.is_empty() || !lists.is_empty()).then(|| Self {
            suffixes: crawler.verify.rdns.iter().cloned().collect(),
            forward: crawler.verify.forward,
            lists,
            names: ServiceNames::of(crawler, catalogue),
        })
    }

    /// What the lists say of `address`; one that is not there may hold it. `None` where none is there, or was.
    pub(super) fn by_ranges(&self, address: IpAddr, now: SystemTime) -> Option<ProofAnswer> {
        let are_any = self.lists.iter().any(|list| list.held.is_some() || list.fault.is_some());
        let answer = self.lists.iter().map(|list| list.answer(address, &self.names, now)).max();
        answer.filter(|_| are_any)
    }
}
