//! What the figures have to show: ratios of processor time for each request to a peer of the same run, in turns and with
//! both under load at once. A gate holds both.

use crate::figures::{Figures, median};
use crate::peers::Kind;
use crate::scenario::{CHUNKED, HUGE, LARGER, MIDDLING, PROXIED, REFUSED, TLS, UPLOAD};

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

/// With a line in the journal for every refusal, which no operator has who keeps the default of `journal_rate`.
const EVERY_LINE: Gate =
    Gate { scenario: REFUSED, kind: Kind::EveryLine, other: Kind::NginxFour, most: 1.0, is_goal: true };

const GATES: [Gate; 17] = [
    gate(PROXIED, Kind::NginxFour, 1.0),
    gate(PROXIED, Kind::Haproxy, 1.0),
    goal(PROXIED, Kind::NginxFour, 0.9),
    gate(REFUSED, Kind::NginxFour, 1.0),
    goal(REFUSED, Kind::NginxFour, 0.9),
    EVERY_LINE,
    gate(LARGER, Kind::NginxFour, 1.1),
    gate(TLS, Kind::NginxFour, 1.1),
    goal(TLS, Kind::Haproxy, 1.1),
    gate(UPLOAD, Kind::NginxFour, 1.1),
    goal(UPLOAD, Kind::Haproxy, 1.1),
    gate(MIDDLING, Kind::NginxFour, 1.1),
    goal(MIDDLING, Kind::Haproxy, 1.1),
    gate(HUGE, Kind::NginxFour, 1.1),
    goal(HUGE, Kind::Haproxy, 1.1),
    gate(CHUNKED, Kind::NginxFour, 1.1),
    goal(CHUNKED, Kind::Haproxy, 1.1),
];

/// Which peers the gates of a scenario compare.
pub(crate) fn pairs(scenario: &str) -> impl Iterator<Item = (Kind, Kind)> {
    GATES.iter().filter(move |gate| gate.scenario == scenario).map(|gate| (gate.kind, gate.other))
}

/// Prints every gate whose peers were measured; `false` when one did not pass.
pub(crate) fn print(figures: &Figures) -> bool {
    let mut passed = true;
    for gate in GATES {
        let in_turn = figures.ratio(gate.scenario, gate.kind, gate.other);
        let ratios = figures.ratios(gate.scenario, gate.kind, gate.other);
        let (Some(in_turn), Some(at_once)) = (in_turn, median(ratios.clone())) else { continue };
        let is_met = in_turn.max(at_once) <= gate.most;
        let word = match (gate.is_goal, is_met) {
            (true, true) => "goal met",
            (true, false) => "goal missed",
            (false, true) => "pass",
            (false, false) => "FAIL",
        };
        passed &= is_met || gate.is_goal;
        let (kind, other) = (gate.kind.name(), gate.other.name());
        let (least, greatest) = (ratios.first().unwrap_or(&at_once), ratios.last().unwrap_or(&at_once));
        println!(
            "{word:<12} {}: {kind} / {other} = {in_turn:.3} in turn, {at_once:.3} at once ({least:.3} to {greatest:.3}), \
             at most {:.2}",
            gate.scenario, gate.most
        );
    }
    passed
}
