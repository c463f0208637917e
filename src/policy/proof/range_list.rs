//! One list of address ranges on disk: its networks, and how old it may be taken to be.

use super::answer::ProofAnswer;
use crate::config::reading::{self, FileContents, MarkFound};
use crate::config::{ConfigError, ranges};
use crate::policy::fetched::FetchHead;
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use hashbrown::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Lists are accused by only while they are younger. Operators move addresses, and publish when they do.
const RECENT: Duration = Duration::from_secs(7 * 86_400);

/// How far a clock may be behind that of whoever wrote a list.
const SKEW: Duration = Duration::from_secs(86_400);

/// More than any list in use has.
pub(in crate::policy) const LARGEST_LIST: u64 = 16 * 1024 * 1024;

/// What a list and its head look like: a head that changed may say that the list is as of now.
pub(super) type ListMarks = (MarkFound, MarkFound);

/// A list of address ranges, as last read without fault.
#[derive(Debug)]
pub struct RangeList {
    /// Where it lies.
    pub path: PathBuf,
    prefixes: Prefixes,
    services: HashMap<Network, Vec<Box<str>>>,
    as_of: SystemTime,
    marks: ListMarks,
}

/// When it was asked for in vain makes it no other.
impl PartialEq for RangeList {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.prefixes, &self.services, self.as_of)
            == (&other.path, &other.prefixes, &other.services, other.as_of)
    }
}

impl Eq for RangeList {}

impl RangeList {
    /// Reads the list at `path`, unless `previous` was read from the very same file; no list where there is nothing. What
    /// is no list is a fault, and `previous` still counts.
    pub(super) fn load(
        path: &Path,
        marks: ListMarks,
        previous: Option<&Arc<Self>>,
    ) -> (Option<Arc<Self>>, Option<ConfigError>) {
        let read = match marks.0 {
            Err(io::ErrorKind::NotFound) => return (None, None),
            Ok(_) if previous.is_some_and(|previous| previous.marks == marks) => {
                return (previous.cloned(), None);
            }
            Ok(_) => Self::read(path, marks),
            Err(kind) => Err(unreadable(path, &kind.into())),
        };
        match read {
            Ok(list) => (Some(Arc::new(list)), None),
            Err(fault) => (previous.cloned(), Some(fault)),
        }
    }

    fn read(path: &Path, marks: ListMarks) -> Result<Self, ConfigError> {
        let FileContents { bytes, metadata } =
            reading::read(path, LARGEST_LIST).map_err(|error| unreadable(path, &error))?;
        let read = ranges::parse(path, &bytes)?;
        let modified = metadata.modified().map_err(|error| unreadable(path, &error))?;
        // Fetched from its publisher, a list is as of the day it was fetched, or said to be unchanged: some
        // publishers have not touched theirs for years. Put there by hand, it is as old as it says itself.
        let by_hand = || read.created.map_or(modified, |created| created.min(modified));
        let as_of = FetchHead::read(path).said_of(&bytes).unwrap_or_else(by_hand);
        let prefixes: Prefixes = read.networks.into_iter().collect();
        let mut services: HashMap<Network, Vec<Box<str>>> = HashMap::new();
        for (network, service) in read.services {
            services.entry(network).or_default().push(service);
        }
        let path = path.to_owned();
        Ok(Self { path, prefixes, services, as_of, marks })
    }

    /// How many networks it has.
    pub fn networks(&self) -> usize {
        self.prefixes.len()
    }

    /// How old it is.
    pub fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.as_of).unwrap_or_default()
    }

    /// Whether it is young enough to accuse by: less than seven days old.
    pub fn is_recent(&self, now: SystemTime) -> bool {
        now.duration_since(self.as_of).map_or_else(|ahead| ahead.duration() < SKEW, |age| age < RECENT)
    }

    /// What it says of `address` for the crawler of these names. The most specific network counts; one that is for a
    /// service of another crawler is not this one's.
    pub(super) fn answer(&self, address: IpAddr, names: &ServiceNames, now: SystemTime) -> ProofAnswer {
        let network = self.prefixes.longest(address);
        let services = |network: &Network| self.services.get(network).map_or(&[][..], Vec::as_slice);
        match (network.is_some_and(|network| names.are_meant_by(services(&network))), self.is_recent(now)) {
            (true, _) => ProofAnswer::Yes,
            (false, true) => ProofAnswer::No,
            (false, false) => ProofAnswer::Unknown,
        }
    }

    /// The networks that are for the crawler of these names.
    pub(super) fn networks_of<'a>(&'a self, names: &'a ServiceNames) -> impl Iterator<Item = Network> + 'a {
        let services = |network: &Network| self.services.get(network).map_or(&[][..], Vec::as_slice);
        self.prefixes.networks().filter(move |network| names.are_meant_by(services(network)))
    }

    /// For which services the network around `address` is.
    pub(super) fn services(&self, address: IpAddr) -> &[Box<str>] {
        let network = self.prefixes.longest(address);
        network.and_then(|network| self.services.get(&network)).map_or(&[], Vec::as_slice)
    }

    /// The network that holds `address`, as published.
    pub(super) fn network(&self, address: IpAddr) -> Option<String> {
        self.prefixes.longest(address).map(|network| network.to_string())
    }
}

/// By which names a list may mean a crawler, and by which the others whose list it is, too.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceNames {
    pub(super) own: Vec<Box<str>>,
    pub(super) others: Vec<Box<str>>,
}

impl ServiceNames {
    /// Whether a network of these services is the crawler's. Publishers name services as they like: names that no crawler
    /// of the list goes by say nothing.
    fn are_meant_by(&self, services: &[Box<str>]) -> bool {
        let are_of = |names: &[Box<str>]| {
            services.iter().any(|service| names.iter().any(|name| name.eq_ignore_ascii_case(service)))
        };
        are_of(&self.own) || !are_of(&self.others)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError::whole(path, format!("cannot read the list: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(path: &Path, previous: Option<&Arc<RangeList>>) -> (Option<Arc<RangeList>>, Option<ConfigError>) {
        let marks = [path.to_owned(), FetchHead::path_of(path)].map(|file| {
            let marks = reading::marks_of(std::iter::once(file));
            marks.into_values().next().unwrap()
        });
        RangeList::load(path, marks.into(), previous)
    }

    fn list(path: &Path, previous: Option<&Arc<RangeList>>) -> Arc<RangeList> {
        load(path, previous).0.unwrap()
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
            let list = list(&path, None);
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
        let (list, now) = (list(&path, None), SystemTime::now());
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
        assert!(!list(&path, None).is_recent(now));
        let mut head = FetchHead::default();
        head.confirm(Some(text.as_bytes()), now.into());
        head.write(&path).unwrap();
        assert!(list(&path, None).is_recent(now), "fetched a moment ago");
        std::fs::write(&path, text.replace("192.0.2.0", "192.0.3.0")).unwrap();
        assert!(!list(&path, None).is_recent(now), "the head is that of another list");
    }

    #[test]
    fn a_bad_file_keeps_the_last_good_list_and_an_unchanged_one_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        assert_eq!(load(&path, None), (None, None));
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let good = list(&path, None);
        assert!(Arc::ptr_eq(&good, &list(&path, Some(&good))));
        std::fs::write(&path, "192.0.2.0/24\noops\n").unwrap();
        let (kept, error) = load(&path, Some(&good));
        assert!(kept.is_some_and(|kept| Arc::ptr_eq(&kept, &good)));
        let error = error.unwrap().to_string();
        assert!(error.contains("list.txt:2:1: invalid address range `oops`"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(load(&path, Some(&good)), (None, None));
    }
}
