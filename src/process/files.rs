//! How many files the process may have open. Every connection is one, and another one to the origin.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
pub(crate) fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
