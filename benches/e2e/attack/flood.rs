//! Attackers by rate: a bounded number of blows in a second, shared by a few threads.

use super::attacker::Siege;
use std::io::{self, ErrorKind};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Threads that strike.
const WORKERS: u32 = 8;

/// From how many addresses they come.
const ADDRESSES: u32 = 16;

/// Strikes so often in a second, until the attack is over. A blow gets the number of itself, which differs from that of
/// any other, and says whether the gateway ended its connection.
pub(super) fn wage(
    siege: &Siege,
    per_second: u32,
    blow: impl Fn(&Siege, u32) -> io::Result<bool> + Sync,
) -> io::Result<()> {
    let (start, between) = (Instant::now(), Duration::from_secs(1) * WORKERS / per_second);
    let strike = |worker: u32| {
        let (mut due, mut number) = (start + between * worker / WORKERS, worker);
        while !siege.is_over() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if is_ended(blow(siege, number))? {
                siege.was_closed();
            }
            number = number.wrapping_add(WORKERS);
            // Who was held up does not make up for it: the rate is a bound.
            due = (due + between).max(Instant::now());
            siege.is_under_way();
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || strike(worker))).collect();
        let join = |worker: ScopedJoinHandle<'_, io::Result<()>>| {
            worker.join().unwrap_or_else(|_| Err(io::Error::other("an attacker panicked")))
        };
        workers.into_iter().try_for_each(join)
    })
}

/// Whether the gateway ended the connection of a blow. An error is one of the attackers' own means, which would make it
/// a weaker attack.
fn is_ended(blow: io::Result<bool>) -> io::Result<bool> {
    match blow {
        // The gateway was given its time and did nothing.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => Err(error),
        Err(_) => Ok(true),
        Ok(is_ended) => Ok(is_ended),
    }
}

/// The address that blow `number` comes from.
pub(super) const fn source(number: u32) -> u32 {
    number % ADDRESSES
}

/// Reads what the gateway says, until it ends the connection.
pub(super) fn read_out(stream: &mut impl io::Read) -> io::Result<bool> {
    let mut bytes = [0; 16_384];
    while stream.read(&mut bytes)? > 0 {}
    Ok(true)
}
