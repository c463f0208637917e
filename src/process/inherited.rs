//! Sockets that were open before this process: those of a service manager (`sd_listen_fds(3)`), its own or
//! kept for us, and those of a running gateway that this one replaces.
//!
//! Whoever connects while one process goes and the next one comes waits in the queue of such a socket, and
//! is never refused.

use super::handover::{ask, path_beside};
use super::manager::{forget, kept_name};
use super::sockets::{SocketError, bind};
use listenfd::ListenFd;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
