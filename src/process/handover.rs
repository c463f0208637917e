//! Handing listening sockets to a successor, over a Unix socket that only our own user can open.
//!
//! The successor asks, gets copies of the descriptors (`SCM_RIGHTS`, `unix(7)`), and says one byte when it
//! serves. Until then nothing changes for the one that runs: a successor that fails has cost nothing.

use crate::record::beside;
use rustix::cmsg_space;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, Interest};

/// As many descriptors as one message carries here; Linux takes 253 (`SCM_MAX_FD`).
const MOST: usize = 128;

/// What comes with the descriptors, and what the successor says when it serves.
const SOCKETS: u8 = b'S';
const READY: u8 = b'R';

/// How long a successor may take to load everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a gateway whose control socket is at `control` hands over its sockets.
pub(crate) fn path_beside(control: &Path) -> PathBuf {
    beside(control, ".handover")
}

/// The process at the other end; unknown where it is none that this process could name.
fn process_at(stream: impl AsFd) -> Option<u32> {
    let process = socket_peercred(stream).ok()?.pid.as_raw_nonzero().get();
    u32::try_from(process).ok()
}

/// What the running gateway gives away.
#[derive(Debug)]
pub(crate) struct Handover(Vec<TcpListener>);

impl Handover {
    /// Copies of `sockets`, to be dropped when the gateway stops: while one is open, clients can connect.
    pub(crate) fn of<'a>(sockets: impl Iterator<Item = &'a TcpListener>) -> io::Result<Self> {
        sockets.map(TcpListener::try_clone).collect::<io::Result<_>>().map(Self)
    }

    /// Gives them to whoever asks, until one says that it serves; which process that is.
    pub(crate) async fn wait(self, listener: tokio::net::UnixListener) -> Option<u32> {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => match tokio::time::timeout(PATIENCE, self.give(stream)).await {
                    Ok(Ok(process)) => return process,
                    Ok(Err(error)) => tracing::warn!("the new process ended before it served: {error}"),
                    Err(_) => tracing::warn!("the new process did not serve within {PATIENCE:?}"),
                },
                Err(error) => {
                    tracing::warn!("cannot hand over sockets: {error}");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    async fn give(&self, mut stream: tokio::net::UnixStream) -> io::Result<Option<u32>> {
        tracing::info!("handing over the sockets to the new process");
        let process = process_at(&stream);
        stream.async_io(Interest::WRITABLE, || self.send(stream.as_fd())).await?;
        let said = stream.read_u8().await?;
        if said == READY { Ok(process) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn send(&self, stream: BorrowedFd<'_>) -> io::Result<()> {
        let descriptors: Vec<BorrowedFd<'_>> = self.0.iter().take(MOST).map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        sendmsg(stream, &[IoSlice::new(&[SOCKETS])], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Our end of the connection to the gateway that hands over.
#[derive(Debug)]
pub(crate) struct Predecessor(UnixStream);

impl Predecessor {
    /// Asks the gateway at `path` for its sockets; `None` where none is running.
    pub(super) fn ask(path: &Path) -> io::Result<Option<(Self, Vec<TcpListener>)>> {
        let is_none = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
        };
        let stream = match UnixStream::connect(path) {
            Err(error) if is_none(&error) => return Ok(None),
            stream => stream?,
        };
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if received.bytes == 0 || byte != [SOCKETS] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let descriptors = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        Ok(Some((Self(stream), descriptors.flatten().map(TcpListener::from).collect())))
    }

    /// Says that we serve.
    pub(crate) fn tell_ready(mut self) {
        match self.0.write_all(&[READY]) {
            Ok(()) => tracing::info!("took over the sockets of the running gateway"),
            Err(error) => tracing::warn!("the former gateway ended before the hand-over did: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_changes_hands_and_goes_on_listening() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_beside(&folder.path().join("control.sock"));
        assert!(Predecessor::ask(&path).unwrap().is_none());
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let handover = Handover::of([&socket].into_iter()).unwrap();
        drop(socket);
        let waiting = tokio::spawn(handover.wait(tokio::net::UnixListener::bind(&path).unwrap()));
        let ask = || {
            let path = path.clone();
            tokio::task::spawn_blocking(move || Predecessor::ask(&path).unwrap().unwrap())
        };
        // One that fails changes nothing.
        drop(ask().await.unwrap());
        let (predecessor, sockets) = ask().await.unwrap();
        assert_eq!(sockets.len(), 1);
        assert_eq!(sockets[0].local_addr().unwrap(), address);
        predecessor.tell_ready();
        assert_eq!(waiting.await.unwrap(), Some(std::process::id()), "here both are one process");
        std::net::TcpStream::connect(address).unwrap();
        drop(sockets);
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
