//! The attackers' process: begins an attack, says when it is under way, and ends with the program that started it.

use super::kinds::{ATTACKS, Attack};
use crate::certificate::Certificate;
use crate::peers::Addresses;
use crate::process::{Processor, command};
use robots_gateway::process::raise_open_files;
use socket2::{Domain, Socket, Type};
use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No attack lasts longer than this, whatever becomes of whoever began it.
const MOST: Duration = Duration::from_secs(120);

/// How long an attacker waits for the gateway at any one point.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most connections that an attack holds.
const MOST_CONNECTIONS: usize = 16_000;

/// Connections of an attack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Toll {
    pub(super) opened: u64,
    /// Those of them that the gateway ended.
    pub(super) closed: u64,
}

/// A running attack, as the measuring program sees it.
#[derive(Debug)]
pub(super) struct Attackers {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Attackers {
    /// Begins `attack`, and waits until it is under way.
    pub(super) fn begin(
        attack: &Attack,
        addresses: Addresses,
        certificate: &Certificate,
    ) -> Result<Self, Box<dyn Error>> {
        let mut process = command(std::env::current_exe()?, Processor::Load);
        let Addresses { plain, tls } = addresses;
        process.args(["--besiege", attack.name, &plain.to_string(), &tls.to_string()]);
        process.arg(&certificate.chain).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process.spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut attackers = Self { child, output };
        let line = attackers.line()?;
        if line == "under way" { Ok(attackers) } else { Err(format!("{}: {line}", attack.name).into()) }
    }

    /// Ends it.
    pub(super) fn end(mut self) -> Result<Toll, Box<dyn Error>> {
        drop(self.child.stdin.take());
        let line = self.line()?;
        let mut counts = line.split(' ').map(str::parse);
        match (counts.next(), counts.next()) {
            (Some(Ok(opened)), Some(Ok(closed))) => Ok(Toll { opened, closed }),
            _ => Err(format!("attackers: {line}").into()),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An attack, as the attackers see it.
#[derive(Debug)]
pub(super) struct Siege {
    pub(super) plain: SocketAddr,
    pub(super) tls: SocketAddr,
    pub(super) certificate: PathBuf,
    start: Instant,
    is_under_way: AtomicBool,
    is_over: AtomicBool,
    opened: AtomicU64,
    closed: AtomicU64,
}

impl Siege {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.start.elapsed() > MOST
    }

    /// Says that the attack has come to its full strength.
    pub(super) fn is_under_way(&self) {
        self.is_under_way.store(true, Ordering::Relaxed);
    }

    /// Counts a connection that the gateway ended.
    pub(super) fn was_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// A new connection to `target` from one of many addresses of this machine.
    pub(super) fn connect(&self, target: SocketAddr, from: u32) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let source = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + from);
        socket.bind(&SocketAddr::from((source, 0)).into())?;
        socket.connect_timeout(&target.into(), PATIENCE)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }
}

/// The process of the attackers: `name` is the attack. It says when that is under way, goes on until its input ends, and
/// prints how many connections it opened, and how many of them the gateway ended.
pub(crate) fn besiege(
    name: &str,
    plain: SocketAddr,
    tls: SocketAddr,
    certificate: &Path,
) -> Result<bool, Box<dyn Error>> {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).ok_or("no such attack")?;
    let _ = raise_open_files(2 * MOST_CONNECTIONS as u64);
    let siege = Siege {
        plain,
        tls,
        certificate: certificate.to_owned(),
        start: Instant::now(),
        is_under_way: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
        opened: AtomicU64::new(0),
        closed: AtomicU64::new(0),
    };
    let waged = std::thread::scope(|scope| {
        let waged = scope.spawn(|| (attack.wage)(&siege));
        scope.spawn(|| {
            // It ends when whoever began the attack closes it, or ends.
            let _ = io::stdin().read_to_end(&mut Vec::new());
            siege.is_over.store(true, Ordering::Relaxed);
        });
        while !siege.is_under_way.load(Ordering::Relaxed) && !waged.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        if !waged.is_finished() {
            println!("under way");
        }
        waged.join()
    });
    waged.map_err(|_| "an attacker panicked")??;
    println!("{} {}", siege.opened.load(Ordering::Relaxed), siege.closed.load(Ordering::Relaxed));
    Ok(true)
}
