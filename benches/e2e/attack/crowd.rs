//! Attackers by number: many connections that are held open and do little or nothing.

use super::attacker::Siege;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How often the crowd is looked after, and in how many such turns everybody has had one.
const TURN: Duration = Duration::from_millis(10);
const TURNS: usize = 100;

/// A crowd.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Connections that are held. One that the gateway closes is opened again.
    pub(super) size: usize,
    /// From how many addresses they come.
    pub(super) addresses: u32,
    /// How many are opened in a second at most.
    pub(super) per_second: usize,
    /// Where they go, in turn.
    pub(super) targets: Vec<SocketAddr>,
    /// What each of them sends at first.
    pub(super) opening: Vec<u8>,
    /// What each of them sends once a second from then on.
    pub(super) drip: &'static [u8],
}

impl Crowd {
    /// Gathers, and stays until the attack is over.
    pub(super) fn wage(self, siege: &Siege) -> io::Result<()> {
        let (start, mut crowd, mut number, mut turn) = (Instant::now(), Vec::new(), 0_usize, 0);
        while !siege.is_over() {
            for _ in 0..self.per_second / TURNS {
                if crowd.len() < self.size {
                    number += 1;
                    crowd.extend(self.open(siege, number)?);
                }
            }
            turn = (turn + 1) % TURNS;
            let from = crowd.len() * turn / TURNS;
            let share = crowd.len().div_ceil(TURNS).min(crowd.len() - from);
            for at in (from..from + share).rev() {
                if crowd.get_mut(at).is_some_and(|stream| !self.is_open(stream)) {
                    crowd.swap_remove(at);
                    siege.was_closed();
                }
            }
            // Where the gateway takes fewer, these are all there will be.
            if number >= self.size {
                siege.is_under_way();
            }
            let next = start + TURN * u32::try_from(start.elapsed().as_millis() / 10 + 1).unwrap_or(u32::MAX);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// One more; `None` where the gateway did not want it.
    fn open(&self, siege: &Siege, number: usize) -> io::Result<Option<TcpStream>> {
        let target = self.targets.get(number % self.targets.len()).copied().unwrap_or(siege.plain);
        let from = u32::try_from(number).unwrap_or_default() % self.addresses;
        let stream = match siege.connect(target, from) {
            Ok(stream) => stream,
            Err(error) if is_the_gateways(&error) => return Ok(None),
            // The attacker's own limits would make it a weaker attack.
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        let opened = (&stream).write_all(&self.opening);
        Ok(opened.is_ok().then_some(stream))
    }

    /// Reads what has come, and sends the next drip.
    fn is_open(&self, stream: &mut TcpStream) -> bool {
        let mut bytes = [0; 4_096];
        let read = match stream.read(&mut bytes) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        read && stream.write_all(self.drip).is_ok()
    }
}

fn is_the_gateways(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::TimedOut)
}
