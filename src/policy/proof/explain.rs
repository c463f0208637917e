//! Proof for one claim with every step that led to it: what `gatewayctl explain --address` shows.
//!
//! Weighed by the same function as for a request; the one difference is that this waits for an answer.

use super::answer::{ProofAnswer, ReverseName, is_below};
use super::evidence::Methods;
use super::prover::{Claim, ask_now, prove};
use super::range_list::RangeList;
use crate::identify::{Identity, Proof};
use crate::policy::Policy;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// Examines a claim: what supports the name, and one sentence for each step, lower case and without a full stop. Asks name
/// servers where the configuration says so, and waits for them.
pub fn explain_proof(policy: &Policy, identity: &Identity, address: IpAddr) -> (Proof, Vec<String>) {
    // As for a request: a mapped address is the IPv4 address in it.
    let claim = Claim { identity, address: Some(address.to_canonical()), is_relayed: false };
    let ask = |address| {
        let servers = policy.config.verify.name_servers().ok_or("no name server is configured")?;
        let names = ask_now(&servers, address, &policy.evidence.suffixes)?;
        names.ok_or_else(|| format!("no name server answered for {address}"))
    };
    let mut steps = Vec::new();
    let proof = prove(policy, &claim, SystemTime::now(), ask, &mut steps).proof;
    steps.push(format!("proof: {proof}"));
    (proof, steps)
}

/// What the lists say of `address`.
pub(super) fn range_steps(methods: &Methods, address: IpAddr, now: SystemTime) -> Vec<String> {
    let tell = |list: &Arc<RangeList>| {
        let (name, file) = (list.path.file_name().unwrap_or_default().to_string_lossy(), list.held.as_ref()?);
        Some(match list.found(address) {
            Some((network, [])) => format!("{address} lies in {network} of {name}"),
            Some((network, services)) => {
                format!("{address} lies in {network} of {name}, which is for `{}`", services.join("`, `"))
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
pub(super) fn name_steps(methods: &Methods, address: IpAddr, names: &[ReverseName]) -> Vec<String> {
    if names.is_empty() {
        return vec![format!("{address} has no name")];
    }
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
