//! What the figures have to show. Ratios of processor time for each request, to peers of the same run.

use crate::figures::Figures;
use crate::peers::Kind;
use crate::scenario::{PROXIED, REFUSED};

/// One ratio, and the most it may be.
struct Gate {
    scenario: &'static str,
    kind: Kind,
    other: Kind,
    most: f64,
    /// A goal is printed beside the ratio and fails nothing.
    is_goal: bool,
}

const fn gate(scenario: &'static str, other: Kind, most: f64) -> Gate {
    Gate { scenario, kind: Kind::Enforce, other, most, is_goal: false }
}

const fn goal(scenario: &'static str, other: Kind, most: f64) -> Gate {
    Gate { scenario, kind: Kind::Enforce, other, most, is_goal: true }
}

const GATES: [Gate; 8] = [
    gate(PROXIED, Kind::Bare, 1.03),
    gate(PROXIED, Kind::Minimal, 1.10),
    gate(PROXIED, Kind::NginxList, 0.75),
    goal(PROXIED, Kind::NginxFour, 1.15),
    gate(REFUSED, Kind::Bare, 1.05),
    goal(REFUSED, Kind::Minimal, 1.10),
    goal(REFUSED, Kind::NginxFour, 1.15),
    goal(REFUSED, Kind::NginxList, 1.0),
];

/// Prints every gate whose peers were measured; `false` when one did not pass.
pub(crate) fn print(figures: &Figures) -> bool {
    let mut passed = true;
    for gate in GATES {
        let Some(ratio) = figures.ratio(gate.scenario, gate.kind, gate.other) else { continue };
        let is_met = ratio <= gate.most;
        let word = match (gate.is_goal, is_met) {
            (true, true) => "goal met",
            (true, false) => "goal missed",
            (false, true) => "pass",
            (false, false) => "FAIL",
        };
        passed &= is_met || gate.is_goal;
        let (kind, other) = (gate.kind.name(), gate.other.name());
        println!("{word:<12} {}: {kind} / {other} = {ratio:.3}, at most {:.2}", gate.scenario, gate.most);
    }
    passed
}
