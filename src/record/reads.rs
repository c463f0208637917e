//! Who read which version of a robots.txt, and when.
//!
//! Kept in memory and bounded: when it is full, the reader seen longest ago is forgotten, which can only
//! turn `read` into `lapsed`, never an innocent client into a guilty one before its notice is over.

use super::store::{OTHER_PATHS, ReadTotal};
use super::tally::OTHER_CRAWLERS;
use crate::decide::{Read, VersionId};
use crate::identify::{Client, Identity, Proof};
use crate::request::address::Network;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many readers are remembered.
const READERS: usize = 65_536;

/// How many reads of one reader are remembered.
const READS_PER_READER: usize = 32;

/// Who a read counts for: the same crawler on the same host with the same proof and, while nothing
/// proves who it is, only in the same network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader<'a> {
    site: Cow<'a, str>,
    host: Cow<'a, str>,
    client: Client,
    crawler: Option<Cow<'a, str>>,
    proof: Proof,
    network: Option<Network>,
}

impl<'a> Reader<'a> {
    /// The reader that a request of `identity` to `host` belongs to.
    #[must_use]
    pub fn new(
        site: &'a str,
        host: &'a str,
        identity: &'a Identity,
        proof: Proof,
        address: Option<IpAddr>,
    ) -> Self {
        let network = match (proof, &identity.crawler) {
            (Proof::Confirmed | Proof::Contradicted, _) => None,
            (Proof::Unchecked, Some(_)) => address.map(|address| Network::around(address, 24, 48)),
            // Without a name, neighbours are strangers to each other.
            (Proof::Unchecked, None) => address.map(|address| Network::around(address, 32, 128)),
        };
        let (site, host) = (Cow::Borrowed(site), Cow::Borrowed(host));
        let crawler = identity.crawler.as_deref().map(Cow::Borrowed);
        Self { site, host, client: identity.client, crawler, proof, network }
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_owned(self) -> Reader<'static> {
        let owned = |name: Cow<'_, str>| Cow::Owned(name.into_owned());
        Reader {
            site: owned(self.site),
            host: owned(self.host),
            crawler: self.crawler.map(owned),
            client: self.client,
            proof: self.proof,
            network: self.network,
        }
    }

    pub(super) fn site(&self) -> &str {
        &self.site
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) const fn proof(&self) -> Proof {
        self.proof
    }

    pub(super) const fn network(&self) -> Option<Network> {
        self.network
    }

    /// The reader that the store remembers; `None` for the rest of many, whom nobody can be told from.
    fn remembered(read: &'a ReadTotal) -> Option<Self> {
        let subject = &read.subject;
        let network = read.network.as_deref().map(str::parse).transpose().ok()?;
        let is_rest = *read.host == *OTHER_PATHS || subject.crawler.as_deref() == Some(OTHER_CRAWLERS);
        // Where addresses are not kept, nothing tells an unproven reader from another.
        let is_anyone = subject.proof == Proof::Unchecked && network.is_none();
        (!is_rest && !is_anyone).then(|| Self {
            site: Cow::Borrowed(&subject.site),
            host: Cow::Borrowed(&read.host),
            client: subject.client,
            crawler: subject.crawler.as_deref().map(Cow::Borrowed),
            proof: subject.proof,
            network,
        })
    }
}

#[derive(Debug, Default)]
struct History {
    reads: Vec<Read>,
    last: Option<SystemTime>,
}

/// Asked for each judged request; its hasher is seeded, and several times as fast as the standard library's. How many
/// readers there are is bounded.
type Readers = HashMap<Reader<'static>, History>;

/// The reads of all sites.
#[derive(Debug, Default)]
pub struct ReadBook {
    readers: Mutex<Readers>,
}

impl ReadBook {
    /// Notes that `reader` was given `version`, which has been in force since `in_force`.
    pub fn note(&self, reader: Reader<'_>, version: VersionId, in_force: SystemTime, now: SystemTime) {
        let reader = reader.into_owned();
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() >= READERS && !readers.contains_key(&reader) {
            forget_oldest(&mut readers);
        }
        let history = readers.entry(reader).or_default();
        history.last = Some(now);
        // A read in the very moment of a change leaves open which version came first, so a later one counts.
        let known = history.reads.last().is_some_and(|read| read.version == version && read.at > in_force);
        if known {
            return;
        }
        if history.reads.len() >= READS_PER_READER {
            history.reads.remove(0);
        }
        history.reads.push(Read { version, at: now });
    }

