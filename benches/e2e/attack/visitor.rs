//! The well-behaved client: four visitors at a steady rate, two on a connection that they keep and two on a new one for
//! each request.
//!
//! A request's time runs from when it was due, so that a stall of the gateway counts for every request it delays.

use crate::origin::MARK;
use crate::process::{Processor, command};
use crate::scenario::BROWSER;
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Between two requests of one visitor.
const PACE: Duration = Duration::from_millis(10);

/// How long a visitor waits before it gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the visitors saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// Milliseconds.
    pub(super) p99: f64,
    pub(super) failed: u64,
}

impl Visit {
    /// Visits `address` for so many seconds, in a process of its own where loads have their place.
    pub(super) fn of(address: SocketAddr, seconds: u32) -> Result<Self, Box<dyn Error>> {
        let mut visitor = command(std::env::current_exe()?, Processor::Load);
        visitor.args(["--visit", &address.to_string(), &seconds.to_string()]);
        let output = visitor.output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let fields: Vec<&str> = said.split_ascii_whitespace().collect();
        let &["visited", p99, failed] = fields.as_slice() else {
            return Err(format!("visitors: {said}{}", String::from_utf8_lossy(&output.stderr)).into());
        };
        Ok(Self { p99: p99.parse()?, failed: failed.parse()? })
    }
}

/// The process of the visitors: prints the 99th percentile in milliseconds, and how many requests failed.
pub(crate) fn visit(address: SocketAddr, seconds: u32) -> Result<bool, Box<dyn Error>> {
    let visitors = [false, false, true, true]
        .map(|keeps| std::thread::spawn(move || Visitor { address, keeps, kept: None }.requests(seconds)));
    let (mut times, mut failed) = (Vec::new(), 0_u64);
    for visitor in visitors {
        for time in visitor.join().map_err(|_| "a visitor panicked")? {
            match time {
                Ok(time) => times.push(time),
                Err(_) => failed += 1,
            }
        }
    }
    times.sort();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or(PATIENCE);
    println!("visited {:.3} {failed}", p99.as_secs_f64() * 1e3);
    Ok(true)
}

struct Visitor {
    address: SocketAddr,
    keeps: bool,
    kept: Option<TcpStream>,
}

impl Visitor {
    fn requests(mut self, seconds: u32) -> Vec<io::Result<Duration>> {
        let (start, length) = (Instant::now(), Duration::from_secs(seconds.into()));
        let (mut due, mut times) = (start, Vec::new());
        while due - start < length {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            times.push(self.request().map(|()| due.elapsed()));
            due += PACE;
        }
        times
    }

    fn request(&mut self) -> io::Result<()> {
        let mut stream = match self.kept.take() {
            Some(stream) => stream,
            None => connect(self.address)?,
        };
        let fate = if self.keeps { "keep-alive" } else { "close" };
        let head = format!(
            "GET /page HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: {BROWSER}\r\nAccept: */*\r\nConnection: {fate}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        let is_last = answer(&mut stream)?;
        self.kept = (self.keeps && !is_last).then_some(stream);
        Ok(())
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Reads a whole page of the origin; whether the connection ends with it. Anything else is an error.
fn answer(stream: &mut TcpStream) -> io::Result<bool> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.ok_or(io::ErrorKind::InvalidData)?;
            if !head.starts_with("http/1.1 200 ") || !head.lines().any(|line| line == MARK) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if bytes.len() >= end + 4 + length {
                return Ok(head.lines().any(|line| line == "connection: close"));
            }
        }
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}
