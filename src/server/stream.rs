//! A client's bytes, as the loop of its connection reads and writes them.

use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::TlsStream;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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

impl ClientStream for TlsStream<L4Stream> {}
impl ClientStream for tokio::io::DuplexStream {}

/// A socket of TCP or a Unix socket.
///
/// tokio's own streams read and write by functions of the C library that may be cancelled: in a program of several threads each call
/// pays for that, where these system calls do not.
#[derive(Debug)]
pub(super) struct ClientSocket(AsyncFd<OwnedFd>);

impl ClientSocket {
    /// A socket that does not block, in the runtime of the thread that this is called on.
    ///
    /// # Errors
    /// When the kernel does not watch it.
    #[expect(deprecated, reason = "unsound where a descriptor changes; one that is owned here does not")]
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        AsyncFd::new(socket).map(Self)
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Reads at most `most` bytes and hands them to `take`.
    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        most: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let piece = piece.get_mut(..most.min(PIECE)).unwrap_or_default();
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            match recv(self.0.get_ref(), &mut *piece, RecvFlags::empty()) {
                Ok(((data, rest), count)) => {
                    // A read that is not full has taken all: the kernel tells when there is more.
                    if count > 0 && !rest.is_empty() {
                        ready.clear_ready();
                    }
                    take(data);
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl ClientStream for ClientSocket {
    fn poll_append(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.poll_recv(context, most, |data| out.extend_from_slice(data))
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_recv(context, out.remaining(), |data| out.put_slice(data)).map_ok(drop)
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // There is nearly always room: what is known of it is asked for only where there was none.
        let mut known = None;
        loop {
            match send(self.0.get_ref(), bytes, SendFlags::NOSIGNAL) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => {
                    known.as_mut().map(AsyncFdReadyGuard::clear_ready);
                    known = Some(ready!(self.0.poll_write_ready(context))?);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(self.0.get_ref(), Shutdown::Write).map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use tokio::io::AsyncWriteExt as _;

    /// A socket, and its other end.
    fn pair() -> (ClientSocket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (ClientSocket::new(ours.into()).unwrap(), theirs)
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|place| u8::try_from(place % 251).unwrap()).collect()
    }

    #[tokio::test]
    async fn what_is_sent_is_read_in_order_and_never_more_than_was_asked_for() {
        for most in [1, 7, PIECE - 1, PIECE, 4 * PIECE] {
            let (mut socket, mut client) = pair();
            let sent = bytes(if most == 1 { 5_000 } else { 200_000 });
            let writer = std::thread::spawn({
                let sent = sent.clone();
                move || client.write_all(&sent)
            });
            let mut read = Vec::new();
            loop {
                let before = read.len();
                let count = poll_fn(|context| socket.poll_append(context, &mut read, most)).await.unwrap();
                assert!(count <= most && read.len() == before + count);
                if count == 0 {
                    break;
                }
            }
            writer.join().unwrap().unwrap();
            assert!(read == sent, "{most}");
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_sent_once_there_is_room() {
        let (mut socket, mut client) = pair();
        let sent = bytes(3_000_000);
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            client.read_to_end(&mut read).map(|_| read)
        });
        socket.write_all(&sent).await.unwrap();
        socket.shutdown().await.unwrap();
        assert!(reader.join().unwrap().unwrap() == sent);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_an_error_and_no_signal() {
        let (mut socket, client) = pair();
        drop(client);
        let error = socket.write_all(&bytes(10)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
