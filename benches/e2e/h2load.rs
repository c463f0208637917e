//! The load of HTTP/2 over TLS, and of HTTP/1.1 at a fixed rate: h2load, and what it saw.

use crate::load::Load;
use crate::process::{Processor, command, is_installed};
use std::error::Error;
use std::path::{Path, PathBuf};

/// One load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadRequest<'a> {
    pub(crate) url: &'a str,
    pub(crate) user_agent: &'a str,
    pub(crate) seconds: u32,
    pub(crate) connections: u32,
    /// Requests per second in all, on HTTP/1.1; without it as many as are answered, on HTTP/2.
    pub(crate) rate: Option<u32>,
}

/// Streams of a connection that are open at once.
const STREAMS: u32 = 4;

/// Runs loads.
#[derive(Debug)]
pub(crate) struct H2load {
    log: PathBuf,
    place: Processor,
}

impl H2load {
    pub(crate) fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        if !is_installed("h2load") {
            return Err("h2load is not installed (Debian: apt-get install nghttp2-client)".into());
        }
        Ok(Self { log: folder.join("h2load.log"), place: Processor::Load })
    }

    /// The same from elsewhere.
    pub(crate) fn at(self, place: Processor) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn run(&self, request: LoadRequest<'_>) -> Result<Load, Box<dyn Error>> {
        // It appends to what is there.
        let _ = std::fs::remove_file(&self.log);
        let LoadRequest { url, user_agent, seconds, connections, rate } = request;
        let mut h2load = command("h2load", self.place);
        h2load.args(["-t", "1", "-c", &connections.to_string(), "-D", &seconds.to_string()]);
        match rate {
            Some(rate) => h2load.args(["--h1", "--rps", &(rate / connections).to_string()]),
            None => h2load.args(["-m", &STREAMS.to_string()]),
        };
        h2load.args(["-H", &format!("user-agent: {user_agent}"), "-H", "accept: */*", "--log-file"]);
        let output = h2load.arg(&self.log).arg(url).output()?;
        let text = std::fs::read_to_string(&self.log)
            .map_err(|_| format!("h2load: {}", String::from_utf8_lossy(&output.stdout)))?;
        read(&text, seconds)
    }
}

/// Reads the log: for each request when it began, its status, and how many microseconds it took.
fn read(log: &str, seconds: u32) -> Result<Load, Box<dyn Error>> {
    let (mut latencies, mut statuses_above_399, mut socket_errors) = (Vec::new(), 0, 0);
    for line in log.lines() {
        let mut fields = line.split('\t').skip(1);
        let status: i32 = fields.next().ok_or("a line without a status")?.parse()?;
        latencies.push(fields.next().ok_or("a line without a latency")?.parse::<f64>()?);
        // A request that was cut off has the status -1.
        socket_errors += u64::from(status < 100);
        statuses_above_399 += u64::from(status > 399);
    }
    latencies.sort_by(f64::total_cmp);
    let part = |thousandths: usize| latencies.get(latencies.len() * thousandths / 1_000).copied();
    Ok(Load {
        requests: latencies.len() as u64,
        seconds: seconds.into(),
        p50: part(500).unwrap_or_default(),
        p99: part(990).unwrap_or_default(),
        p999: part(999).unwrap_or_default(),
        statuses_above_399,
        socket_errors,
    })
}
