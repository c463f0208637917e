//! Requests by crawler, for metrics. Only names of the catalogue are counted, so there are as many as it has.
//!
//! The writer counts what it takes to write. The request path does nothing for it.

use super::tally::CountBatch;
use crate::identify::Proof;
use std::collections::BTreeMap;

/// Requests by crawler, by what the rules said, and by what was done.
pub type CrawlerCounts = BTreeMap<(Box<str>, &'static str, &'static str), u64>;

/// Adds what a batch counted. A borrowed name is not its bearer's.
pub(super) fn add(counts: &mut CrawlerCounts, batch: &CountBatch) {
    for (subject, account) in &batch.accounts {
        // Only what the catalogue knows has a purpose.
        let Some(name) = subject.crawler.as_ref().filter(|_| subject.purpose.is_some()) else { continue };
        if subject.proof == Proof::Contradicted {
            continue;
        }
        for (decision, uses) in &account.decisions {
            let (verdict, action) = (decision.kind.as_str(), decision.action.as_str());
            let count: u64 = uses.periods.iter().map(|(_, count)| count).sum();
            *counts.entry((name.clone(), verdict, action)).or_default() += count;
        }
    }
}
