//! One list of address ranges on disk: its networks, and how old it may be taken to be.

use super::answer::ProofAnswer;
use crate::config::ranges::{self, RangeFile};
use crate::identify::{Catalogue, Crawler};
use crate::policy::PublishedKind;
use crate::policy::fetched::KeptFile;
use crate::request::address::Network;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Lists are accused by only while they are younger. Operators move addresses, and publish when they do.
const RECENT: Duration = Duration::from_secs(7 * 86_400);

/// How far a clock may be behind that of whoever wrote a list.
const SKEW: Duration = Duration::from_secs(86_400);

/// A list of address ranges, there or not.
pub type RangeList = KeptFile<RangeFile>;

impl RangeList {
    /// Reads the list at `path`. Where that is no list, `former` still counts.
    pub(super) fn load(path: &Path, former: Option<&Self>) -> Self {
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
    pub(super) fn answer(&self, address: IpAddr, names: &ServiceNames, now: SystemTime) -> ProofAnswer {
        let is_its = self.found(address).is_some_and(|(_, services)| names.are_meant_by(services));
        match (is_its, self.is_recent(now)) {
            (true, _) => ProofAnswer::Yes,
            (false, true) => ProofAnswer::No,
            (false, false) => ProofAnswer::Unknown,
        }
    }

    /// The networks that are for the crawler of these names.
    pub(super) fn networks_of<'a>(&'a self, names: &'a ServiceNames) -> impl Iterator<Item = Network> + 'a {
        let networks = self.held.iter().flat_map(|file| file.networks.networks());
        networks.filter(move |network| names.are_meant_by(self.services_of(network)))
    }

    /// The network that holds `address`, and for which services it is.
    pub(super) fn found(&self, address: IpAddr) -> Option<(Network, &[Box<str>])> {
        let network = self.held.as_ref()?.networks.longest(address)?;
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
    pub(super) fn of(crawler: &Crawler, catalogue: &Catalogue) -> Self {
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
