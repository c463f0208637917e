//! A server under measurement: its process, what it costs, and its end.

use std::error::Error;
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a server is left alone before its costs are read: what it records may be written a moment later.
const SETTLING: Duration = Duration::from_millis(400);

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// One process, without children, ended on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    address: SocketAddr,
}

/// Processor time since the start of a process, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) user: f64,
    pub(crate) system: f64,
}

impl Cpu {
    /// All that was spent since `before`.
    pub(crate) const fn since(self, before: Self) -> f64 {
        self.user + self.system - before.user - before.system
    }
}

impl Running {
    /// Starts `command`, which is to listen on `address`, and waits until it does. What it says goes to `log`.
    pub(crate) fn start(
        mut command: Command,
        address: SocketAddr,
        log: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let output = File::create(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let mut running = Self { child, address };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if running.child.try_wait()?.is_some() || Instant::now() > deadline {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("{program} does not listen on {address}; it said:\n{said}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(running)
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Processor time of all its threads, ended ones too (proc(5), fields 14 and 15 of `stat`).
    pub(crate) fn cpu(&self) -> Result<Cpu, Box<dyn Error>> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in field 2 may hold spaces; what follows its bracket does not.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = rest.split_ascii_whitespace().skip(11);
        let mut seconds =
            || -> Option<f64> { Some(fields.next()?.parse::<f64>().ok()? / ticks_per_second()) };
        let cpu = seconds().zip(seconds()).ok_or("an unreadable /proc/PID/stat")?;
        Ok(Cpu { user: cpu.0, system: cpu.1 })
    }

    /// How long its threads called `name` were ready to run while others had the processor, in seconds (the second
    /// field of `/proc/PID/task/TID/schedstat`, nanoseconds).
    pub(crate) fn kept_waiting(&self, name: &str) -> Result<f64, Box<dyn Error>> {
        let mut waited = Duration::ZERO;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let thread = thread?.path();
            if std::fs::read_to_string(thread.join("comm"))?.trim_end() != name {
                continue;
            }
            let statistics = std::fs::read_to_string(thread.join("schedstat"))?;
            let field = statistics.split_ascii_whitespace().nth(1).ok_or("an unreadable schedstat")?;
            waited += Duration::from_nanos(field.parse()?);
        }
        Ok(waited.as_secs_f64())
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<u64, Box<dyn Error>> {
        self.status("VmRSS:")
    }

    /// The most resident memory it ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> Result<u64, Box<dyn Error>> {
        self.status("VmHWM:")
    }

    /// A size in bytes (proc(5), `/proc/PID/status`).
    fn status(&self, name: &str) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such size")?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<(), Box<dyn Error>> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until servers have done what they owe to the load that has ended.
pub(crate) fn settle() {
    std::thread::sleep(SETTLING);
}

fn ticks_per_second() -> f64 {
    static TICKS: OnceLock<f64> = OnceLock::new();
    *TICKS.get_or_init(|| {
        let output = Command::new("getconf").arg("CLK_TCK").output().ok();
        let ticks = output.and_then(|output| String::from_utf8_lossy(&output.stdout).trim().parse().ok());
        // What every Linux on a common processor has.
        ticks.unwrap_or(100.0)
    })
}

/// An address that nobody listened on a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr, Box<dyn Error>> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Whether a program can be run.
pub(crate) fn is_installed(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", "PATH=$PATH:/usr/sbin:/sbin; command -v \"$0\"", program]).output();
    found.is_ok_and(|output| output.status.success())
}

/// On which processors servers and loads run: apart, so that neither takes the other's time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Processor {
    /// The first processor.
    Server,
    /// All others: the origin and the load.
    Load,
    /// Wherever the system puts it.
    Anywhere,
}

/// Whether [`Processor`]s can be told apart here.
pub(crate) fn has_places() -> bool {
    processors() > 1 && is_installed("taskset")
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A command for `program` at `place`.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, place: Processor) -> Command {
    let list = match place {
        Processor::Server => "0".to_owned(),
        Processor::Load => format!("1-{}", processors().saturating_sub(1)),
        Processor::Anywhere => String::new(),
    };
    let mut command = if list.is_empty() || !has_places() {
        Command::new(program)
    } else {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", &list]).arg(program);
        pinned
    };
    // nginx and HAProxy are often kept where only root looks.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}
