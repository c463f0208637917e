//! Proof for one claim with every step that led to it: what `gatewayctl explain --address` shows.
//!
//! Weighed by the same function as for a request; the one difference is that this waits for an answer.

use super::answer::{ProofAnswer, Reverse, ReverseName, is_below};
use super::evidence::Methods;
use super::prover::{Claim, ask_now, prove};
use crate::identify::{Identity, Proof};
use crate::policy::Policy;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// A proof, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofExplanation {
    /// What supports the name.
    pub proof: Proof,
    /// One sentence for each step: lower case, without a full stop.
    pub steps: Vec<String>,
}

/// Examines a claim. Asks name servers where the configuration says so, and waits for them.
pub fn explain_proof(
    policy: &Policy,
    identity: &Identity,
    address: IpAddr,
    now: SystemTime,
) -> ProofExplanation {
    // As for a request: a mapped address is the IPv4 address in it.
    let claim = Claim { identity, address: Some(address.to_canonical()), is_relayed: false };
    let ask = |address| {
        let servers = policy.config.verify.name_servers().ok_or("no name server is configured")?;
        ask_now(&servers, address, &policy.evidence.suffixes).map(Arc::new)
    };
    let mut steps = Vec::new();
    let proof = prove(policy, &claim, now, ask, &mut steps).proof;
    steps.push(format!("proof: {proof}"));
    ProofExplanation { proof, steps }
}

/// What the lists say of `address`.
pub(super) fn range_steps(methods: &Methods, address: IpAddr, now: SystemTime) -> Vec<String> {
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tell = |list: &Arc<super::RangeList>| {
        let (name, file) = (name(&list.path), list.held.as_ref()?);
        Some(match list.found(address) {
            Some((network, services)) => {
                let services = services.join("`, `");
                let whose =
                    if services.is_empty() { services } else { format!(", which is for `{services}`") };
                format!("{address} lies in {network} of {name}{whose}")
            }
            None if list.is_recent(now) => {
                format!("{address} lies in none of the {} ranges of {name}", file.networks.len())
            }
            None => format!("{name} does not contain {address}, but is too old to contradict a name"),
        })
    };
    let mut steps: Vec<String> = methods.lists.iter().filter_map(tell).collect();
    let is_incomplete = methods.lists.iter().any(|list| list.held.is_none());
    if methods.by_ranges(address, now) == Some(ProofAnswer::Unknown) && is_incomplete {
        steps.push("not every list of its ranges is there".to_owned());
    }
    steps
}

/// What its names say.
pub(super) fn name_steps(methods: &Methods, address: IpAddr, reverse: &Reverse) -> Vec<String> {
    let names = match reverse {
        Reverse::Unknown => return vec![format!("no name server answered for {address}")],
        Reverse::Names(names) if names.is_empty() => return vec![format!("{address} has no name")],
        Reverse::Names(names) => names,
    };
    let tell = |name: &ReverseName| {
        let what = match name.leads_back {
            _ if !is_below(&name.host, &methods.suffixes) => {
                format!("which does not end in {}", methods.suffixes.join(" or "))
            }
            _ if !methods.forward => "and that name alone proves this crawler".to_owned(),
            ProofAnswer::Yes => "which leads back to it".to_owned(),
            ProofAnswer::No => "which does not lead back to it".to_owned(),
            ProofAnswer::Unknown => "and no name server answered for that name".to_owned(),
        };
        format!("{address} is called {}, {what}", name.host)
    };
    names.iter().map(tell).collect()
}
