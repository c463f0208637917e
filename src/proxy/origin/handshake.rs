//! Connections for upgrade handshakes: the origin's answer is not looked at before the request is complete.
//!
//! Pingora reads the answer of an origin while it still passes on the (empty) body of the request. A `101`
//! that comes first makes it take the end of that body for the end of the tunnel. So after each write the
//! next few reads say "nothing yet": pingora polls the other side in between, and has passed the body on
//! before the answer can be seen. No time is waited; nothing else changes. Once the answer has begun that is over: in
//! the tunnel a client that goes on sending would keep the origin from being heard.

use async_trait::async_trait;
use pingora::connectors::l4::Connect;
use pingora::protocols::l4::socket::SocketAddr;
use pingora::protocols::l4::stream::Stream;
use pingora::protocols::l4::virt::{VirtualSockOpt, VirtualSocket, VirtualSocketStream};
use pingora::{Error, ErrorType, OrErr as _, Result};
use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// How many reads after a write see nothing. In the first round the request's side has not been asked yet;
/// in the second it has its end ready.
const BLIND_READS: u8 = 3;

/// Makes such connections.
#[derive(Debug)]
pub(super) struct Handshakes {
    /// How long connecting may take.
    pub(super) timeout: Duration,
}

#[async_trait]
impl Connect for Handshakes {
    async fn connect(&self, address: &SocketAddr) -> Result<Stream> {
        let connected = tokio::time::timeout(self.timeout, connected(address)).await;
        let socket = connected
            .map_err(|_| Error::explain(ErrorType::ConnectTimedout, "connecting for an upgrade"))?
            .or_err(ErrorType::ConnectRefused, "connecting for an upgrade")?;
        Ok(Stream::from(VirtualSocketStream::new(socket)))
    }
}

async fn connected(address: &SocketAddr) -> io::Result<Box<dyn VirtualSocket>> {
    match address {
        SocketAddr::Inet(address) => {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(Box::new(Patient::of(socket)))
        }
        SocketAddr::Unix(address) => {
            let path = address.as_pathname().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(Box::new(Patient::of(UnixStream::connect(path).await?)))
        }
    }
}

#[derive(Debug)]
struct Patient<S> {
    socket: S,
    /// How many reads are still to see nothing.
    blind: u8,
    /// Whether anything of the answer has been read.
    is_answered: bool,
}

impl<S> Patient<S> {
    const fn of(socket: S) -> Self {
        Self { socket, blind: 0, is_answered: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.blind > 0 {
            self.blind -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let read = Pin::new(&mut self.socket).poll_read(cx, out);
        self.is_answered |= read.is_ready();
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        if !self.is_answered {
            self.blind = BLIND_READS;
        }
        Pin::new(&mut self.socket).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + Sync + Debug> VirtualSocket for Patient<S> {
    /// Options are set when the connection is made.
    fn set_socket_option(&self, _: VirtualSockOpt) -> io::Result<()> {
        Ok(())
    }
}
