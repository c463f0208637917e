//! What a second worker costs, at a rate that one can bear.
//!
//! The rate is three quarters of what one worker answers at most: a second one is wanted where the first is busy. Half of
//! that rate has to do as well, where each of two workers wakes for fewer requests at a time. Nothing
//! is bound to a processor, since two workers cannot both be where the load and the origin are not. Beside them stand two
//! gateways of one worker each with half of the load each, which have nothing in common: what two workers cost more than
//! they is what sharing costs. Every crew has the same two loads.

use crate::certificate::Certificate;
use crate::figures::median;
use crate::h2load::{H2load, LoadRequest};
use crate::load::Load;
use crate::origin::BenchOrigin;
use crate::peers::{Addresses, GatewayPeer, Where};
use crate::process::{Processor, Running};
use crate::rate::{CONNECTIONS, kept_up};
use crate::scenario::BROWSER;
use std::error::Error;
use std::path::Path;

/// Rounds; every second one in the other order. Many short ones: what the machine does meanwhile comes to all crews
/// alike, and one round differs from the next by far more than what is measured.
const ROUNDS: usize = 21;

/// Two workers may cost so much more for each request than one.
const SECOND_WORKER: f64 = 1.1;

/// More than any server answers.
const ANY_RATE: u32 = 1_000_000;

/// For so many seconds one worker is asked for as much as it answers. Both rates follow from that, so it is longer than
/// a turn.
const FINDING: u32 = 4;

/// Loads on each crew.
const LOADS: u32 = 2;

/// Servers under the same loads.
struct Crew {
    name: &'static str,
    servers: Vec<Running>,
    loads: Vec<H2load>,
}

/// What a crew was asked.
struct Cost {
    requests: u64,
    /// Seconds of processor time.
    spent: f64,
}

impl Cost {
    /// Microseconds of processor time for each request.
    fn each(&self) -> Result<f64, Box<dyn Error>> {
        Ok(self.spent * 1e6 / f64::from(u32::try_from(self.requests)?))
    }
}

impl Crew {
    fn start(
        name: &'static str,
        threads: &[usize],
        origin: &BenchOrigin,
        folder: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut servers = Vec::new();
        for (index, threads) in threads.iter().enumerate() {
            let folder = folder.join(format!("{name} {index}"));
            std::fs::create_dir_all(&folder)?;
            Certificate::make(&folder)?;
            let place = Where { origin: origin.address(), addresses: Addresses::free()?, folder: &folder };
            let gateway =
                GatewayPeer { threads: *threads, place: Processor::Anywhere, ..GatewayPeer::default() };
            servers.push(gateway.start(place)?);
        }
        let load = |index| {
            let folder = folder.join(format!("{name} load {index}"));
            std::fs::create_dir_all(&folder)?;
            Ok(H2load::new(&folder)?.at(Processor::Anywhere))
        };
        let loads = (0..LOADS).map(load).collect::<Result<_, Box<dyn Error>>>()?;
        Ok(Self { name, servers, loads })
    }

    /// What answering at `rate` costs.
    fn asked(&self, rate: u32, seconds: u32) -> Result<Cost, Box<dyn Error>> {
        let before = self.cpu()?;
        let loads = self.loaded(rate / LOADS, seconds);
        let spent = self.cpu()? - before;
        let mut requests = 0;
        for load in loads {
            let load = load?;
            let least = if rate == ANY_RATE { 0 } else { rate / LOADS };
            kept_up(&load, least, seconds)?;
            requests += load.requests;
        }
        Ok(Cost { requests, spent })
    }

    /// Runs all loads at once.
    fn loaded(&self, rate: u32, seconds: u32) -> Vec<Result<Load, String>> {
        let connections = CONNECTIONS / LOADS;
        std::thread::scope(|scope| {
            let asks = self.loads.iter().zip(self.servers.iter().cycle()).map(|(h2load, server)| {
                let url = format!("http://{}/page", server.address());
                scope.spawn(move || {
                    let (url, rate) = (&*url, Some(rate));
                    let request = LoadRequest { url, user_agent: BROWSER, seconds, connections, rate };
                    h2load.run(request).map_err(|error| error.to_string())
                })
            });
            let asking: Vec<_> = asks.collect();
            let joined = asking.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|load| load.unwrap_or_else(|_| Err("a load has panicked".to_owned()))).collect()
        })
    }

    fn cpu(&self) -> Result<f64, Box<dyn Error>> {
        self.servers.iter().map(|server| server.cpu().map(|cpu| cpu.user + cpu.system)).sum()
    }
}

/// Whether two workers cost no more for each request than one, at `rate` or else at three quarters of what one bears,
/// and at half of that.
pub(crate) fn measure(rate: Option<u32>, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let origin = BenchOrigin::start_at(Processor::Anywhere, folder)?;
    let crews = [
        Crew::start("one worker", &[1], &origin, folder)?,
        Crew::start("two workers", &[2], &origin, folder)?,
        Crew::start("two gateways", &[1, 1], &origin, folder)?,
    ];
    let [one, ..] = &crews;
    // Caches fill, connections to the origin open.
    for crew in &crews {
        crew.asked(ANY_RATE, 1)?;
    }
    let most = one.asked(ANY_RATE, FINDING)?;
    let bears = u32::try_from(most.requests)? / FINDING;
    let busy = most.spent / f64::from(FINDING) * 100.0;
    let rate = rate.unwrap_or(bears / 4 * 3);
    println!("one worker answers {bears}/s at most, and is busy {busy:.0} % of the time then");
    let mut passed = true;
    for rate in [rate / 2, rate] {
        let Ratios { two, apart, shared } = Ratios::of(&crews, rate, seconds)?;
        let is_met = two <= SECOND_WORKER;
        let word = if is_met { "pass" } else { "FAIL" };
        println!("at {rate}/s: two gateways / one worker = {apart:.3}, two workers / those = {shared:.3}");
        println!("{word:<12} two workers / one at {rate}/s = {two:.3}, at most {SECOND_WORKER:.2}");
        passed &= is_met;
    }
    Ok(passed)
}

/// Medians over rounds of processor time for each request, one crew's over another's.
struct Ratios {
    /// Two workers over one.
    two: f64,
    /// Two gateways over one.
    apart: f64,
    /// Two workers over two gateways.
    shared: f64,
}

impl Ratios {
    fn of(crews: &[Crew; 3], rate: u32, seconds: u32) -> Result<Self, Box<dyn Error>> {
        let (mut two, mut apart, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            let mut costs = [0.0; 3];
            // Who was first is last in the next round.
            let turns: [usize; 3] = if round % 2 == 0 { [2, 1, 0] } else { [0, 1, 2] };
            for turn in turns {
                if let (Some(crew), Some(cost)) = (crews.get(turn), costs.get_mut(turn)) {
                    *cost = crew.asked(rate, seconds)?.each()?;
                }
            }
            let figures = crews.iter().zip(costs).map(|(crew, cost)| format!("{} {cost:.2} us", crew.name));
            println!("{rate}/s, round {round}: {}", figures.collect::<Vec<_>>().join(", "));
            let [one, both, separate] = costs;
            two.push(both / one);
            apart.push(separate / one);
            shared.push(both / separate);
        }
        let [two, apart, shared] = [two, apart, shared].map(|ratios| median(ratios).unwrap_or(f64::NAN));
        Ok(Self { two, apart, shared })
    }
}
