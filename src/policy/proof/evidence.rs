//! What one policy generation has to prove crawlers by: the methods of each, and the lists of ranges. And by those lists
//! which crawler an address belongs to, whatever the header says.
//!
//! Lists lie where [`PublishedFile`] says, one for each URL of the catalogue; the operator's own lie where the configuration
//! says. A list that was never fetched is no method: then reverse DNS alone decides.

use super::answer::ProofAnswer;
use super::directory::KeyDirectory;
use crate::config::ranges::{self, RangeFile, file_name};
use crate::config::{Config, ConfigError, ConfigErrors};
use crate::identify::{Basis, Catalogue, ClientKind, Crawler, Identity};
use crate::policy::fetched::{FetchHead, KeptFile};
use crate::policy::{PublishedFile, PublishedKind};
use crate::request::address::Network;
use crate::request::prefixes::{PrefixMap, Prefixes};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

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

    /// The same in sentences, as [`explain_proof`](super::explain_proof) tells its steps.
    pub(super) fn range_steps(&self, address: IpAddr, now: SystemTime) -> Vec<String> {
        let tell = |list: &Arc<RangeList>| {
            let (name, file) =
                (list.path.file_name().unwrap_or_default().to_string_lossy(), list.held.as_ref()?);
            Some(match list.found(address) {
                Some((network, [])) => format!("{address} lies in {network} of {name}"),
                Some((network, services)) => {
                    format!("{address} lies in {network} of {name}, which is for `{}`", services.join("`, `"))
                }
                None if list.is_recent(now) => {
                    format!("{address} lies in none of the {} ranges of {name}", file.networks.len())
                }
                None => format!("{name} does not contain {address}, but is too old to contradict a name"),
            })
        };
        let mut steps: Vec<String> = self.lists.iter().filter_map(tell).collect();
        let is_incomplete = self.lists.iter().any(|list| list.held.is_none());
        if self.by_ranges(address, now) == Some(ProofAnswer::Unknown) && is_incomplete {
            steps.push("not every list of its ranges is there".to_owned());
        }
        steps
    }
}

/// The addresses of crawlers, as far as nobody else is behind them.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    networks: PrefixMap<(Arc<str>, Arc<RangeList>)>,
    /// Where people may be, too: behind the operator's cloud or VPN, or behind a fetcher that works for one.
    shared: Prefixes,
}

impl OwnAddresses {
    /// The addresses in the lists that are there. Where several crawlers have a list, it is told of the shortest name, which
    /// is the one that the operator's crawlers have in common.
    pub(super) fn new(catalogue: &Catalogue, methods: &HashMap<Arc<str>, Methods>) -> Self {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for crawler in catalogue.crawlers().iter().rev() {
            // What an agent says of itself in a card tells nothing of others.
            let is_of_card = crawler.card.as_ref().is_some_and(|card| card.fields.contains(&"ranges"));
            let Some(methods) = methods.get(&crawler.name).filter(|_| !is_of_card) else { continue };
            let is_crawler = matches!(crawler.client, ClientKind::Crawler | ClientKind::SpecialCase);
            for list in &methods.lists {
                let networks = list.held.iter().flat_map(|file| file.networks.networks());
                let networks =
                    networks.filter(|network| methods.names.are_meant_by(list.services_of(network)));
                // A person may come from there as well.
                if crawler.verify.shared || !is_crawler {
                    shared.extend(networks);
                } else {
                    let named = |network| (network, (Arc::clone(&crawler.name), Arc::clone(list)));
                    own.extend(networks.map(named));
                }
            }
        }
        // Of several for one network the last counts.
        own.sort_by_key(|(_, (name, _))| Reverse(name.len()));
        Self { networks: PrefixMap::of(own), shared: shared.into_iter().collect() }
    }

    /// The crawler that has `address` to itself, by a list that is young enough to say so.
    pub fn crawler_at(&self, address: IpAddr, now: SystemTime) -> Option<&Arc<str>> {
        let (_, (name, list)) = self.networks.longest(address)?;
        (list.is_recent(now) && !self.shared.contains(address)).then_some(name)
    }
}

