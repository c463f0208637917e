//! Whether every refusal was recorded: in the counts of the running gateway, and in its store after it has stopped.

use crate::figures::Figures;
use crate::load::CONNECTIONS;
use crate::peers::{Kind, Peer, control};
use crate::scenario::{ExpectedAnswer, Scenario};
use robots_gateway::enforce::Action;
use robots_gateway::record::{EventKind, Filter, STORE_FILE, StoreReader};
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Compares what the load saw with what the gateway counted and stored. Stops the gateway.
pub(crate) fn check(peer: Peer, figures: &Figures, scenarios: &[Scenario]) -> Result<bool, Box<dyn Error>> {
    let refusals = scenarios.iter().filter(|scenario| scenario.expected == ExpectedAnswer::Refusal);
    let (mut seen, mut cut_off) = (0, 0);
    for scenario in refusals {
        // One more was asked by hand. When a load ends, one request of each of its connections is under way.
        seen += figures.requests(scenario.name, Kind::Enforce) + 1;
        cut_off += figures.loads(scenario.name, Kind::Enforce) * u64::from(CONNECTIONS);
    }
    let counted = counted(&peer.folder)?;
    let store = peer.folder.join("state").join(STORE_FILE);
    peer.running.stop()?;
    let stored = stored(&store)?;
    let passed = counted == stored && (seen..=seen + cut_off).contains(&counted);
    let word = if passed { "pass" } else { "FAIL" };
    println!(
        "{word:<12} refusals: the load saw {seen} (and at most {cut_off} were cut off), the gateway counted {counted}, \
         its store has {stored}"
    );
    Ok(passed)
}

/// What the running gateway says.
fn counted(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut status = Command::new(env!("CARGO_BIN_EXE_gatewayctl"));
    status.args(["status", "--format", "json", "--control"]).arg(control(folder));
    let output = status.output()?;
    let status: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let refused = status.pointer("/totals/refused").and_then(serde_json::Value::as_u64);
    refused.ok_or_else(|| format!("gatewayctl status: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// What its store has.
fn stored(store: &Path) -> Result<u64, Box<dyn Error>> {
    let reader = StoreReader::open(store)?;
    let Some(all) = reader.span()? else { return Ok(0) };
    let totals = reader.totals(&all, &Filter::default())?;
    let is_refusal = |action, kind| action == Action::Refuse && kind == EventKind::Violation;
    Ok(totals
        .iter()
        .filter(|total| is_refusal(total.decision.action, total.decision.kind))
        .map(|total| total.count)
        .sum())
}
