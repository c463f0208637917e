//! What became of the questions to name servers, counted since the start, and whether they are answered at all. Not here:
//! the questions.

use super::memory::network;
use super::reverse::Reverse;
use crate::request::address::Network;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::net::IpAddr;

/// How many networks are asked about in vain, with no answer in between, before it is an outage and not
/// the name server of somebody's own.
const OUTAGE: usize = 8;

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

/// The questions so far. An outage is told once when it begins, and once when it is over.
#[derive(Debug, Default)]
pub(super) struct Questions(Mutex<QuestionState>);

#[derive(Debug, Default)]
struct QuestionState {
    counts: QuestionCounts,
    /// The networks that were asked about in vain since the last answer, no more of them than an outage takes.
    failing: HashSet<Network>,
}

impl Questions {
    pub(super) fn note(&self, address: IpAddr, reverse: &Reverse) {
        let mut state = self.0.lock();
        match reverse {
            Reverse::Unknown => {
                state.counts.failed += 1;
                let one_more = state.failing.len() < OUTAGE && state.failing.insert(network(address));
                if one_more && state.failing.len() == OUTAGE {
                    tracing::warn!(
                        "name servers do not answer: crawlers that only reverse DNS can prove stay unchecked"
                    );
                }
            }
            Reverse::Names(_) => {
                state.counts.answered += 1;
                if state.failing.len() >= OUTAGE {
                    tracing::info!("name servers answer again");
                }
                state.failing.clear();
            }
        }
    }

    /// Says why nobody can be asked, unless an outage is under way.
    pub(super) fn explain(&self, error: &str) {
        if self.0.lock().failing.is_empty() {
            tracing::warn!("crawlers cannot be verified by reverse DNS: {error}");
        }
    }

    pub(super) fn note_not_asked(&self) {
        self.0.lock().counts.left += 1;
    }

    pub(super) fn counts(&self) -> QuestionCounts {
        self.0.lock().counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_one_that_lasts() {
        let questions = Questions::default();
        let of = |third, last| IpAddr::from([95, 216, third, last]);
        for last in 0..100 {
            questions.note(of(1, last), &Reverse::Unknown);
        }
        assert_eq!(questions.0.lock().failing.len(), 1, "one network's own trouble");
        for third in 0..100 {
            questions.note(of(third, 1), &Reverse::Unknown);
        }
        assert_eq!(questions.0.lock().failing.len(), OUTAGE);
        questions.note(of(1, 1), &Reverse::Names(Vec::new()));
        assert!(questions.0.lock().failing.is_empty());
    }
}
