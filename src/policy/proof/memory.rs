//! What name servers said, remembered for a while, and how many questions are open: bounded, without clock.

use super::answer::{KnownNames, ProofAnswer::Unknown};
use crate::request::address::Network;
use quick_cache::unsync::Cache;
use smart_default::SmartDefault;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many addresses are remembered: some megabytes, and more than all crawlers of a busy site have. Of a /64 anybody who
/// has one has more than there is memory: those that were asked for once only go first.
const MOST: usize = 16_384;

/// How many addresses may be asked about at a time.
const OPEN: usize = 1_024;

/// How many of one network, so that it cannot starve the others.
const OPEN_OF_NETWORK: usize = 32;

/// How long after a question the next one about the same address waits, unless an answer came; and how long names are
/// remembered of which nobody could tell whether they lead back.
const RETRY: Duration = Duration::from_secs(60);

/// No answer is remembered for longer, whatever the operator wrote.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// Which address is asked about, and which name servers are asked; none are those of the system.
pub(super) type NameQuestion = (IpAddr, Vec<SocketAddr>);

#[derive(Clone, Debug)]
struct RememberedAnswer {
    names: KnownNames,
    /// From then on it is asked again, while it still counts.
    renew: Instant,
    end: Instant,
}

/// How many questions there were, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    /// A name server answered, be it that there is no name.
    pub answered: u64,
    /// None answered in time, or the answer was no use.
    pub failed: u64,
    /// Not asked, because too many were waiting.
    pub left: u64,
}

/// Answers, and the questions that are open.
#[derive(Debug, SmartDefault)]
pub(super) struct ProofMemory {
    #[default(Cache::new(MOST))]
    entries: Cache<NameQuestion, RememberedAnswer>,
    /// Owned once here, and once by the open question about the address.
    open: HashMap<IpAddr, Arc<()>>,
    /// Why denials mean nothing, where that is so.
    pub(super) doubt: Option<String>,
    pub(super) counts: QuestionCounts,
}

impl ProofMemory {
    /// What is known, and where the caller is to ask, the place of this question. It is open until that is dropped.
    pub(super) fn find(&mut self, of: &NameQuestion, now: Instant) -> (Option<KnownNames>, Option<Arc<()>>) {
        let nothing = || RememberedAnswer { names: Arc::default(), renew: now, end: now };
        let mut entry = self.entries.get(of).cloned().unwrap_or_else(nothing);
        let known = (now < entry.end).then(|| Arc::clone(&entry.names));
        let place = if now < entry.renew { None } else { self.place(of.0) };
        if place.is_some() {
            entry.renew = now + RETRY;
            self.entries.insert(of.clone(), entry);
        }
        (known, place)
    }

    /// A place for a question, where there is one and none is open about the address. The addresses that one host may have
    /// at will share theirs: a /64, or where IPv4 is scarce a /24.
    fn place(&mut self, address: IpAddr) -> Option<Arc<()>> {
        self.open.retain(|_, place| Arc::strong_count(place) > 1);
        let is_open = self.open.contains_key(&address);
        if !is_open && self.open.len() >= OPEN {
            self.counts.left += 1;
            return None;
        }
        let network = Network::around(address, 24, 64);
        let others = self.open.keys().filter(|other| Network::around(**other, 24, 64) == network).count();
        (!is_open && others < OPEN_OF_NETWORK).then(|| Arc::clone(self.open.entry(address).or_default()))
    }

