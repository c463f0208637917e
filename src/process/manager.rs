//! What the service manager is told (`sd_notify(3)`): ready, reloading, stopping, and that we still live.
//!
//! Without `NOTIFY_SOCKET` nobody wants to be told, and nothing is sent.

use super::Stop;
use rustix::cmsg_space;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg_addr};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The other end, if there is one.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddrUnix)>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The service manager that the environment names. Whoever was started by a `predecessor` has that one's
    /// environment.
    pub(crate) fn from_environment(predecessor: Option<u32>) -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let socket = socket.and_then(|name| match open(&name) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(socket = %name.display(), "cannot notify the service manager: {error}");
                None
            }
        });
        Self { socket, watchdog: watchdog(predecessor) }
    }

    /// Everything listens, and requests are answered.
    pub(crate) fn ready(&self) {
        self.notify("READY=1\nSTATUS=serving");
    }

    /// A reload begins; [`Self::ready`] says that it is over.
    pub(crate) fn reloading(&self) {
        let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_micros()));
    }

    /// The process is about to end. Where another one goes on as this service it is named instead: the
    /// service is not stopping, and the manager follows that one from now on. It only listens to the process
    /// that it follows, so nobody but the former one can say so.
    pub(crate) fn leaving(&self, stop: Stop) {
        match stop {
            Stop::Successor { process: Some(process) } => self.notify(&format!("MAINPID={process}")),
            _ => self.notify("STOPPING=1\nSTATUS=finishing requests"),
        }
    }

    /// Says for ever that we live, twice as often as is asked for. First it waits for `answer`, which comes from where
    /// requests run: where they do not get their turn, nothing is said, and the service manager starts the gateway
    /// anew.
    pub(crate) async fn stay_alive<F: Future<Output = ()>>(&self, answer: impl Fn() -> F) {
        let Some(period) = self.watchdog.filter(|_| self.socket.is_some()) else {
            return std::future::pending().await;
        };
        loop {
            answer().await;
            self.notify("WATCHDOG=1");
            tokio::time::sleep(period / 2).await;
        }
    }

    /// Has a copy of a listening socket kept for the process that follows, should we be started anew: until it
    /// listens, clients wait in the queue (`sd_pid_notify_with_fds(3)`). It is given up when the service stops.
    pub(crate) fn keep(&self, address: SocketAddr, socket: impl AsFd) {
        self.notify_with(&format!("FDSTORE=1\nFDNAME={}", kept_name(address)), &[socket.as_fd()]);
    }

    /// Has the manager close what it keeps and nobody listens to any more.
    pub(crate) fn forget(&self, address: SocketAddr) {
        self.notify(&format!("FDSTOREREMOVE=1\nFDNAME={}", kept_name(address)));
    }

    fn notify(&self, state: &str) {
        self.notify_with(state, &[]);
    }

    /// Says something and hands over one descriptor, or none.
    fn notify_with(&self, state: &str, descriptors: &[BorrowedFd<'_>]) {
        let Some((socket, address)) = &self.socket else { return };
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let bytes = [IoSlice::new(state.as_bytes())];
        if let Err(error) = sendmsg_addr(socket, address, &bytes, &mut control, SendFlags::NOSIGNAL) {
            tracing::debug!("cannot tell the service manager {state:?}: {error}");
        }
    }
}

/// What the socket of an address is called while it is kept. A colon would end the name.
pub(super) fn kept_name(address: SocketAddr) -> String {
    format!("kept_{}", address.to_string().replace(':', "_"))
}

/// A path, or after an `@` a name in the abstract namespace.
fn open(name: &OsStr) -> io::Result<(UnixDatagram, SocketAddrUnix)> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A manager that does not read must not hold up the gateway.
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// How long we may be silent (`sd_watchdog_enabled(3)`); what a predecessor had to say is ours to say now.
fn watchdog(predecessor: Option<u32>) -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let ours = [Some(std::process::id()), predecessor];
    let is_ours =
        number("WATCHDOG_PID").is_none_or(|pid| ours.into_iter().flatten().any(|own| pid == u64::from(own)));
    let period = number("WATCHDOG_USEC").filter(|micros| *micros > 0 && is_ours)?;
    Some(Duration::from_micros(period))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt as _;

    #[test]
    fn what_is_told_arrives_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("notify-test-{}", std::process::id());
        let places = [
            (UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
            (
                UnixDatagram::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap())
                    .unwrap(),
                format!("@{name}").into(),
            ),
        ];
        for (manager, place) in places {
            let told = ServiceManager { socket: Some(open(&place).unwrap()), watchdog: None };
            told.ready();
            told.reloading();
            let mut bytes = [0; 256];
            let count = manager.recv(&mut bytes).unwrap();
            assert!(bytes[..count].starts_with(b"READY=1\n"));
            let count = manager.recv(&mut bytes).unwrap();
            assert!(bytes[..count].starts_with(b"RELOADING=1\nMONOTONIC_USEC="));
        }
    }

    #[test]
    fn without_a_manager_nothing_is_said() {
        ServiceManager { socket: None, watchdog: None }.ready();
    }
}
