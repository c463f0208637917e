//! Who read which version of a robots.txt, and when.
//!
//! Kept in memory and bounded: when it is full, the reader seen longest ago is forgotten, which can only
//! turn `read` into `lapsed`, never an innocent client into a guilty one before its notice is over.

use super::robots_seen::RobotsTxtSpans;
use super::store::{OTHER_PATHS, ReadTotal};
use super::tally::OTHER_CRAWLERS;
use crate::decide::{NoticeTime, Read, RulesId};
use crate::identify::{ClientKind, Identity, Proof};
use crate::request::address::Network;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashSet;
use std::net::IpAddr;

/// How many readers are remembered.
const READERS: usize = 65_536;

/// How many reads of one reader are remembered.
const READS_PER_READER: usize = 32;

/// Who a read counts for: the same crawler on the same host with the same proof and, while nothing
/// proves who it is, only in the same network. The host may move from site to site. A name is the same crawler whatever kind
/// of client it comes as: an agent that signs may read robots.txt under its own header and fetch behind a browser's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReaderId<'a> {
    /// The host.
    pub host: Cow<'a, str>,
    /// What tells clients without a name from each other.
    client: Option<ClientKind>,
    crawler: Option<Cow<'a, str>>,
    pub(super) proof: Proof,
    /// The network that it is known by, where nothing proves its name.
    pub network: Option<Network>,
}

impl<'a> ReaderId<'a> {
    /// The reader that a request of `identity` to `host` belongs to.
    pub fn new(host: &'a str, identity: &'a Identity, proof: Proof, address: Option<IpAddr>) -> Self {
        let network = match (proof, &identity.crawler) {
            (Proof::Confirmed, _) => None,
            (Proof::Unchecked | Proof::Contradicted, Some(_)) => {
                address.map(|address| Network::around(address, 24, 48))
            }
            // Without a name, neighbours are strangers to each other.
            (Proof::Unchecked | Proof::Contradicted, None) => {
                address.map(|address| Network::around(address, 32, 128))
            }
        };
        let crawler = identity.crawler.as_deref().map(Cow::Borrowed);
        let client = Some(identity.client).filter(|_| crawler.is_none());
        Self { host: Cow::Borrowed(host), client, crawler, proof, network }
    }

    /// The same, to keep.
    pub fn into_owned(self) -> ReaderId<'static> {
        let owned = |name: Cow<'_, str>| Cow::Owned(name.into_owned());
        let Self { host, client, crawler, proof, network } = self;
        ReaderId { host: owned(host), client, crawler: crawler.map(owned), proof, network }
    }

    /// The reader that the store remembers; `None` for the rest of many, whom nobody can be told from.
    fn remembered(read: &'a ReadTotal) -> Option<Self> {
        let subject = &read.subject;
        let network = read.key.network.as_deref().map(str::parse).transpose().ok()?;
        let is_rest = *read.key.host == *OTHER_PATHS || subject.crawler.as_deref() == Some(OTHER_CRAWLERS);
        // Where addresses are not kept, nothing tells an unproven reader from another.
        let is_anyone = subject.proof != Proof::Confirmed && network.is_none();
        (!is_rest && !is_anyone).then(|| Self {
            host: Cow::Borrowed(&read.key.host),
            client: Some(subject.client).filter(|_| subject.crawler.is_none()),
            crawler: subject.crawler.as_deref().map(Cow::Borrowed),
            proof: subject.proof,
            network,
        })
    }
}

/// The reads of one reader, and when the last of all was: that may have been a further one of what it had read last.
#[derive(Debug, Default)]
struct ReadHistory {
    reads: Vec<Read>,
    last: NoticeTime,
    /// Whether it ever read as a crawler, and not as a fetcher, a tool or the like.
    is_crawler: bool,
}

impl ReadHistory {
    /// A further read of what it has read already adds nothing, unless a version was replaced in between.
    fn note(&mut self, read: Read) {
        self.last = self.last.max(read.at);
        let is_same = |last: &Read| last.rules == read.rules && last.as_of >= read.as_of;
        if self.reads.last().is_some_and(is_same) {
            return;
        }
        if self.reads.len() >= READS_PER_READER {
            self.reads.remove(0);
        }
        self.reads.push(read);
    }

    fn all(&self) -> Vec<Read> {
        let again = self.reads.last().filter(|read| read.at < self.last);
        let again = again.map(|read| Read { at: self.last, ..*read });
        self.reads.iter().copied().chain(again).collect()
    }
}

/// Asked for each judged request; its hasher is seeded, and several times as fast as the standard library's. How many
/// readers there are is bounded.
type ReaderMap = HashMap<ReaderId<'static>, ReadHistory>;

/// The reads of all hosts.
#[derive(Debug, Default)]
pub struct ReadBook {
    readers: Mutex<ReaderMap>,
    /// Through which other proxies they come.
    pub robots_seen: RobotsTxtSpans,
}