    /// Takes up what was read before the gateway started, oldest first.
    pub fn take_up(&self, reads: &[ReadTotal]) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        for read in reads {
            let Some(reader) = Reader::remembered(read).map(Reader::into_owned) else { continue };
            if readers.len() >= READERS && !readers.contains_key(&reader) {
                continue;
            }
            let history = readers.entry(reader).or_default();
            history.last = history.last.max(Some(read.last));
            if history.reads.len() >= READS_PER_READER {
                history.reads.remove(0);
            }
            history.reads.push(Read { version: read.version, at: read.first });
        }
    }

    /// What `reader` has read, oldest first.
    #[must_use]
    pub fn of(&self, reader: &Reader<'_>) -> Vec<Read> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let readers: &HashMap<Reader<'_>, History> = &readers;
        readers.get(reader).map_or_else(Vec::new, |history| history.reads.clone())
    }

    /// How many different crawlers have read `version` of `site`. Fetchers, tools and the like are none.
    #[must_use]
    pub fn readers_of(&self, site: &str, version: VersionId) -> usize {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let has_read = |history: &History| history.reads.iter().any(|read| read.version == version);
        // Who borrows a name has not read anything in it.
        let is_crawler = |reader: &Reader<'_>| {
            matches!(reader.client, Client::Crawler | Client::SpecialCase)
                && reader.proof != Proof::Contradicted
        };
        let crawlers: HashSet<Option<&str>> = readers
            .iter()
            .filter(|(reader, history)| reader.site == site && is_crawler(reader) && has_read(history))
            .map(|(reader, _)| reader.crawler.as_deref())
            .collect();
        crawlers.len()
    }
}

/// Makes room for many newcomers at once, so that the search is paid for rarely.
fn forget_oldest(readers: &mut Readers) {
    let mut times: Vec<Option<SystemTime>> = readers.values().map(|history| history.last).collect();
    let quarter = times.len() / 4;
    let (_, bound, _) = times.select_nth_unstable(quarter);
    let bound = *bound;
    readers.retain(|_, history| history.last > bound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::Basis;
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    fn identity(client: Client, crawler: &str) -> Identity {
        let (crawler, tokens) = (Some(crawler.into()), Arc::new([]));
        Identity { client, crawler, purpose: None, tokens, star: true, basis: Basis::Catalogue }
    }

    fn reader(crawler: &str, proof: Proof, address: &str) -> Reader<'static> {
        let identity = identity(Client::Crawler, crawler);
        Reader::new("example.org", "example.org", &identity, proof, address.parse().ok()).into_owned()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn repeated_reads_of_an_unchanged_file_keep_the_first_time() {
        let book = ReadBook::default();
        let (version, who) = (VersionId::of(b"a"), reader("GPTBot", Proof::Unchecked, "192.0.2.1"));
        book.note(who.clone(), version, at(0), at(10));
        book.note(who.clone(), version, at(0), at(20));
        assert_eq!(book.of(&who), [Read { version, at: at(10) }]);
    }

    #[test]
    fn a_version_that_came_back_is_a_new_read() {
        let book = ReadBook::default();
        let (version, who) = (VersionId::of(b"a"), reader("GPTBot", Proof::Unchecked, "192.0.2.1"));
        book.note(who.clone(), version, at(0), at(10));
        book.note(who.clone(), version, at(15), at(20));
        assert_eq!(book.of(&who).len(), 2);
    }

    #[test]
    fn an_unproven_read_counts_for_its_network_only() {
        let book = ReadBook::default();
        let version = VersionId::of(b"a");
        book.note(reader("GPTBot", Proof::Unchecked, "192.0.2.1"), version, at(0), at(10));
        assert_eq!(book.of(&reader("GPTBot", Proof::Unchecked, "192.0.2.200")).len(), 1);
        assert!(book.of(&reader("GPTBot", Proof::Unchecked, "192.0.3.1")).is_empty());
        assert!(book.of(&reader("GPTBot", Proof::Confirmed, "192.0.2.1")).is_empty());
        book.note(reader("GPTBot", Proof::Confirmed, "192.0.2.1"), version, at(0), at(10));
        assert_eq!(book.of(&reader("GPTBot", Proof::Confirmed, "203.0.113.1")).len(), 1);
    }

    #[test]
    fn readers_are_counted_by_crawler() {
        let book = ReadBook::default();
        let version = VersionId::of(b"a");
        for address in ["192.0.2.1", "198.51.100.1"] {
            book.note(reader("GPTBot", Proof::Unchecked, address), version, at(0), at(10));
        }
        book.note(reader("bingbot", Proof::Unchecked, "192.0.2.1"), version, at(0), at(10));
        let tool = identity(Client::Tool, "curl");
        book.note(Reader::new("example.org", "h", &tool, Proof::Unchecked, None), version, at(0), at(10));
        assert_eq!(book.readers_of("example.org", version), 2);
        assert_eq!(book.readers_of("example.com", version), 0);
        assert_eq!(book.readers_of("example.org", VersionId::of(b"b")), 0);
    }

    #[test]
    fn the_book_is_bounded() {
        let book = ReadBook::default();
        let version = VersionId::of(b"a");
        for number in 0..(READERS as u64 + 10) {
            let who = reader(&number.to_string(), Proof::Confirmed, "192.0.2.1");
            book.note(who, version, at(0), at(number));
        }
        let readers = book.readers.lock().unwrap();
        assert!(readers.len() <= READERS);
        assert!(readers.contains_key(&reader(&READERS.to_string(), Proof::Confirmed, "192.0.2.1")));
    }
}
