//! All scenarios with all peers, round after round.

use crate::beside;
use crate::exactness;
use crate::figures::{Figure, Figures};
use crate::gates;
use crate::load::Loads;
use crate::origin::BenchOrigin;
use crate::peers::{Kind, Peer};
use crate::process::{has_places, settle};
use crate::scenario::Scenario;
use std::error::Error;
use std::path::Path;

/// Seconds of load before the first figure of a peer is taken: caches fill, connections to the origin open.
const WARM_UP: u32 = 1;

/// What to measure.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seconds: u32,
    pub(crate) rounds: usize,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) scenarios: Vec<Scenario>,
}

impl Plan {
    /// Measures, prints, and says whether every gate passed.
    pub(crate) fn run(&self, folder: &Path) -> Result<bool, Box<dyn Error>> {
        if self.scenarios.is_empty() {
            return Err("no scenario has such a name".into());
        }
        if !has_places() {
            eprintln!("e2e: servers and loads share all processors: that takes two of them, and taskset");
        }
        let (origin, loads) = (BenchOrigin::start(folder)?, Loads::new(folder)?);
        let mut peers = Vec::new();
        for kind in &self.kinds {
            if kind.is_installed() {
                peers.push(Peer::start(*kind, &origin, folder)?);
            } else {
                println!("{} is left out: it is not installed", kind.name());
            }
        }
        let figures = self.measure(&mut peers, &loads)?;
        for scenario in &self.scenarios {
            figures.print(scenario.name);
        }
        println!();
        let mut passed = gates::print(&figures);
        if let Some(at) = peers.iter().position(|peer| peer.kind == Kind::Enforce) {
            passed &= exactness::check(peers.swap_remove(at), &figures, &self.scenarios)?;
        }
        Ok(passed)
    }

    fn measure(&self, peers: &mut [Peer], loads: &Loads) -> Result<Figures, Box<dyn Error>> {
        let mut figures = Figures::default();
        for scenario in &self.scenarios {
            for peer in peers.iter().filter(|peer| scenario.is_for(peer.kind)) {
                scenario.prove(peer)?;
                figures.add_unmeasured(
                    scenario.name,
                    peer.kind,
                    loads.run(scenario, peer.addresses, WARM_UP)?,
                );
            }
        }
        for round in 1..=self.rounds {
            eprintln!("round {round} of {}", self.rounds);
            for scenario in &self.scenarios {
                for peer in peers.iter().filter(|peer| scenario.is_for(peer.kind)) {
                    let before = peer.running.cpu()?;
                    let load = loads.run(scenario, peer.addresses, self.seconds)?;
                    scenario.judge(peer.kind, &load)?;
                    settle();
                    let (after, memory) = (peer.running.cpu()?, peer.running.memory()?);
                    figures.add(scenario.name, peer.kind, Figure::new(before, after, load, memory));
                }
                beside::measure(scenario, peers, loads, self.seconds, &mut figures)?;
            }
            // Who was first is last in the next round.
            peers.rotate_left(1);
        }
        Ok(figures)
    }
}
