//! Figures of rounds: medians, ratios and the table.

use crate::load::Load;
use crate::peers::Kind;
use crate::process::Cpu;
use std::collections::BTreeMap;

/// What one load cost one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// Microseconds of processor time for each request.
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) load: Load,
    /// Resident memory in bytes when it ended.
    pub(crate) memory: u64,
}

impl Figure {
    pub(crate) fn new(before: Cpu, after: Cpu, load: Load, memory: u64) -> Self {
        Self {
            user: each(after.user - before.user, &load),
            system: each(after.system - before.system, &load),
            load,
            memory,
        }
    }

    pub(crate) const fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Microseconds for each request of a load, where all of them took so many seconds.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^52 requests")]
fn each(seconds: f64, load: &Load) -> f64 {
    seconds * 1e6 / load.requests.max(1) as f64
}

/// All figures by scenario and peer, in the order of the rounds.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    measured: BTreeMap<(&'static str, Kind), Vec<Figure>>,
    /// Loads that are in no table: that warmed a peer up, or two peers at once. Their requests count.
    unmeasured: BTreeMap<(&'static str, Kind), Vec<Load>>,
    /// Ratios of processor time for each request, of two peers at once.
    both: BTreeMap<(&'static str, Kind, Kind), Vec<f64>>,
}

impl Figures {
    pub(crate) fn add(&mut self, scenario: &'static str, kind: Kind, figure: Figure) {
        self.measured.entry((scenario, kind)).or_default().push(figure);
    }

    pub(crate) fn add_unmeasured(&mut self, scenario: &'static str, kind: Kind, load: Load) {
        self.unmeasured.entry((scenario, kind)).or_default().push(load);
    }

    /// Adds what two peers spent, in seconds, that were under load at once.
    pub(crate) fn add_both(
        &mut self,
        scenario: &'static str,
        (one, ours, spent): (Kind, Load, f64),
        (other, theirs, theirs_spent): (Kind, Load, f64),
    ) {
        self.add_unmeasured(scenario, one, ours);
        self.add_unmeasured(scenario, other, theirs);
        let ratio = each(spent, &ours) / each(theirs_spent, &theirs);
        self.both.entry((scenario, one, other)).or_default().push(ratio);
    }

    /// The ratios of two peers at once in ascending order.
    pub(crate) fn ratios(&self, scenario: &'static str, one: Kind, other: Kind) -> Vec<f64> {
        let mut ratios = self.both.get(&(scenario, one, other)).cloned().unwrap_or_default();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// The median over the rounds of what `of` takes from a figure.
    pub(crate) fn median(
        &self,
        scenario: &'static str,
        kind: Kind,
        of: impl Fn(&Figure) -> f64,
    ) -> Option<f64> {
        median(self.measured.get(&(scenario, kind))?.iter().map(of).collect())
    }

    /// The median over the rounds of the ratio of processor time to that of `other` in the same round, each in a turn
    /// of its own.
    pub(crate) fn ratio(&self, scenario: &'static str, kind: Kind, other: Kind) -> Option<f64> {
        let (ours, theirs) = (self.measured.get(&(scenario, kind))?, self.measured.get(&(scenario, other))?);
        median(ours.iter().zip(theirs).map(|(one, other)| one.cpu() / other.cpu()).collect())
    }

    /// All requests that `kind` answered in loads of `scenario`.
    pub(crate) fn requests(&self, scenario: &'static str, kind: Kind) -> u64 {
        self.all(scenario, kind).map(|load| load.requests).sum()
    }

    /// How many loads of `scenario` there were.
    pub(crate) fn loads(&self, scenario: &'static str, kind: Kind) -> u64 {
        self.all(scenario, kind).map(|_| 1).sum()
    }

    fn all(&self, scenario: &'static str, kind: Kind) -> impl Iterator<Item = &Load> {
        let measured = self.measured.get(&(scenario, kind)).into_iter().flatten().map(|figure| &figure.load);
        measured.chain(self.unmeasured.get(&(scenario, kind)).into_iter().flatten())
    }

    /// Prints one scenario: a line for each peer.
    pub(crate) fn print(&self, scenario: &'static str) {
        println!("\n{scenario}");
        println!(
            "  {:<20} {:>9} {:>6} {:>6} {:>9} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}",
            "", "us/req", "user", "system", "req/s", "p50 ms", "p99", "p99.9", "MiB", "x minim", "x nginx4"
        );
        for kind in Kind::ALL {
            let of = |take: &dyn Fn(&Figure) -> f64| self.median(scenario, kind, take);
            let Some(cpu) = of(&Figure::cpu) else { continue };
            let ratio = |other| {
                self.ratio(scenario, kind, other).map_or_else(String::new, |ratio| format!("{ratio:.3}"))
            };
            let rate = |figure: &Figure| {
                f64::from(u32::try_from(figure.load.requests).unwrap_or(u32::MAX)) / figure.load.seconds
            };
            let show = |value: Option<f64>, scale: f64| value.unwrap_or_default() / scale;
            println!(
                "  {:<20} {cpu:>9.2} {:>6.2} {:>6.2} {:>9.0} {:>7.2} {:>7.2} {:>7.2} {:>7.1} {:>8} {:>8}",
                kind.name(),
                show(of(&|figure| figure.user), 1.0),
                show(of(&|figure| figure.system), 1.0),
                show(of(&rate), 1.0),
                show(of(&|figure| figure.load.p50), 1e3),
                show(of(&|figure| figure.load.p99), 1e3),
                show(of(&|figure| figure.load.p999), 1e3),
                show(of(&|figure| mebibytes(figure.memory)), 1.0),
                ratio(Kind::Minimal),
                ratio(Kind::NginxFour),
            );
        }
    }
}

/// Bytes as mebibytes.
#[expect(clippy::cast_precision_loss, reason = "no process has 2^52 bytes")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// The middle of `values`; `None` without any.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        return values.get(middle).copied();
    }
    Some(f64::midpoint(*values.get(middle.checked_sub(1)?)?, *values.get(middle)?))
}
