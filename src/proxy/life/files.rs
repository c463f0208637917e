//! How many files the process may have open. Every connection is one, and another one to the origin.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the gateway needs besides connections.
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as the system lets it, and warns where that is not enough for so
/// many connections. Shells often start programs with 1,024, which a few hundred visitors use up. Root may go
/// beyond what it was started with, as far as is needed.
pub fn raise_open_files(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::try_from(connections).unwrap_or(u64::MAX).saturating_mul(2).saturating_add(OTHERS);
    // `None` is no limit.
    let sufficient = limit.maximum.map(|most| most.max(needed));
    let raised = |most| setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).is_ok();
    let current = [sufficient, limit.maximum].into_iter().find(|most| raised(*most)).unwrap_or(limit.current);
    if let Some(open_files) = current.filter(|limit| *limit < needed) {
        tracing::warn!(
            open_files,
            needed,
            "so many connections as `limits.connections` allows need more open files than this process may \
             have (LimitNOFILE, ulimit -n)"
        );
    }
}
