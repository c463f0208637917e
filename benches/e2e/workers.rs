//! What a second worker costs, at a rate that one can bear.
//!
//! The rate is three quarters of what one worker answers at most: a second one is wanted where the first is busy. Nothing
//! is bound to a processor, since two workers cannot both be where the load and the origin are not. Beside them stand two
//! gateways of one worker each with half of the rate each, which have nothing in common: what they cost more than one is
//! the machine's, and what two workers cost more than they is the gateway's own.

use crate::certificate::Certificate;
use crate::figures::median;
use crate::h2load::{H2load, Request};
use crate::load::Load;
use crate::origin::Origin;
use crate::peers::{Addresses, Gateway, Where};
use crate::process::{Place, Running};
use crate::rate::{CONNECTIONS, kept_up};
use crate::scenario::BROWSER;
use std::error::Error;
use std::path::Path;

/// Rounds; every second one in the other order.
const ROUNDS: usize = 9;

/// Two workers may cost so much more for each request than one.
const SECOND_WORKER: f64 = 1.1;

/// More than any server answers.
const ANY_RATE: u32 = 1_000_000;

/// Servers under one load.
struct Crew {
    name: &'static str,
    servers: Vec<Running>,
    loads: Vec<H2load>,
}

impl Crew {
    fn start(
        name: &'static str,
        threads: &[usize],
        origin: &Origin,
        folder: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let (mut servers, mut loads) = (Vec::new(), Vec::new());
        for (index, threads) in threads.iter().enumerate() {
            let folder = folder.join(format!("{name} {index}"));
            std::fs::create_dir_all(&folder)?;
            Certificate::make(&folder)?;
            let place = Where { origin: origin.address(), addresses: Addresses::free()?, folder: &folder };
            servers.push(
                Gateway { threads: *threads, place: Place::Anywhere, ..Gateway::default() }.start(place)?,
            );
            loads.push(H2load::new(&folder)?.at(Place::Anywhere));
        }
        Ok(Self { name, servers, loads })
    }

    /// What the loads saw, and microseconds of processor time for each request.
    fn cost(&self, rate: u32, seconds: u32) -> Result<(u64, f64), Box<dyn Error>> {
        let before = self.cpu()?;
        let share = u32::try_from(self.servers.len())?;
        let loads: Vec<Result<Load, String>> = std::thread::scope(|scope| {
            let asks = self.servers.iter().zip(&self.loads).map(|(server, h2load)| {
                let url = format!("http://{}/page", server.address());
                scope.spawn(move || {
                    let (rate, connections) = (Some(rate / share), CONNECTIONS / share);
                    let request = Request { url: &url, user_agent: BROWSER, seconds, connections, rate };
                    h2load.run(request).map_err(|error| error.to_string())
                })
            });
            let asking: Vec<_> = asks.collect();
            let joined = asking.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|load| load.unwrap_or_else(|_| Err("a load has panicked".to_owned()))).collect()
        });
        let spent = self.cpu()? - before;
        let mut requests = 0;
        for load in loads {
            let load = load?;
            if rate != ANY_RATE {
                kept_up(&load, rate / share, seconds)?;
            }
            requests += load.requests;
        }
        Ok((requests, spent * 1e6 / f64::from(u32::try_from(requests)?)))
    }

    fn cpu(&self) -> Result<f64, Box<dyn Error>> {
        self.servers.iter().map(|server| server.cpu().map(|cpu| cpu.user + cpu.system)).sum()
    }
}

/// Whether two workers cost no more for each request than one, at `rate` or else at three quarters of what one bears.
pub(crate) fn measure(rate: Option<u32>, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let origin = Origin::start_at(Place::Anywhere, folder)?;
    let one = Crew::start("one worker", &[1], &origin, folder)?;
    let two = Crew::start("two workers", &[2], &origin, folder)?;
    let apart = Crew::start("two gateways", &[1, 1], &origin, folder)?;
    let (most, _) = one.cost(ANY_RATE, seconds)?;
    let most = u32::try_from(most)? / seconds;
    let rate = rate.unwrap_or(most / 4 * 3);
    println!("one worker answers {most}/s at most; offered are {rate}/s");
    let mut crews = [(&one, Vec::new()), (&two, Vec::new()), (&apart, Vec::new())];
    for round in 1..=ROUNDS {
        crews.reverse();
        for (crew, costs) in &mut crews {
            costs.push(crew.cost(rate, seconds)?.1);
        }
        let figures = crews.iter().map(|(crew, costs)| {
            format!("{} {:.2} us", crew.name, costs.last().copied().unwrap_or_default())
        });
        println!("round {round}: {}", figures.collect::<Vec<_>>().join(", "));
    }
    let costs = |wanted: &Crew| {
        let found = crews.iter().find(|(crew, _)| crew.name == wanted.name);
        found.map(|(_, costs)| costs.clone()).unwrap_or_default()
    };
    let ratio = |over: &Crew, under: &Crew| {
        let rounds = costs(over).into_iter().zip(costs(under));
        median(rounds.map(|(over, under)| over / under).collect()).unwrap_or(f64::NAN)
    };
    let passed = ratio(&two, &one) <= SECOND_WORKER;
    let word = if passed { "pass" } else { "FAIL" };
    println!(
        "{word:<12} two workers / one at {rate}/s = {:.3}, at most {SECOND_WORKER:.2}; two gateways of one worker each / \
         one = {:.3}, two workers / those = {:.3}",
        ratio(&two, &one),
        ratio(&apart, &one),
        ratio(&two, &apart)
    );
    Ok(passed)
}
