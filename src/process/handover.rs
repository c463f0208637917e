//! Handing listening sockets to a successor, over a Unix socket that only our own user can open.
//!
//! The successor asks, gets copies of the descriptors (`SCM_RIGHTS`, `unix(7)`), and says one byte when it
//! serves. Until then nothing changes for the one that runs: a successor that fails has cost nothing.

use super::sockets::connected;
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

/// Gives `sockets` to whoever asks, until one says that it serves; which process that is. They are copies, to be dropped when
/// the gateway stops: while one is open, clients can connect.
pub(crate) async fn give_away(sockets: Vec<TcpListener>, listener: tokio::net::UnixListener) -> Option<u32> {
    loop {
        let given = async {
            let (stream, _) = listener.accept().await?;
            let patience = |_| io::Error::other(format!("it does not serve within {PATIENCE:?}"));
            tokio::time::timeout(PATIENCE, give(&sockets, stream)).await.map_err(patience)?
        };
        match given.await {
            Ok(process) => return process,
            Err(error) => tracing::warn!("no new process has taken over the sockets: {error}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn give(sockets: &[TcpListener], mut stream: tokio::net::UnixStream) -> io::Result<Option<u32>> {
    // Unknown where it is none that this process could name.
    let process = socket_peercred(&stream).ok().map(|peer| peer.pid.as_raw_nonzero().get());
    tracing::info!(process, "handing over the sockets to the new process");
    let descriptors: Vec<BorrowedFd<'_>> = sockets.iter().take(MOST).map(AsFd::as_fd).collect();
    let send = || {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        Ok(sendmsg(&stream, &[IoSlice::new(&[SOCKETS])], &mut control, SendFlags::NOSIGNAL)?)
    };
    stream.async_io(Interest::WRITABLE, send).await?;
    let said = stream.read_u8().await?;
    let process = process.and_then(|process| u32::try_from(process).ok());
    if said == READY { Ok(process) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Asks the gateway at `path` for its sockets, which come with the connection to it; `None` where none is running.
pub(super) fn ask(path: &Path) -> io::Result<Option<(UnixStream, Vec<TcpListener>)>> {
    let Some(stream) = connected(path)? else { return Ok(None) };
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
    Ok(Some((stream, descriptors.flatten().map(TcpListener::from).collect())))
}

/// Says to the gateway at the other end that we serve.
pub(crate) fn tell_taken(mut predecessor: UnixStream) {
    match predecessor.write_all(&[READY]) {
        Ok(()) => tracing::info!("took over the sockets of the running gateway"),
        Err(error) => tracing::warn!("the former gateway ended before the hand-over did: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_changes_hands_and_goes_on_listening() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_beside(&folder.path().join("control.sock"));
        assert!(ask(&path).unwrap().is_none());
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let waiting = tokio::spawn(give_away(vec![socket], listener));
        let asked = || {
            let path = path.clone();
            tokio::task::spawn_blocking(move || ask(&path).unwrap().unwrap())
        };
        // One that fails changes nothing.
        drop(asked().await.unwrap());
        let (predecessor, sockets) = asked().await.unwrap();
        assert_eq!(sockets.len(), 1);
        assert_eq!(sockets[0].local_addr().unwrap(), address);
        tell_taken(predecessor);
        assert_eq!(waiting.await.unwrap(), Some(std::process::id()), "here both are one process");
        std::net::TcpStream::connect(address).unwrap();
        drop(sockets);
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
