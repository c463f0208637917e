//! Sockets, bound before anything else runs: a taken port is an error at start, not a surprise later.

use crate::record::beside;
use socket2::{Domain, Socket, Type};
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

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
pub(super) fn connected(path: &Path) -> io::Result<Option<UnixStream>> {
    match UnixStream::connect(path).map(Some) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        connected => connected,
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
}
