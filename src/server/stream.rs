//! A client's bytes, as the loop of its connection reads and writes them.

use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::TlsStream;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, Interest, ReadBuf};
use tokio::net::TcpStream;

/// How much is read at a time. More stays in the kernel, where it holds up its sender.
const PIECE: usize = 16 * 1024;

/// What a connection is read from and written to.
pub(super) trait ClientStream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Reads at most `most` bytes behind those of `out`; 0 at the end of the stream. Nothing is reserved in `out` while
    /// there is nothing to read.
    fn poll_append(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut whole = ReadBuf::uninit(&mut piece);
        let mut piece = whole.take(most);
        ready!(Pin::new(self).poll_read(context, &mut piece))?;
        out.extend_from_slice(piece.filled());
        Poll::Ready(Ok(piece.filled().len()))
    }

    /// Writes of `bytes` what there is room for.
    fn poll_put(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write(context, bytes)
    }
}

/// By system calls of its own. The functions of the C library that tokio calls may be cancelled, and in a program of
/// several threads each call pays for that.
impl ClientStream for TcpStream {
    fn poll_append(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let piece = piece.get_mut(..most.min(PIECE)).unwrap_or_default();
        loop {
            ready!(self.poll_read_ready(context))?;
            let mut count = None;
            let read = self.try_io(Interest::READABLE, || {
                let ((data, rest), read) = recv(&*self, &mut *piece, RecvFlags::empty())?;
                out.extend_from_slice(data);
                count = Some(read);
                // A read that is not full has taken all: the kernel tells when there is more.
                if read > 0 && !rest.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            match (count, read) {
                (Some(count), _) => return Poll::Ready(Ok(count)),
                (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                (None, _) => {}
            }
        }
    }

    fn poll_put(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_write_ready(context))?;
            match self.try_io(Interest::WRITABLE, || Ok(send(&*self, bytes, SendFlags::NOSIGNAL)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl ClientStream for TlsStream<L4Stream> {}
impl ClientStream for DuplexStream {}
