//! Reads by what may be the same crawler though nothing proves it.
//!
//! A crawler often reads robots.txt before its address is proved, for the first request starts the proof, so
//! that read stands under its name as `unchecked` and the requests that follow as `confirmed`. Some crawlers
//! fetch by a copy that another one read. Such a read excuses, and convicts nobody.

use crate::identify::{Catalogue, ClientKind, Crawler, Proof};
use crate::record::{CountSubject, OTHER_CRAWLERS, ReadTotal, instant};
use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

/// Who reads under one name, and when last.
type NameReaders = HashMap<(ClientKind, Proof), SystemTime>;

/// All reads, by site and by name in lower case.
#[derive(Debug, Default)]
pub(super) struct NameReads(HashMap<Box<str>, HashMap<String, NameReaders>>);

impl NameReads {
    pub(super) fn note(&mut self, read: &ReadTotal) {
        let reader = &read.subject;
        let Some(name) = reader.crawler.as_deref().filter(|_| reader.proof != Proof::Contradicted) else {
            return;
        };
        let names = self.0.entry(reader.site.clone()).or_default();
        let last = names.entry(name.to_ascii_lowercase()).or_default().entry((reader.client, reader.proof));
        let at = instant(read.sum.seen.last);
        last.and_modify(|last| *last = at.max(*last)).or_insert(at);
    }

    /// The last read at the site by another subject that may be the same crawler: its name with another
    /// proof, one that shares its cache or, for a name of its own making, the rest of many such names.
    /// `None` for whoever borrows a name.
    pub(super) fn read(&self, subject: &CountSubject, known: &Catalogue) -> Option<SystemTime> {
        if subject.proof == Proof::Contradicted {
            return None;
        }
        let (names, name) = (self.0.get(&subject.site)?, subject.crawler.as_deref()?.to_ascii_lowercase());
        let rest = Some(OTHER_CRAWLERS).filter(|_| known.get(&name).is_none());
        let sharers = sharers(known, &name);
        let others = sharers.iter().map(String::as_str).chain(rest);
        let others = others.filter_map(|name| names.get(name)).flat_map(HashMap::values);
        let itself = (subject.client, subject.proof);
        let namesakes = names.get(&name).into_iter().flatten().filter(|(who, _)| **who != itself);
        others.chain(namesakes.map(|(_, last)| last)).max().copied()
    }
}

/// Who may hold the same copy of robots.txt, by name in lower case: everyone that sharing leads to. Who shares with the
/// same crawler shares with each other.
fn sharers(known: &Catalogue, name: &str) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![name.to_owned()]);
    while let Some(at) = next.pop() {
        let is_at = |name: &str| name.eq_ignore_ascii_case(&at);
        let own =
            known.get(&at).into_iter().flat_map(|crawler| &crawler.shares_cache_with).map(|name| &**name);
        let with = |crawler: &&Crawler| crawler.shares_cache_with.iter().any(|other| is_at(other));
        let others = known.crawlers().iter().filter(with).map(|crawler| &*crawler.name);
        let names = own.chain(others).map(str::to_ascii_lowercase);
        next.extend(names.filter(|other| found.insert(other.clone())));
    }
    found.remove(name);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::VersionId;
    use crate::identify::{Obeys, Purpose, TokenBasis, Verify};
    use crate::record::{ReadKey, ReadSum, SeenInstants, micros};
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    fn subject(site: &str, name: &str, proof: Proof) -> CountSubject {
        let (client, crawler) = (ClientKind::Crawler, Some(name.into()));
        CountSubject { site: site.into(), client, crawler, purpose: None, proof }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn read(subject: CountSubject, seconds: u64) -> ReadTotal {
        let rules = crate::decide::RobotsVersion::allowing_everything().rules;
        let seen = SeenInstants::once(micros(at(seconds)));
        ReadTotal {
            subject: Arc::new(subject),
            key: ReadKey {
                version: VersionId::of(b"a"),
                in_force: 0,
                host: "a".into(),
                network: None,
                chosen: None,
            },
            sum: ReadSum { rules, seen, as_of: 0, at: 0 },
        }
    }

    fn known() -> Catalogue {
        let crawler = |name: &str, shares: &[&str]| Crawler {
            name: name.into(),
            operator: None,
            client: ClientKind::Crawler,
            purpose: Purpose::Search,
            signs: Vec::new(),
            framework: false,
            tokens: Arc::new([]),
            star: true,
            obeys: Obeys::Unknown,
            docs: None,
            checked: None,
            verify: Verify::default(),
            shares_cache_with: shares.iter().map(|name| Box::from(*name)).collect(),
            card: None,
            basis: TokenBasis::Inferred,
        };
        let crawlers = vec![
            crawler("Main", &[]),
            crawler("Image", &["Main"]),
            crawler("News", &["main"]),
            crawler("Other", &[]),
        ];
        Catalogue::new(crawlers, Vec::new())
    }

    #[test]
    fn a_read_excuses_its_namesake_and_who_shares_its_cache() {
        let mut kin = NameReads::default();
        kin.note(&read(subject("a", "Image", Proof::Unchecked), 7));
        let of = |site: &str, name: &str, proof| kin.read(&subject(site, name, proof), &known());
        assert_eq!(of("a", "image", Proof::Confirmed), Some(at(7)), "its proof came later");
        assert_eq!(of("a", "Image", Proof::Unchecked), None, "that is its own");
        assert_eq!(of("a", "Main", Proof::Confirmed), Some(at(7)));
        assert_eq!(of("a", "News", Proof::Confirmed), Some(at(7)), "by way of the one both share with");
        assert_eq!(of("a", "Other", Proof::Confirmed), None);
        assert_eq!(of("b", "Image", Proof::Confirmed), None, "another site's file");
        assert_eq!(of("a", "Image", Proof::Contradicted), None);
    }

    #[test]
    fn who_borrows_a_name_reads_for_nobody() {
        let mut kin = NameReads::default();
        kin.note(&read(subject("a", "Main", Proof::Contradicted), 7));
        assert_eq!(kin.read(&subject("a", "Main", Proof::Confirmed), &known()), None);
    }

    #[test]
    fn a_name_of_its_own_making_may_be_among_the_rest() {
        let mut kin = NameReads::default();
        kin.note(&read(subject("a", OTHER_CRAWLERS, Proof::Unchecked), 7));
        assert_eq!(kin.read(&subject("a", "madeupbot", Proof::Unchecked), &known()), Some(at(7)));
        assert_eq!(kin.read(&subject("a", "Main", Proof::Unchecked), &known()), None);
    }
}
