//! By which methods a name was confirmed or contradicted, in requests.

use super::headline::grouped;
use crate::identify::ProofMethod;
use crate::record::Activity;
use serde::Serialize;

/// How many of the requests of an element rest on which method. Of an
/// element that is `unchecked`, signatures gave a name and did not prove the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MethodCounts {
    /// On published address ranges.
    pub ranges: u64,
    /// On reverse DNS.
    pub rdns: u64,
    /// On a signature of the request.
    pub signature: u64,
}

impl MethodCounts {
    pub(super) fn of(did: &Activity) -> Self {
        let by = |method| did.requests(|decision| decision.proof_by == Some(method));
        Self {
            ranges: by(ProofMethod::Ranges),
            rdns: by(ProofMethod::Rdns),
            signature: by(ProofMethod::Signature),
        }
    }

    /// The methods that were met, with how many requests.
    pub fn met(&self) -> impl Iterator<Item = (ProofMethod, u64)> {
        let all = [
            (ProofMethod::Signature, self.signature),
            (ProofMethod::Ranges, self.ranges),
            (ProofMethod::Rdns, self.rdns),
        ];
        all.into_iter().filter(|(_, count)| *count > 0)
    }

    /// In few words: `signature`, or `signature 12, ranges 3` where that is not all of `requests`.
    #[must_use]
    pub fn words(&self, requests: u64) -> String {
        let word = |(method, count): (ProofMethod, u64)| {
            if count == requests { method.to_string() } else { format!("{method} {}", grouped(count)) }
        };
        self.met().map(word).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_many_where_it_is_not_all() {
        let counts = MethodCounts { signature: 1_200, ranges: 3, rdns: 0 };
        assert_eq!(counts.words(1_203), "signature 1,200, ranges 3");
        assert_eq!(MethodCounts { ranges: 0, ..counts }.words(1_200), "signature");
        assert_eq!(MethodCounts::default().words(7), "");
    }
}
