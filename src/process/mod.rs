//! Inherited sockets, systemd notification, hand-over to the next process, and signals. And what the process uses, and how
//! many files it may have open: every connection is one, and another one to the origin.

mod signals;
mod sockets;

pub use signals::terminate;
pub(crate) use signals::{Signals, Stop, keep, stay_alive, tell_leaving, tell_ready};
pub use sockets::{ControlSocket, Inherited, SocketError, bind};
pub(crate) use sockets::{give_away, path_beside, tell_taken};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The processor time that this process has used since its start.
pub fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// The memory that it has in bytes; `None` where the system does not say (`VmRSS:  1234 kB`, `proc_pid_status(5)`).
pub fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The most files that it may have open; `None` where there is no limit.
pub fn most_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Raises the limit of open files as far as the system lets it, and says what it is then; `None` where there is none. Shells
/// often start programs with 1,024, which a few hundred visitors use up. Root may go beyond what it was started with, as
/// far as is needed.
pub fn raise_open_files(needed: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let sufficient = limit.maximum.map(|most| most.max(needed));
    let raised = |most| setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).is_ok();
    [sufficient, limit.maximum].into_iter().find(|most| raised(*most)).unwrap_or(limit.current)
}

/// How many are open.
pub fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
