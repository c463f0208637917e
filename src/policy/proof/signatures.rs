//! What was verified before, and how much may be verified in a second.
//!
//! A verification takes as long as a whole request, so results are remembered by what was signed, wrong ones too, and
//! what is left is bounded: by the network of a client in wrong signatures, and for all together. Beyond that a signature
//! is as good as none. A signature by a key that is not known is never verified, and costs a look at its fields.

use crate::identify::signature::{SignatureFault, SignatureOutcomeKind, SignedStatement};
use crate::record::Counters;
use crate::request::address::Network;
use hashbrown::HashMap;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};
use smart_default::SmartDefault;
use std::net::IpAddr;
use std::sync::Once;
use std::time::{Duration, Instant};
use strum::EnumCount as _;

/// How many results are remembered: some 400 KiB.
const REMEMBERED: usize = 8_192;

/// How many signatures are verified in a second: a quarter of a processor's time at 60 us each.
const ALL: u32 = 4_000;

/// How many of them may come from networks that sent a wrong one in this second: the rest is kept for the others.
const NOISY: u32 = ALL / 2;

/// How many may turn out wrong, of such networks.
const WRONG: u32 = 500;

/// The same of one /24 or /48.
const WRONG_OF_NETWORK: u32 = 20;

const SECOND: Duration = Duration::from_secs(1);

/// What a result is remembered by: all of what was signed, by whom, and the signature.
type StatementDigest = [u8; 32];

/// What is known of signatures, across generations of the policy.
#[derive(Debug, SmartDefault)]
pub(super) struct SignatureMemory {
    #[default(Cache::new(REMEMBERED))]
    results: Cache<StatementDigest, bool>,
    budget: Mutex<VerifyBudget>,
    /// How many requests were signed, by what came of it.
    pub(super) counts: Counters<SignatureOutcomeKind, { SignatureOutcomeKind::COUNT }>,
    /// Tells that the budget was used up.
    #[default(Once::new())]
    told: Once,
}

impl SignatureMemory {
    /// Whether the key of a statement in a request from `address` made its signature.
    pub(super) fn check(
        &self,
        statement: &SignedStatement<'_>,
        address: Option<IpAddr>,
    ) -> Result<(), SignatureFault> {
        let network = address.map(|address| Network::around(address, 24, 48));
        if !self.budget.lock().admits(network, Instant::now()) {
            self.told.call_once(|| {
                tracing::warn!(
                    client = address.map(tracing::field::display),
                    "too many signatures in a second, or too many wrong ones of one network: the rest count as unsigned, \
                     and as `unverified` in robots_gateway_signatures_total"
                );
            });
            return Err(SignatureFault::TooMuchWork);
        }
        let result = statement.base().and_then(|base| {
            let digest = digest(statement, &base);
            let is_right = self.results.get(&digest).unwrap_or_else(|| {
                self.budget.lock().all += 1;
                let is_right = statement.key.has_signed(&base, statement.signature);
                self.results.insert(digest, is_right);
                is_right
            });
            if is_right { Ok(()) } else { Err(SignatureFault::Mismatch) }
        });
        result.inspect_err(|_| self.budget.lock().note_wrong(network))
    }
}

fn digest(statement: &SignedStatement<'_>, base: &[u8]) -> StatementDigest {
    let length = statement.signature.len().to_le_bytes();
    // The base ends with the parameters, `keyid` among them; the agent says whose key of that name it is.
    let signed = [statement.agent.as_str().as_bytes(), &[0], &length, statement.signature, base];
    Sha256::digest(signed.concat()).into()
}

/// What was verified in this second.
#[derive(Debug, Default)]
struct VerifyBudget {
    since: Option<Instant>,
    all: u32,
    wrong: u32,
    /// At most as many as were wrong.
    by_network: HashMap<Option<Network>, u32>,
}

impl VerifyBudget {
    /// Whether one more may be looked at.
    fn admits(&mut self, network: Option<Network>, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND) {
            *self = Self { since: Some(now), ..Self::default() };
        }
        let of_network = self.by_network.get(&network).copied().unwrap_or_default();
        if of_network == 0 {
            return self.all < ALL;
        }
        self.all < NOISY && self.wrong < WRONG && of_network < WRONG_OF_NETWORK
    }

    fn note_wrong(&mut self, network: Option<Network>) {
        self.wrong += 1;
        *self.by_network.entry(network).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl VerifyBudget {
        /// Whether one more is verified.
        fn allows(&mut self, network: Option<Network>, now: Instant) -> bool {
            let allows = self.admits(network, now);
            self.all += u32::from(allows);
            allows
        }
    }

    fn network(third: u8) -> Network {
        Network::around(IpAddr::from([192, 0, third, 1]), 24, 48)
    }

    #[test]
    fn a_network_is_bound_by_its_wrong_signatures_and_no_other_with_it() {
        let (mut budget, now) = (VerifyBudget::default(), Instant::now());
        for _ in 0..WRONG_OF_NETWORK {
            assert!(budget.allows(Some(network(1)), now));
            budget.note_wrong(Some(network(1)));
        }
        assert!(!budget.allows(Some(network(1)), now) && budget.allows(Some(network(2)), now));
        assert!(budget.allows(Some(network(1)), now + SECOND));
    }

    /// Whoever has many networks uses up what noisy ones have in common, and not what is kept for the others.
    #[test]
    fn many_noisy_networks_switch_nothing_off_for_a_quiet_one() {
        let (mut budget, now) = (VerifyBudget::default(), Instant::now());
        for third in (0..100).cycle().take(20 * 100) {
            if budget.allows(Some(network(third)), now) {
                budget.note_wrong(Some(network(third)));
            }
        }
        assert_eq!(budget.wrong, WRONG);
        assert!(!budget.admits(Some(network(1)), now));
        let quiet = (0..ALL).filter(|_| budget.allows(Some(network(200)), now)).count();
        assert!(quiet >= (ALL - NOISY) as usize, "{quiet}");
    }

    #[test]
    fn all_networks_together_are_bound() {
        let (mut budget, now) = (VerifyBudget::default(), Instant::now());
        let verified = (0..ALL + 10).filter(|_| budget.allows(Some(network(1)), now)).count();
        assert_eq!(verified, ALL as usize, "right ones of one network");
        let later = now + SECOND;
        let wrong = (0..10_000_u32).filter(|n| {
            let network = Some(network(u8::try_from(n % 200).unwrap()));
            let allows = budget.allows(network, later);
            if allows {
                budget.note_wrong(network);
            }
            allows
        });
        assert_eq!(wrong.count(), WRONG as usize);
        assert!(budget.by_network.len() <= 200);
    }
}