    /// Remembers an answer. One of which nobody could tell whether it proves anything displaces none that still counts.
    pub(super) fn store(&mut self, of: NameQuestion, names: KnownNames, lifetime: Duration, now: Instant) {
        let is_sure = |names: &KnownNames| names.iter().map(|name| name.leads_back).max() != Some(Unknown);
        let lifetime = lifetime.min(if is_sure(&names) { LONGEST } else { RETRY });
        // A fifth before its end it is renewed, so that an address in use is never without an answer.
        let (renew, end) = (now + lifetime / 5 * 4, now + lifetime);
        let counts = |known: &RememberedAnswer| now < known.end && is_sure(&known.names);
        if is_sure(&names) || !self.entries.get(&of).is_some_and(counts) {
            self.entries.insert(of, RememberedAnswer { names, renew, end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{ProofAnswer, ReverseName};
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn about(number: u32) -> NameQuestion {
        (IpAddr::V4(Ipv4Addr::from(number)), Vec::new())
    }

    fn about_v6(last: u128) -> NameQuestion {
        (IpAddr::V6(Ipv6Addr::from((0x2a01_04f8_u128 << 96) + last)), Vec::new())
    }

    const LIFETIME: Duration = Duration::from_secs(1_000);

    impl ProofMemory {
        /// What is known, and whether the caller is to ask: the question is over at once.
        fn known(&mut self, question: &NameQuestion, now: Instant) -> (Option<KnownNames>, bool) {
            let (known, place) = self.find(question, now);
            (known, place.is_some())
        }
    }

    #[test]
    fn one_asks_at_a_time_and_again_after_a_while_whatever_became_of_the_question() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        assert_eq!(memory.known(&about(1), now), (None, true));
        assert_eq!(memory.known(&about(1), now), (None, false));
        assert_eq!(memory.known(&about(2), now), (None, true));
        assert_eq!(memory.known(&about(1), now + RETRY), (None, true));
    }

    #[test]
    fn a_question_that_waits_for_long_is_not_asked_a_second_time() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let place = memory.find(&about(1), now).1;
        assert!(place.is_some());
        for waited in 1..=2_000 {
            assert_eq!(memory.known(&about(1), now + RETRY * waited), (None, false));
        }
        assert_eq!((memory.open.len(), memory.counts.left), (1, 0));
        drop(place);
        assert_eq!(memory.known(&about(1), now + RETRY), (None, true));
    }

    #[test]
    fn names_of_which_nobody_could_tell_more_count_for_a_while_and_displace_no_answer() {
        let names = |leads_back: &[ProofAnswer]| -> KnownNames {
            let name = |leads_back| ReverseName { host: "crawl-1.baidu.com".into(), leads_back };
            Arc::new(leads_back.iter().copied().map(name).collect())
        };
        let (mut memory, start) = (ProofMemory::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let unsure = || names(&[ProofAnswer::No, Unknown]);
        memory.store(about(1), unsure(), LIFETIME, start);
        assert_eq!(memory.known(&about(1), at(47)), (Some(unsure()), false));
        assert_eq!(memory.known(&about(1), at(48)), (Some(unsure()), true));
        memory.store(about(1), unsure(), LIFETIME, at(49));
        assert_eq!(memory.known(&about(1), at(96)), (Some(unsure()), false));
        assert_eq!(memory.known(&about(1), at(109)), (None, true));
        for sure in [names(&[]), names(&[ProofAnswer::No]), names(&[Unknown, ProofAnswer::Yes])] {
            memory.store(about(1), unsure(), LIFETIME, at(49));
            memory.store(about(1), sure.clone(), LIFETIME, at(50));
            memory.store(about(1), unsure(), LIFETIME, at(1_049));
            assert_eq!(memory.known(&about(1), at(1_049)).0, Some(sure));
            memory.store(about(1), unsure(), LIFETIME, at(1_050));
            assert_eq!(memory.known(&about(1), at(1_050)).0, Some(unsure()));
        }
    }

    #[test]
    fn an_answer_counts_until_its_end_and_is_renewed_before() {
        let (mut memory, start) = (ProofMemory::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        memory.store(about(1), Arc::default(), LIFETIME, start);
        assert_eq!(memory.known(&about(1), at(799)), (Some(Arc::default()), false));
        assert_eq!(memory.known(&about(1), at(900)), (Some(Arc::default()), true));
        // A failure does not displace what is known, and nobody asks again at once.
        assert_eq!(memory.known(&about(1), at(959)), (Some(Arc::default()), false));
        assert_eq!(memory.known(&about(1), at(960)), (Some(Arc::default()), true));
        assert_eq!(memory.known(&about(1), at(1_020)), (None, true));
    }

    #[test]
    fn one_network_cannot_starve_the_others() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let mut of_v6: Vec<_> = (0..1_000).filter_map(|last| memory.find(&about_v6(last), now).1).collect();
        assert_eq!(of_v6.len(), OPEN_OF_NETWORK);
        let of_v4 = (0..256).filter_map(|last| memory.find(&about(0x5fd8_e300 + last), now).1);
        let of_v4: Vec<_> = of_v4.collect();
        assert_eq!(of_v4.len(), OPEN_OF_NETWORK);
        assert!(memory.known(&about(0x42f9_4201), now).1, "another network");
        of_v6.pop();
        let next = memory.find(&about_v6(2_000), now).1;
        assert!(next.is_some() && memory.find(&about_v6(2_001), now).1.is_none());
    }

    #[test]
    fn questions_are_bounded_and_those_that_are_left_are_counted() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let mut ask = |network: u32| memory.find(&about(network << 8), now).1;
        let open: Vec<_> = (0..2_000).filter_map(&mut ask).collect();
        assert_eq!(open.len(), OPEN);
        drop(open);
        assert!(ask(1_999).is_some(), "it was left, and not asked");
        assert_eq!(memory.counts.left, 2_000 - OPEN as u64);
    }

    #[test]
    fn one_network_does_not_displace_those_in_use() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let used: Vec<NameQuestion> = (0..1_000).map(|last| about(0x42f9_4200 + last * 256)).collect();
        for question in &used {
            memory.store(question.clone(), Arc::default(), LIFETIME, now);
            memory.find(question, now);
        }
        for last in 0..200_000 {
            memory.store(about_v6(last), Arc::default(), LIFETIME, now);
        }
        let kept = used.iter().filter(|question| memory.find(question, now).0.is_some()).count();
        assert_eq!((kept, memory.entries.len() <= MOST), (used.len(), true));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (mut memory, now) = (ProofMemory::default(), Instant::now());
        let count = u32::try_from(MOST * 2).unwrap();
        for number in 0..count {
            memory.store(about(number), Arc::default(), LIFETIME, now);
            assert!(memory.entries.len() <= MOST);
        }
        assert!(memory.find(&about(count - 1), now).0.is_some());
        let others = (about(count - 1).0, vec!["192.0.2.53:53".parse().unwrap()]);
        assert!(memory.find(&others, now).0.is_none(), "what others said does not count");
    }
}
