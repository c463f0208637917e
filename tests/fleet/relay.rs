//! The way between a member and the database, which can be cut, or carry nothing.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How often a way that carries nothing is looked at.
const STEP: Duration = Duration::from_millis(20);

/// What becomes of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayState {
    /// It arrives.
    Open,
    /// It waits, and so does whoever waits for an answer.
    Silent,
    /// Connections are closed, and none is made.
    Cut,
}

/// A port that leads to the database.
pub(crate) struct DatabaseRelay {
    port: u16,
    state: Arc<AtomicU8>,
}

impl DatabaseRelay {
    pub(crate) fn to(database: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(AtomicU8::new(RelayState::Open as u8));
        let known = Arc::clone(&state);
        std::thread::spawn(move || {
            for here in listener.incoming().filter_map(Result::ok) {
                if is(&known, RelayState::Cut) {
                    continue;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", database)) else { continue };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a copy of the socket");
                for (from, to) in [(copy(&here), copy(&there)), (there, here)] {
                    let known = Arc::clone(&known);
                    std::thread::spawn(move || carry(&from, &to, &known));
                }
            }
        });
        Self { port, state }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, state: RelayState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

fn is(state: &AtomicU8, wanted: RelayState) -> bool {
    state.load(Ordering::Relaxed) == wanted as u8
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, state: &AtomicU8) {
    from.set_read_timeout(Some(STEP)).expect("a time limit");
    let mut bytes = [0; 16_384];
    loop {
        let count = match from.read(&mut bytes) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            read => Some(read.unwrap_or(0)),
        };
        while is(state, RelayState::Silent) {
            std::thread::sleep(STEP);
        }
        let has_failed = count.is_some_and(|count| count == 0 || to.write_all(&bytes[..count]).is_err());
        if has_failed || is(state, RelayState::Cut) {
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return;
        }
    }
}