/// Lists are accused by only while they are younger. Operators move addresses, and publish when they do.
const RECENT: Duration = Duration::from_secs(7 * 86_400);

/// How far a clock may be behind that of whoever wrote a list.
const SKEW: Duration = Duration::from_secs(86_400);

/// A list of address ranges on disk, there or not.
pub type RangeList = KeptFile<RangeFile>;

impl RangeList {
    /// Reads the list at `path`. Where that is no list, `former` still counts.
    fn load(path: &Path, former: Option<&Self>) -> Self {
        Self::read(path, PublishedKind::Ranges.largest(), former, |bytes, copy| {
            let file = ranges::parse(path, bytes)?;
            // Fetched from its publisher, a list is as of the day it was fetched, or said to be unchanged: some
            // publishers have not touched theirs for years. Put there by hand, it is as old as it says itself.
            let created = file.created.filter(|_| copy.head.heard.is_none());
            let as_of = copy.as_of().into_iter().chain(created).min();
            Ok((file, as_of))
        })
    }

    /// Whether it is there, and young enough to accuse by: less than seven days old.
    pub fn is_recent(&self, now: SystemTime) -> bool {
        let age = self.as_of.map(|as_of| now.duration_since(as_of));
        age.is_some_and(|age| age.map_or_else(|ahead| ahead.duration() < SKEW, |age| age < RECENT))
    }

    /// What it says of `address` for the crawler of these names. The most specific network counts; one that is for a
    /// service of another crawler is not this one's.
    fn answer(&self, address: IpAddr, names: &ServiceNames, now: SystemTime) -> ProofAnswer {
        let is_its = self.found(address).is_some_and(|(_, services)| names.are_meant_by(services));
        match (is_its, self.is_recent(now)) {
            (true, _) => ProofAnswer::Yes,
            (false, true) => ProofAnswer::No,
            (false, false) => ProofAnswer::Unknown,
        }
    }

    /// The network that holds `address`, and for which services it is.
    fn found(&self, address: IpAddr) -> Option<(Network, &[Box<str>])> {
        let (network, ()) = self.held.as_ref()?.networks.longest(address)?;
        Some((network, self.services_of(&network)))
    }

    fn services_of(&self, network: &Network) -> &[Box<str>] {
        let services = self.held.as_ref().and_then(|file| file.services.get(network));
        services.map_or(&[], Vec::as_slice)
    }
}

/// By which names a list may mean a crawler, and by which the others whose list it is, too.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceNames {
    own: Vec<Box<str>>,
    others: Vec<Box<str>>,
}

impl ServiceNames {
    /// Those of a crawler.
    fn of(crawler: &Crawler, catalogue: &Catalogue) -> Self {
        let names = |crawler: &Crawler| -> Vec<Box<str>> {
            std::iter::once(Box::from(&*crawler.name)).chain(crawler.tokens.iter().cloned()).collect()
        };
        let own = names(crawler);
        let shares =
            |other: &&Crawler| crawler.verify.ranges.iter().any(|url| other.verify.ranges.contains(url));
        let mut others: Vec<_> = catalogue.crawlers().iter().filter(shares).flat_map(names).collect();
        others.retain(|name| !own.iter().any(|known| known.eq_ignore_ascii_case(name)));
        Self { own, others }
    }

