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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// A socket, and its other end.
    fn pair() -> (TcpStream, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, _) = listener.accept().unwrap();
        ours.set_nonblocking(true).unwrap();
        (TcpStream::from_std(ours).unwrap(), theirs)
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|place| u8::try_from(place % 251).unwrap()).collect()
    }

    #[tokio::test]
    async fn what_is_sent_is_read_in_order_and_never_more_than_was_asked_for() {
        for most in [7, PIECE - 1, PIECE, 4 * PIECE] {
            let (mut socket, mut client) = pair();
            let sent = bytes(200_000);
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
        let sent = bytes(10_000_000);
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            client.read_to_end(&mut read).map(|_| read)
        });
        let mut rest = &sent[..];
        while !rest.is_empty() {
            let count = poll_fn(|context| socket.poll_put(context, rest)).await.unwrap();
            rest = &rest[count..];
        }
        drop(socket);
        assert!(reader.join().unwrap().unwrap() == sent);
    }

    /// The kernel may take what is sent before it hears that nobody is there.
    #[tokio::test]
    async fn a_client_that_is_gone_is_an_error_and_no_signal() {
        let (mut socket, client) = pair();
        drop(client);
        let sent = bytes(PIECE);
        let error = loop {
            if let Err(error) = poll_fn(|context| socket.poll_put(context, &sent)).await {
                break error;
            }
        };
        assert!(
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset),
            "{error}"
        );
    }
}