impl ReadBook {
    /// Notes a read by this kind of client, whose answer has just arrived. Where it took so long that the reader has read
    /// another file meanwhile, the former one is what it has now: what it read since says nothing of that.
    pub fn note(&self, reader: ReaderId<'_>, client: ClientKind, read: Read) {
        let reader = reader.into_owned();
        let mut readers = self.readers.lock();
        if let Some(history) = readers.get_mut(&reader) {
            history.reads.retain(|known| known.as_of <= read.as_of || known.rules == read.rules);
        }
        note(&mut readers, reader, client, read);
    }

    /// Takes up what was read before the gateway started.
    pub fn restore(&self, reads: &[ReadTotal]) {
        let mut reads: Vec<&ReadTotal> = reads.iter().collect();
        reads.sort_by_key(|read| read.sum.as_of);
        for read in reads {
            if let Some(reader) = ReaderId::remembered(read) {
                // Requests that are judged meanwhile wait for one of them at most.
                note(&mut self.readers.lock(), reader.into_owned(), read.subject.client, read.read());
            }
        }
    }

    /// What `reader` has read, oldest first; a version that it read again without a change in between the first time and
    /// the last.
    pub fn of(&self, reader: &ReaderId<'_>) -> Vec<Read> {
        let readers = self.readers.lock();
        let readers: &HashMap<ReaderId<'_>, ReadHistory> = &readers;
        readers.get(reader).map_or_else(Vec::new, ReadHistory::all)
    }

    /// How many different crawlers have read these rules on hosts for which `is_host` holds. Fetchers, tools and the
    /// like are none.
    pub fn readers_of(&self, rules: RulesId, is_host: impl Fn(&str) -> bool) -> usize {
        let readers = self.readers.lock();
        let has_read = |history: &ReadHistory| history.reads.iter().any(|read| read.rules == rules);
        let crawlers: HashSet<Option<&str>> = readers
            .iter()
            .filter(|(_, history)| history.is_crawler && has_read(history))
            // Who borrows a name has not read anything in it.
            .filter(|(reader, _)| reader.proof != Proof::Contradicted && is_host(&reader.host))
            .map(|(reader, _)| reader.crawler.as_deref())
            .collect();
        crawlers.len()
    }
}

