//! Sockets, bound before anything else runs: a taken port is an error at start, not a surprise later. Or open before this
//! process: those of a service manager (`sd_listen_fds(3)`), its own or kept for us, and those of a running gateway that
//! this one replaces. Whoever connects while one process goes and the next one comes waits in the queue of such a socket,
//! and is never refused.
//!
//! A gateway hands its sockets over through a Unix socket that only our own user can open. The successor asks, gets copies
//! of the descriptors (`SCM_RIGHTS`, `unix(7)`), and says one byte when it serves. Until then nothing changes for the one
//! that runs: a successor that fails has cost nothing.

use super::signals::{forget, kept_name};
use crate::record::beside;
use listenfd::ListenFd;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use socket2::{Domain, Socket, Type};
use std::fs::DirBuilder;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, Interest};

/// Why a socket cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}{}", self.cause())]
pub struct SocketError {
    /// The address or path.
    pub address: String,
    /// What the system said.
    pub source: io::Error,
}

impl SocketError {
    fn cause(&self) -> &'static str {
        match self.source.kind() {
            ErrorKind::AddrInUse => " (another process listens there)",
            ErrorKind::PermissionDenied if !self.address.contains('/') => {
                " (ports below 1024 need CAP_NET_BIND_SERVICE)"
            }
            ErrorKind::AlreadyExists => " (something that is not a socket has this name, and is left alone)",
            _ => "",
        }
    }
}

/// Binds a TCP address.
///
/// # Errors
/// When it is taken, not ours, or needs a right this process lacks.
pub fn bind(address: SocketAddr) -> Result<TcpListener, SocketError> {
    let bound = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            // So that `[::]:80` and `0.0.0.0:80` can stand side by side.
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    bound().map_err(|source| SocketError { address: address.to_string(), source })
}

/// How many connections may wait to be accepted, as far as the system allows: bursts are not refused.
const BACKLOG: i32 = 65_535;

/// The control socket: only its owner may open it, and it goes when it is closed.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    inode: u64,
    pub(crate) listener: UnixListener,
}

impl ControlSocket {
    /// Whether a control socket may be put at `path`: nothing is there, or a socket.
    ///
    /// # Errors
    /// When it is a file of another kind, which would be destroyed.
    pub fn check_place(path: &Path) -> Result<(), SocketError> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
            let (address, source) = (path.display().to_string(), ErrorKind::AlreadyExists.into());
            return Err(SocketError { address, source });
        }
        Ok(())
    }

    /// Binds `path` with mode 0600, in a folder that is made if it is missing.
    ///
    /// The socket gets its rights under another name and is then renamed into place, so that nobody can
    /// open it in between. A socket that a dead process left behind is replaced.
    ///
    /// # Errors
    /// When another gateway answers there (`AddrInUse`), when something else than a socket is there
    /// (`AlreadyExists`), or when the folder cannot be written.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        Self::try_bind(path).map_err(|source| SocketError { address: path.display().to_string(), source })
    }

    fn try_bind(path: &Path) -> io::Result<Self> {
        Self::check_place(path).map_err(|error| error.source)?;
        if connected(path)?.is_some() {
            return Err(ErrorKind::AddrInUse.into());
        }
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let unready = beside(path, &format!(".{}", std::process::id()));
        // What an earlier process of the same number left behind.
        let _ = std::fs::remove_file(&unready);
        let listener = UnixListener::bind(&unready)?;
        std::fs::set_permissions(&unready, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        std::fs::rename(&unready, path)?;
        let inode = std::fs::metadata(path)?.ino();
        Ok(Self { path: path.to_owned(), inode, listener })
    }

    /// Takes the socket away. A newer process may have put its own there; that one stays.
    pub(crate) fn close(self) {
        if std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A connection to whoever listens at `path`; `None` where nobody does, be it that a dead process left its socket behind.
fn connected(path: &Path) -> io::Result<Option<UnixStream>> {
    match UnixStream::connect(path).map(Some) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        connected => connected,
    }
}

/// Sockets by address, to be taken instead of being bound.
#[derive(Debug, Default)]
pub struct Inherited {
    sockets: Vec<(SocketAddr, TcpListener)>,
    /// Of those, the ones that the service manager keeps for us.
    kept: Vec<SocketAddr>,
    /// Addresses of those that are the service manager's own, which need not be kept.
    pub(crate) held: Vec<SocketAddr>,
    /// The gateway that this one replaces.
    pub(crate) predecessor: Option<UnixStream>,
}

impl Inherited {
    /// The sockets that there are: the service manager's and, where `upgrade` says so, those of the gateway
    /// whose control socket is at `control`.
    ///
    /// # Errors
    /// When there are some that cannot be taken.
    pub fn take(control: &Path, upgrade: bool) -> io::Result<Self> {
        let mut inherited = Self::default();
        let unusable = failed("a socket of the service manager cannot be used");
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut manager = ListenFd::from_env();
        for index in 0..manager.len() {
            let name = names.next();
            if let Some(socket) = manager.take_tcp_listener(index).map_err(unusable)? {
                let address = inherited.add(socket).map_err(unusable)?;
                let is_kept = name == Some(&kept_name(address));
                if is_kept { &mut inherited.kept } else { &mut inherited.held }.push(address);
            }
        }
        if upgrade {
            let refused = failed("the running gateway does not hand over its sockets");
            if let Some((predecessor, sockets)) = ask(&path_beside(control)).map_err(refused)? {
                for socket in sockets {
                    inherited.add(socket).map_err(refused)?;
                }
                inherited.predecessor = Some(predecessor);
            } else {
                tracing::info!("no gateway is running that could hand over its sockets");
            }
        }
        Ok(inherited)
    }

    fn add(&mut self, socket: TcpListener) -> io::Result<SocketAddr> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        self.sockets.push((address, socket));
        Ok(address)
    }

    /// The sockets that listen on `addresses`: the inherited ones, or new ones. Other inherited ones are closed: their
    /// clients would wait for nothing.
    ///
    /// # Errors
    /// When one has to be bound, and cannot be.
    pub fn listen(&mut self, addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, SocketError> {
        let fits_one = |own: SocketAddr| addresses.iter().any(|address| fits(own, *address));
        let (mut wanted, rest): (Vec<_>, Vec<_>) =
            self.sockets.drain(..).partition(|(own, _)| fits_one(*own));
        for (own, socket) in rest {
            if self.kept.contains(&own) {
                // The service manager has a copy, which would be in the way of others: nobody listens on all addresses
                // while one of them is taken. What listens no more cannot be told to stop either.
                let _ = shutdown(&socket, Shutdown::Both);
                forget(own);
            } else {
                tracing::warn!(address = %own, "a socket was handed over, and the configuration does not listen there");
            }
        }
        let listen = |address: &SocketAddr| match wanted.iter().position(|(own, _)| fits(*own, *address)) {
            Some(index) => Ok(wanted.remove(index).1),
            None => bind(*address),
        };
        addresses.iter().map(listen).collect()
    }
}

/// Says what an error was the reason of.
fn failed(what: &str) -> impl Fn(io::Error) -> io::Error + Copy {
    move |error| io::Error::other(format!("{what}: {error}"))
}

/// Whether a socket on `own` is one for `address`, whose port may be any.
fn fits(own: SocketAddr, address: SocketAddr) -> bool {
    own == address || (address.port() == 0 && own.ip() == address.ip())
}

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
    let process = stream.peer_cred().ok().and_then(|peer| u32::try_from(peer.pid()?).ok());
    let process = process.filter(|process| *process > 0);
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
    if said == READY { Ok(process) } else { Err(ErrorKind::InvalidData.into()) }
}

