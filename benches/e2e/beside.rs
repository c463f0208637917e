//! Two peers under the same load at the same time, on one processor: what a gate compares.
//!
//! One turn differs from the next by more than a gate allows, since a shared machine changes its pace from second to
//! second. The system shares a processor out in slices of milliseconds, so that both peers have the same pace. What a
//! peer costs by itself is in the table of the turns.

use crate::figures::{Figure, Figures};
use crate::gates;
use crate::load::{Load, Loads};
use crate::peers::{Kind, Peer};
use crate::rounds::SETTLING;
use crate::scenario::Scenario;
use std::error::Error;

/// Measures the ratio of each gate of `scenario` whose peers are there.
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
        let loaded = both(scenario, (one, other), loads, seconds)?;
        std::thread::sleep(SETTLING);
        let of = |peer: &Peer, before, load: Load| -> Result<Figure, Box<dyn Error>> {
            scenario.judge(peer.kind, &load)?;
            Ok(Figure::new(before, peer.running.cpu()?, load, peer.running.memory()?))
        };
        let (ours, theirs) = (of(one, before.0, loaded.0)?, of(other, before.1, loaded.1)?);
        figures.add_both(scenario.name, (one.kind, ours), (other.kind, theirs));
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
    let run = |peer: &Peer| loads.run(scenario, peer.addresses, seconds).map_err(|error| error.to_string());
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| run(other));
        let load = run(one)?;
        Ok((load, beside.join().map_err(|_| "the load panicked")??))
    })
}
