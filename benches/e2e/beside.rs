//! Two peers under the same load at the same time, on one processor: what a gate holds beside the turns.
//!
//! One turn differs from the next by more than a gate allows, since a shared machine changes its pace from second to
//! second. The system shares a processor out in slices of milliseconds, so that both peers have the same pace. What a
//! peer costs by itself is in the table of the turns.

use crate::figures::Figures;
use crate::gates;
use crate::load::{Load, Loads};
use crate::peers::{Kind, Peer};
use crate::process::settle;
use crate::scenario::{Protocol, Scenario};
use std::error::Error;

/// Measures the ratio of each gate of `scenario` whose peers are there, so long that each of both has as much of the
/// processor as in a turn of its own.
pub(crate) fn measure(
    scenario: &Scenario,
    peers: &[Peer],
    loads: &Loads,
    seconds: u32,
    figures: &mut Figures,
) -> Result<(), Box<dyn Error>> {
    let find = |kind: Kind| peers.iter().find(|peer| peer.kind == kind);
    for (one, other) in gates::pairs(scenario.name) {
        let (Some(one), Some(other)) = (find(one), find(other)) else { continue };
        let before = (one.running.cpu()?, other.running.cpu()?);
        let (ours, theirs) = both(scenario, (one, other), loads, 2 * seconds)?;
        settle();
        let spent = (one.running.cpu()?.since(before.0), other.running.cpu()?.since(before.1));
        scenario.judge(one.kind, &ours)?;
        scenario.judge(other.kind, &theirs)?;
        figures.add_both(scenario.name, (one.kind, ours, spent.0), (other.kind, theirs, spent.1));
    }
    Ok(())
}

/// One load on each of both, at once.
fn both(
    scenario: &Scenario,
    (one, other): (&Peer, &Peer),
    loads: &Loads,
    seconds: u32,
) -> Result<(Load, Load), Box<dyn Error>> {
    if scenario.protocol == Protocol::Http2 {
        return Err("two runs of h2load would write to one log".into());
    }
    let run = |peer: &Peer| {
        let load = loads.run(scenario, peer.addresses, seconds);
        load.map_err(|error| format!("{}: {error}", peer.kind.name()))
    };
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| run(other));
        let load = run(one)?;
        Ok((load, beside.join().map_err(|_| "the load panicked")??))
    })
}
