//! Sockets, bound before anything else runs: a taken port is an error at start, not a surprise later.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why a socket cannot be had.
#[derive(Debug)]
pub struct BindError {
    /// The address or path.
    pub address: String,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cannot listen on {}", self.address)?;
        match self.source.kind() {
            io::ErrorKind::AddrInUse => out.write_str(" (another process listens there)"),
            io::ErrorKind::PermissionDenied => out.write_str(" (ports below 1024 need CAP_NET_BIND_SERVICE)"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Binds a TCP address.
///
/// # Errors
/// When it is taken, not ours, or needs a right this process lacks.
pub fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    let error = |source| BindError { address: address.to_string(), source };
    let listener = TcpListener::bind(address).map_err(error)?;
    listener.set_nonblocking(true).map_err(error)?;
    Ok(listener)
}

/// The control socket: only its owner may open it, and it goes when the gateway goes.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    inode: u64,
    listener: UnixListener,
}

impl ControlSocket {
    /// Binds `path` with mode 0600, in a folder that is made if it is missing.
    ///
    /// The socket gets its rights under another name and is then renamed into place, so that nobody can
    /// open it in between. A socket that a dead process left behind is replaced.
    ///
    /// # Errors
    /// When another gateway answers there (`AddrInUse`), or the folder cannot be written.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        Self::try_bind(path).map_err(|source| BindError { address: path.display().to_string(), source })
    }

    fn try_bind(path: &Path) -> io::Result<Self> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            std::fs::create_dir_all(folder)?;
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}", std::process::id()));
        let unready = PathBuf::from(name);
        // What an earlier process of the same number left behind.
        let _ = std::fs::remove_file(&unready);
        let listener = UnixListener::bind(&unready)?;
        std::fs::set_permissions(&unready, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        std::fs::rename(&unready, path)?;
        let inode = std::fs::metadata(path)?.ino();
        Ok(Self { path: path.to_owned(), inode, listener })
    }

    pub(super) fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // A newer process may have put its own socket there; that one stays.
        if std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
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
        drop(socket);
        assert!(!path.exists());
        std::fs::remove_dir(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_living_gateway_keeps_its_socket_and_a_dead_one_loses_it() {
        let path = path("control-taken");
        let socket = ControlSocket::bind(&path).unwrap();
        let taken = ControlSocket::bind(&path).unwrap_err();
        assert_eq!(taken.source.kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a dead socket is left behind");
        drop(ControlSocket::bind(&path).unwrap());
        std::fs::remove_dir(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_taken_port_is_an_error_at_once() {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = bind(first.local_addr().unwrap()).unwrap_err();
        assert!(error.to_string().contains("another process listens there"), "{error}");
    }
}