/// Asks the gateway at `path` for its sockets, which come with the connection to it; `None` where none is running.
fn ask(path: &Path) -> io::Result<Option<(UnixStream, Vec<TcpListener>)>> {
    let Some(stream) = connected(path)? else { return Ok(None) };
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 || byte != [SOCKETS] {
        return Err(ErrorKind::InvalidData.into());
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

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("{name}-{}", std::process::id())).join("control.sock")
    }

    #[test]
    fn only_the_owner_may_open_the_control_socket() {
        let path = path("control-mode");
        let socket = ControlSocket::bind(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        socket.close();
        assert!(!path.exists());
        std::fs::remove_dir(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_living_gateway_keeps_its_socket_and_a_dead_one_loses_it() {
        let path = path("control-taken");
        let socket = ControlSocket::bind(&path).unwrap();
        let taken = ControlSocket::bind(&path).unwrap_err();
        assert_eq!(taken.source.kind(), ErrorKind::AddrInUse);
        socket.close();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a dead socket is left behind");
        ControlSocket::bind(&path).unwrap().close();
        std::fs::remove_dir(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let path = path("control-file");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "precious").unwrap();
        let error = ControlSocket::bind(&path).unwrap_err();
        assert_eq!(error.source.kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn both_families_can_listen_on_one_port() {
        let v4 = bind("0.0.0.0:0".parse().unwrap()).unwrap();
        let port = v4.local_addr().unwrap().port();
        // Where the system has no IPv6 there is nothing to show.
        if let Err(error) = bind(format!("[::]:{port}").parse().unwrap()) {
            assert_ne!(error.source.kind(), ErrorKind::AddrInUse, "{error}");
        }
    }

    #[test]
    fn a_taken_port_is_an_error_at_once() {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = bind(first.local_addr().unwrap()).unwrap_err();
        assert!(error.to_string().contains("another process listens there"), "{error}");
    }

    #[test]
    fn a_kept_socket_that_is_not_wanted_is_in_nobodys_way() {
        let mut inherited = Inherited::default();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        // As the service manager has one.
        let _copy = socket.try_clone().unwrap();
        let kept = inherited.add(socket).unwrap();
        inherited.kept.push(kept);
        let all: SocketAddr = format!("0.0.0.0:{}", kept.port()).parse().unwrap();
        assert!(bind(all).is_err());
        inherited.listen(&[all]).unwrap();
    }

    #[test]
    fn an_inherited_socket_is_taken_and_what_is_missing_is_bound() {
        let mut inherited = Inherited::default();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        inherited.add(socket).unwrap();
        let sockets = inherited.listen(&["127.0.0.2:0".parse().unwrap(), address]).unwrap();
        assert_eq!(sockets[0].local_addr().unwrap().ip().to_string(), "127.0.0.2");
        assert_eq!(sockets[1].local_addr().unwrap(), address);
        assert!(inherited.predecessor.is_none() && inherited.sockets.is_empty());
    }

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
