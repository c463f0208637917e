//! The end of a connection whose client may still be sending: a last word, the sending side closed, and a while
//! of listening.
//!
//! Closing a socket with unread octets makes the kernel reset the connection, and a reset may overtake the
//! answer (RFC 9112 §9.6). So what still comes is read and thrown away, for a bounded time and amount.

use std::borrow::Cow;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a client may take to hear its answer, and how much of what it still sends is read.
const PATIENCE: Duration = Duration::from_secs(2);
const ENOUGH: usize = 16 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

/// What is left of a connection.
#[derive(Debug)]
pub(super) struct Farewell {
    word: Cow<'static, [u8]>,
    sent: usize,
    step: Step,
    /// Set when it is first waited for.
    patience: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Say,
    Shut,
    Listen { read: usize },
    Over,
}

impl Farewell {
    /// One that begins with `word`, a whole answer; an empty one if that has been given already.
    pub(super) fn saying(word: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { word: word.into(), sent: 0, step: Step::Say, patience: None }
    }

    /// An end at once, without a word.
    pub(super) const fn none() -> Self {
        Self { word: Cow::Borrowed(&[]), sent: 0, step: Step::Over, patience: None }
    }

    /// Goes on; ready when the client has left, or has had its time.
    pub(super) fn poll<S>(&mut self, cx: &mut Context<'_>, stream: &mut S) -> Poll<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if self.step != Step::Over {
            let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
            // An error means that nobody listens any more.
            if patience.as_mut().poll(cx).is_pending() && self.poll_steps(cx, stream).is_pending() {
                return Poll::Pending;
            }
            self.step = Step::Over;
        }
        Poll::Ready(())
    }

    fn poll_steps<S>(&mut self, cx: &mut Context<'_>, stream: &mut S) -> Poll<io::Result<()>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut waste = [0; PIECE];
        loop {
            self.step = match self.step {
                Step::Say => match self.word.get(self.sent..) {
                    None | Some([]) => Step::Shut,
                    Some(rest) => match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                        0 => Step::Over,
                        sent => {
                            self.sent += sent;
                            Step::Say
                        }
                    },
                },
                Step::Shut => {
                    ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
                    Step::Listen { read: 0 }
                }
                Step::Listen { read } if read < ENOUGH => {
                    let mut waste = ReadBuf::new(&mut waste);
                    ready!(Pin::new(&mut *stream).poll_read(cx, &mut waste))?;
                    match waste.filled().len() {
                        0 => Step::Over,
                        more => Step::Listen { read: read + more },
                    }
                }
                Step::Listen { .. } | Step::Over => return Poll::Ready(Ok(())),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_client_that_is_still_sending_hears_the_word_and_the_end() {
        let (mut client, mut server) = tokio::io::duplex(64);
        let ending = tokio::spawn(async move {
            let mut farewell = Farewell::saying(b"a word".as_slice());
            poll_fn(|cx| farewell.poll(cx, &mut server)).await;
        });
        let mut heard = [0; 6];
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"a word");
        // More than fits between the two: it is taken all the same.
        client.write_all(&vec![0; 100_000]).await.unwrap();
        assert!(!ending.is_finished());
        drop(client);
        ending.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_and_stays_has_its_time() {
        let (_client, mut server) = tokio::io::duplex(1);
        let start = tokio::time::Instant::now();
        let mut farewell = Farewell::saying(b"a word".as_slice());
        poll_fn(|cx| farewell.poll(cx, &mut server)).await;
        assert!(start.elapsed() >= PATIENCE && start.elapsed() < PATIENCE * 2);
        let mut none = Farewell::none();
        poll_fn(|cx| none.poll(cx, &mut server)).await;
    }
}
