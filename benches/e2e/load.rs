//! The load: a given number of connections, each with its next request as soon as the last one is answered.

use crate::h2load::{H2load, LoadRequest};
use crate::peers::Addresses;
use crate::process::{Processor, command};
use crate::scenario::{Protocol, Scenario};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Connections of a load: enough to keep one worker busy, few enough to be served at once.
pub(crate) const CONNECTIONS: u32 = 32;

/// Prints what wrk keeps to itself, as one line; wrk's own report has no 99.9th percentile.
const REPORT: &str = r#"
done = function(summary, latency, requests)
    io.write(string.format("e2e %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9), summary.errors.status,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
"#;

/// What one load saw. Latencies are microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) statuses_above_399: u64,
    pub(crate) socket_errors: u64,
}

/// Runs loads: wrk for HTTP/1.1, h2load for HTTP/2.
#[derive(Debug)]
pub(crate) struct Loads {
    report: PathBuf,
    h2load: H2load,
}

impl Loads {
    pub(crate) fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let report = folder.join("report.lua");
        std::fs::write(&report, REPORT)?;
        Ok(Self { report, h2load: H2load::new(folder)? })
    }

    /// Asks the peer at `addresses` for what `scenario` says, as fast as it answers.
    pub(crate) fn run(
        &self,
        scenario: &Scenario,
        addresses: Addresses,
        seconds: u32,
    ) -> Result<Load, Box<dyn Error>> {
        match scenario.protocol {
            Protocol::Http1 => return self.wrk(scenario, &format!("http://{}", addresses.plain), seconds),
            Protocol::Tls => return self.wrk(scenario, &format!("https://{}", addresses.tls), seconds),
            Protocol::Http2 => {}
        }
        let url = &format!("https://{}{}", addresses.tls, scenario.target);
        let Scenario { user_agent, .. } = *scenario;
        self.h2load.run(LoadRequest { url, user_agent, seconds, connections: CONNECTIONS / 4, rate: None })
    }

    fn wrk(&self, scenario: &Scenario, server: &str, seconds: u32) -> Result<Load, Box<dyn Error>> {
        let mut wrk = command("wrk", Processor::Load);
        wrk.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "--timeout", "10s"]);
        let script = if scenario.body == 0 { self.report.clone() } else { self.posting(scenario.body)? };
        wrk.arg("-s").arg(script);
        wrk.args(["-H", &format!("User-Agent: {}", scenario.user_agent), "-H", "Host: e2e.example"]);
        wrk.args(["-H", "Accept: */*"]);
        if scenario.fresh {
            wrk.args(["-H", "Connection: close"]);
        }
        wrk.arg(format!("{server}{}", scenario.target));
        report(wrk)
    }

    /// A script whose requests carry so many bytes.
    fn posting(&self, bytes: usize) -> Result<PathBuf, Box<dyn Error>> {
        let script = self.report.with_extension(format!("{bytes}.lua"));
        let post = format!("wrk.method = \"POST\"\nwrk.body = string.rep(\"b\", {bytes})\n");
        std::fs::write(&script, post + REPORT)?;
        Ok(script)
    }
}

/// Runs wrk and reads the line of the report.
pub(crate) fn report(mut wrk: std::process::Command) -> Result<Load, Box<dyn Error>> {
    let output = wrk.output().map_err(|error| format!("cannot run wrk: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("e2e "));
    let line = line.ok_or_else(|| format!("wrk: {said}{}", String::from_utf8_lossy(&output.stderr)))?;
    let fields: Vec<u32> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let &[requests, duration, p50, p99, p999, statuses, sockets] = fields.as_slice() else {
        return Err("a report of other fields".into());
    };
    Ok(Load {
        requests: requests.into(),
        seconds: f64::from(duration) / 1e6,
        p50: p50.into(),
        p99: p99.into(),
        p999: p999.into(),
        statuses_above_399: statuses.into(),
        socket_errors: sockets.into(),
    })
}