    /// Whether a network of these services is the crawler's. Publishers name services as they like: names that no crawler
    /// of the list goes by say nothing.
    fn are_meant_by(&self, services: &[Box<str>]) -> bool {
        let are_of = |names: &[Box<str>]| {
            services.iter().any(|service| names.iter().any(|name| name.eq_ignore_ascii_case(service)))
        };
        are_of(&self.own) || !are_of(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fetched::{FetchAnswer, FetchedCopy, FetchedFrom, Validators};

    fn list(path: &Path) -> RangeList {
        let list = RangeList::load(path, None);
        assert!(list.held.is_some(), "{list:?}");
        list
    }

    fn set_age(path: &Path, age: Duration) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn an_old_list_confirms_and_does_not_accuse() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let (inside, outside) = ("192.0.2.9".parse().unwrap(), "198.51.100.9".parse().unwrap());
        let (now, anybody) = (SystemTime::now(), ServiceNames::default());
        for (age, expected) in
            [(DAY, ProofAnswer::No), (DAY * 6, ProofAnswer::No), (DAY * 8, ProofAnswer::Unknown)]
        {
            set_age(&path, age);
            let list = list(&path);
            assert_eq!(
                (list.answer(inside, &anybody, now), list.answer(outside, &anybody, now)),
                (ProofAnswer::Yes, expected)
            );
        }
    }

    /// Without `services` both crawlers of one list were confirmed wherever the list has a network.
    #[test]
    fn a_list_of_two_crawlers_confirms_the_right_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let text = r#"{"prefixes":[{"ipv4Prefix":"192.0.2.0/24","services":["FooBot"]},
            {"ipv4Prefix":"192.0.2.128/25","services":["barbot"]}, {"ipv4Prefix":"198.51.100.0/24"},
            {"ipv4Prefix":"203.0.113.0/24","services":["crawl-frontend"]},
            {"ipv4Prefix":"192.0.2.64/26","services":["FooBot","BarBot"]}]}"#;
        std::fs::write(&path, text).unwrap();
        let (list, now) = (list(&path), SystemTime::now());
        let names =
            |own: &str, other: &str| ServiceNames { own: vec![own.into()], others: vec![other.into()] };
        let (foo, bar) = (names("FooBot", "BarBot"), names("BarBot", "FooBot"));
        let (yes, no) = (ProofAnswer::Yes, ProofAnswer::No);
        for (address, of_foo, of_bar) in [
            ("192.0.2.1", yes, no),
            ("192.0.2.200", no, yes),
            ("192.0.2.65", yes, yes),
            ("198.51.100.1", yes, yes),
            ("203.0.113.1", yes, yes),
            ("203.0.112.1", no, no),
        ] {
            let address = address.parse().unwrap();
            let answers = (list.answer(address, &foo, now), list.answer(address, &bar, now));
            assert_eq!(answers, (of_foo, of_bar), "{address}");
        }
    }

    #[test]
    fn a_list_put_there_by_hand_is_as_old_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let text = r#"{"creationTime":"2020-01-01T00:00:00","prefixes":["192.0.2.0/24"]}"#;
        std::fs::write(&path, text).unwrap();
        let now = SystemTime::now();
        assert!(!list(&path).is_recent(now));
        let mut copy = FetchedCopy::default();
        let (bytes, validators) = (text.into(), Validators::default());
        copy.apply(FetchAnswer::File { bytes, validators }, FetchedFrom::Publisher, now.into());
        copy.write(&path).unwrap();
        assert!(list(&path).is_recent(now), "fetched a moment ago");
        std::fs::write(&path, text.replace("192.0.2.0", "192.0.3.0")).unwrap();
        assert!(!list(&path).is_recent(now), "the head is that of another list");
    }

    #[test]
    fn a_bad_file_keeps_the_last_good_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        let none = RangeList { path: path.clone(), held: None, as_of: None, fault: None };
        assert_eq!(RangeList::load(&path, None), none);
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let good = list(&path);
        assert_eq!(RangeList::load(&path, Some(&good)), good);
        std::fs::write(&path, "192.0.2.0/24\noops\n").unwrap();
        let kept = RangeList::load(&path, Some(&good));
        assert_eq!((&kept.held, kept.as_of), (&good.held, good.as_of));
        let error = kept.fault.unwrap().to_string();
        assert!(error.contains("list.txt:2:1: invalid address range `oops`"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(RangeList::load(&path, Some(&good)), none);
    }
}
