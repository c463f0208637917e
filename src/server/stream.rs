//! A client's bytes, as the loop of its connection reads and writes them.

use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::TlsStream;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
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
}

impl ClientStream for TcpStream {}
impl ClientStream for TlsStream<L4Stream> {}
impl ClientStream for DuplexStream {}
