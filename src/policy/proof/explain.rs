//! Proof for one claim with every step that led to it: what `gatewayctl explain --address` shows.
//!
//! Weighed by the same function as for a request; the one difference is that this waits for an answer.

use super::answer::{ProofAnswer, Reverse, ReverseName, is_below};
use super::evidence::Methods;
use super::prover::{Claim, ask_now, prove};
use super::public::is_public;
use crate::identify::{Identity, KnownProof, Proof};
use crate::policy::Policy;
use std::cell::RefCell;
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
    let address = address.to_canonical();
    let claim = Claim { identity, address: Some(address), is_relayed: false };
    let Some(methods) = policy.evidence.methods(identity) else {
        let step = format!("nothing is known by which {address} could prove this client");
        return ProofExplanation { proof: Proof::Unchecked, steps: vec![step] };
    };
    let mut steps = Vec::new();
    if !is_public(address) {
        steps.push(format!("{address} is no public address, and proves nothing"));
    } else if policy.config.trusted_proxies.contain(address) {
        steps.push(format!("{address} is a trusted proxy's, and proves nothing"));
    } else {
        steps.extend(range_steps(methods, address, now));
        if !methods.suffixes.is_empty() && !policy.config.verify.dns {
            steps.push("its names are not asked for: `dns = false`".to_owned());
        }
    }
    let asked = RefCell::new(Vec::new());
    let KnownProof { proof, .. } = prove(policy, &claim, now, |address| {
        let servers = policy.config.verify.name_servers()?;
        let reverse = ask_now(&servers, address, &policy.evidence.suffixes);
        asked.borrow_mut().extend(name_steps(methods, address, &reverse));
        reverse.ok().map(Arc::new)
    });
    steps.extend(asked.into_inner());
    steps.push(format!("proof: {proof}"));
    ProofExplanation { proof, steps }
}

fn range_steps(methods: &Methods, address: IpAddr, now: SystemTime) -> Vec<String> {
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tell = |list: &Arc<super::RangeList>| {
        let name = name(&list.path);
        match list.network(address) {
            Some(network) => {
                let services = list.services(address).join("`, `");
                let whose =
                    if services.is_empty() { services } else { format!(", which is for `{services}`") };
                format!("{address} lies in {network} of {name}{whose}")
            }
            None if list.is_recent(now) => {
                format!("{address} lies in none of the {} ranges of {name}", list.networks())
            }
            None => format!("{name} does not contain {address}, but is too old to contradict a name"),
        }
    };
    let mut steps: Vec<String> = methods.lists.iter().map(tell).collect();
    if methods.by_ranges(address, now) == Some(ProofAnswer::Unknown) && !methods.is_complete {
        steps.push("not every list of its ranges is there".to_owned());
    }
    steps
}

fn name_steps(methods: &Methods, address: IpAddr, reverse: &Result<Reverse, String>) -> Vec<String> {
    let names = match reverse {
        Err(error) => return vec![error.clone()],
        Ok(Reverse::Unknown) => return vec![format!("no name server answered for {address}")],
        Ok(Reverse::Names(names)) if names.is_empty() => return vec![format!("{address} has no name")],
        Ok(Reverse::Names(names)) => names,
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
