//! Whether name servers answer at all, as far as the answers to questions show. Not here: the questions.

use super::memory::network;
use super::reverse::Reverse;
use crate::request::address::Network;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// How many networks are asked about in vain, with no answer in between, before it is an outage and not
/// the name server of somebody's own.
const OUTAGE: usize = 8;

/// Whether name servers answer at all, told once when that changes: the networks that were asked about in
/// vain since the last answer, no more of them than it takes.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<HashSet<Network>>);

impl Outage {
    pub(super) fn note(&self, address: IpAddr, reverse: &Reverse) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match reverse {
            Reverse::Unknown => {
                let one_more = failures.len() < OUTAGE && failures.insert(network(address));
                if one_more && failures.len() == OUTAGE {
                    tracing::warn!(
                        "name servers do not answer: crawlers that only reverse DNS can prove stay unchecked"
                    );
                }
            }
            Reverse::Names(_) => {
                if failures.len() >= OUTAGE {
                    tracing::info!("name servers answer again");
                }
                failures.clear();
            }
        }
    }

    pub(super) fn explain(&self, error: &str) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            tracing::warn!("crawlers cannot be verified by reverse DNS: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_one_that_lasts() {
        let outage = Outage::default();
        let of = |third, last| IpAddr::from([95, 216, third, last]);
        for last in 0..100 {
            outage.note(of(1, last), &Reverse::Unknown);
        }
        assert_eq!(outage.0.lock().unwrap().len(), 1, "one network's own trouble");
        for third in 0..100 {
            outage.note(of(third, 1), &Reverse::Unknown);
        }
        assert_eq!(outage.0.lock().unwrap().len(), OUTAGE);
        outage.note(of(1, 1), &Reverse::Names(Vec::new()));
        assert!(outage.0.lock().unwrap().is_empty());
    }
}