fn note(readers: &mut ReaderMap, reader: ReaderId<'static>, client: ClientKind, read: Read) {
    if readers.len() >= READERS && !readers.contains_key(&reader) {
        // Any one: what is forgotten only excuses.
        let _ = readers.extract_if(|_, _| true).next();
    }
    let history = readers.entry(reader).or_default();
    history.is_crawler |= matches!(client, ClientKind::Crawler | ClientKind::SpecialCase);
    history.note(read);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::RobotsVersion;
    use crate::identify::Basis;
    use crate::robots::{ParseLimits, Robots};
    use std::sync::Arc;
    use std::time::Duration;

    fn identity(client: ClientKind, crawler: &str) -> Identity {
        let (crawler, tokens) = (Some(crawler.into()), Arc::new([]));
        Identity { client, crawler, purpose: None, tokens, star: true, basis: Basis::Catalogue }
    }

    fn reader(crawler: &str, proof: Proof, address: &str) -> ReaderId<'static> {
        let identity = identity(ClientKind::Crawler, crawler);
        ReaderId::new("example.org", &identity, proof, address.parse().ok()).into_owned()
    }

    /// A read of what allows everything.
    fn read(as_of: u64, second: u64) -> Read {
        let rules = RobotsVersion::allowing_everything().rules;
        Read {
            rules,
            as_of: NoticeTime(Duration::from_secs(as_of)),
            at: NoticeTime(Duration::from_secs(second)),
        }
    }

    #[test]
    fn repeated_reads_of_an_unchanged_file_keep_the_first_time_and_the_last() {
        let book = ReadBook::default();
        let who = reader("GPTBot", Proof::Unchecked, "192.0.2.1");
        book.note(who.clone(), ClientKind::Crawler, read(1, 10));
        book.note(who.clone(), ClientKind::Crawler, read(1, 20));
        book.note(who.clone(), ClientKind::Crawler, read(1, 30));
        assert_eq!(book.of(&who), [read(1, 10), read(1, 30)]);
    }

    #[test]
    fn a_version_that_came_back_is_a_new_read() {
        let book = ReadBook::default();
        let who = reader("GPTBot", Proof::Unchecked, "192.0.2.1");
        book.note(who.clone(), ClientKind::Crawler, read(1, 10));
        book.note(who.clone(), ClientKind::Crawler, read(3, 20));
        assert_eq!(book.of(&who), [read(1, 10), read(3, 20)]);
    }

    #[test]
    fn an_answer_that_arrives_after_that_of_the_next_file_is_what_the_reader_has() {
        let book = ReadBook::default();
        let who = reader("GPTBot", Proof::Unchecked, "192.0.2.1");
        let new = Robots::parse(b"User-agent: *\nDisallow: /new\n", &ParseLimits::default()).robots;
        let new = Read { rules: RulesId::of(&new), ..read(3, 20) };
        book.note(who.clone(), ClientKind::Crawler, new);
        book.note(who.clone(), ClientKind::Crawler, read(1, 10));
        assert_eq!(book.of(&who).iter().map(|read| read.as_of).max(), Some(read(1, 10).as_of));
        book.note(who.clone(), ClientKind::Crawler, new);
        assert_eq!(book.of(&who).last(), Some(&new), "until it reads the new one again");
    }

    #[test]
    fn a_read_that_nothing_proves_counts_for_its_network_only() {
        let book = ReadBook::default();
        for proof in [Proof::Unchecked, Proof::Contradicted] {
            book.note(reader("GPTBot", proof, "192.0.2.1"), ClientKind::Crawler, read(1, 10));
            assert_eq!(book.of(&reader("GPTBot", proof, "192.0.2.200")).len(), 1);
            assert!(book.of(&reader("GPTBot", proof, "192.0.3.1")).is_empty());
        }
        assert!(book.of(&reader("GPTBot", Proof::Confirmed, "192.0.2.1")).is_empty());
        book.note(reader("GPTBot", Proof::Confirmed, "192.0.2.1"), ClientKind::Crawler, read(1, 10));
        assert_eq!(book.of(&reader("GPTBot", Proof::Confirmed, "203.0.113.1")).len(), 1);
    }

    #[test]
    fn a_name_is_one_reader_whatever_kind_of_client_it_comes_as() {
        let book = ReadBook::default();
        let of = |client, crawler: Option<&str>| {
            let identity = Identity { crawler: crawler.map(Into::into), ..identity(client, "") };
            ReaderId::new("example.org", &identity, Proof::Confirmed, None).into_owned()
        };
        let (fetcher, crawler) =
            (of(ClientKind::Fetcher, Some("Signer")), of(ClientKind::Crawler, Some("Signer")));
        book.note(fetcher.clone(), ClientKind::Fetcher, read(1, 10));
        assert_eq!(book.readers_of(read(1, 10).rules, |_| true), 0);
        book.note(crawler.clone(), ClientKind::Crawler, read(1, 20));
        assert_eq!((book.of(&fetcher).len(), book.of(&crawler).len()), (2, 2));
        assert_eq!(book.readers_of(read(1, 10).rules, |_| true), 1);
        // Without a name, the kind is all that there is.
        book.note(of(ClientKind::Tool, None), ClientKind::Tool, read(1, 10));
        assert!(book.of(&of(ClientKind::Unnamed, None)).is_empty());
    }

    #[test]
    fn readers_are_counted_by_crawler() {
        let book = ReadBook::default();
        for address in ["192.0.2.1", "198.51.100.1"] {
            book.note(reader("GPTBot", Proof::Unchecked, address), ClientKind::Crawler, read(1, 10));
        }
        book.note(reader("bingbot", Proof::Unchecked, "192.0.2.1"), ClientKind::Crawler, read(1, 10));
        let tool = identity(ClientKind::Tool, "curl");
        book.note(ReaderId::new("example.org", &tool, Proof::Unchecked, None), ClientKind::Tool, read(1, 10));
        let rules = read(1, 10).rules;
        assert_eq!(book.readers_of(rules, |host| host == "example.org"), 2);
        assert_eq!(book.readers_of(rules, |_| false), 0);
    }

    #[test]
    fn a_full_book_takes_up_what_is_new_and_keeps_the_most() {
        let book = ReadBook::default();
        for number in 0..READERS {
            book.note(
                reader(&number.to_string(), Proof::Confirmed, "192.0.2.1"),
                ClientKind::Crawler,
                read(1, 10),
            );
        }
        let subject = "{\"site\":\"example.org\",\"crawler\":\"GPTBot\",\"client\":\"crawler\",\"purpose\":null,\"proof\":\"confirmed\"}";
        let rules = read(1, 10).rules.to_string();
        let new = ReadTotal::of_member(subject, ["000000000000", "example.org", ""], &rules).unwrap();
        book.restore(&[new]);
        assert_eq!(book.of(&reader("GPTBot", Proof::Confirmed, "192.0.2.1")).len(), 1);
        // All are of one moment.
        assert!(book.readers.lock().len() > READERS / 2);
    }

    #[test]
    fn the_book_is_bounded() {
        let book = ReadBook::default();
        for number in 0..(READERS as u64 + 10) {
            book.note(
                reader(&number.to_string(), Proof::Confirmed, "192.0.2.1"),
                ClientKind::Crawler,
                read(1, number),
            );
        }
        let readers = book.readers.lock();
        assert!(readers.len() <= READERS);
        assert!(readers.contains_key(&reader(&READERS.to_string(), Proof::Confirmed, "192.0.2.1")));
    }
}
