//! What crawlers took, by what they fetch for.

use crate::identify::Purpose;
use crate::report::{Report, amount, byte_words};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What crawlers that fetch for one purpose took; field names are public API.
#[derive(Serialize)]
pub(in crate::ctl) struct PurposeShare {
    /// A word of the catalogue, or `unknown`.
    purpose: &'static str,
    requests: u64,
    /// Of all requests: those of crawlers, and in a replay people's too.
    requests_share: f64,
    /// Null where nothing says how much was sent.
    bytes: Option<u64>,
    bytes_share: Option<f64>,
}

impl PurposeShare {
    /// Those of a report, most first, with their shares of so many requests and bytes.
    pub(in crate::ctl) fn all(report: &Report, requests: u64, bytes: u64) -> Vec<Self> {
        let mut purposes: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
        for entry in report.named().filter(|entry| entry.requests > 0) {
            let purpose = entry.subject.purpose.map_or("unknown", Purpose::as_str);
            let (requests, sent) = purposes.entry(purpose).or_default();
            (*requests, *sent) = (*requests + entry.requests, *sent + entry.bytes.unwrap_or_default());
        }
        let share = |(purpose, (own, sent)): (&'static str, (u64, u64))| Self {
            purpose,
            requests: own,
            requests_share: share_of(own, requests),
            bytes: (bytes > 0).then_some(sent),
            bytes_share: (bytes > 0).then(|| share_of(sent, bytes)),
        };
        let mut purposes: Vec<Self> = purposes.into_iter().map(share).collect();
        purposes.sort_by_key(|one| Reverse((one.bytes, one.requests)));
        purposes
    }

    /// `ai-train: 3 requests (33.3 %), 3.1 GB (40.0 %)`; behind the first share stands what it is `of`.
    pub(in crate::ctl) fn words(&self, of: &str) -> String {
        let sent = self.bytes.zip(self.bytes_share);
        let sent = sent.map(|(bytes, share)| format!(", {} ({:.1} %)", byte_words(bytes), share * 100.0));
        let (requests, share) = (amount(self.requests, "request", "requests"), self.requests_share * 100.0);
        format!("{}: {requests} ({share:.1} %{of}){}", self.purpose, sent.unwrap_or_default())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(in crate::ctl) fn share_of(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
