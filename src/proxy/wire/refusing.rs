//! Telling a client that its request is malformed, so that it hears of it.
//!
//! Closing a socket with unread octets resets the connection, and a reset may overtake the answer. So the
//! answer is sent, the sending side is closed, and what still comes is read and thrown away for a while.

use crate::request::message::Fault;
use pingora::protocols::Stream;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::time::Sleep;

/// How long a client may take to hear its answer, and how much of what it still sends is read.
const PATIENCE: Duration = Duration::from_secs(2);
const ENOUGH: usize = 16 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

/// The end of a connection whose client may still be sending: the sending side is closed, and what still
/// comes is read and thrown away for a while.
#[derive(Debug)]
pub(super) struct Lingering {
    closed: bool,
    read: usize,
    patience: Pin<Box<Sleep>>,
}

impl Lingering {
    pub(super) fn new() -> Self {
        Self { closed: false, read: 0, patience: Box::pin(tokio::time::sleep(PATIENCE)) }
    }

    /// Ready when the client has left, or has had its time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<()> {
        if self.patience.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        // An error means that nobody listens any more.
        self.poll_steps(cx, stream).map(|_: io::Result<()>| ())
    }

    fn poll_steps(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<io::Result<()>> {
        if !self.closed {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            self.closed = true;
        }
        let mut waste = [0; PIECE];
        while self.read < ENOUGH {
            let mut waste = ReadBuf::new(&mut waste);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut waste))?;
            match waste.filled().len() {
                0 => break,
                read => self.read += read,
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The answer on its way.
#[derive(Debug)]
pub(super) struct Refusing {
    answer: Vec<u8>,
    sent: usize,
    end: Lingering,
}

impl Refusing {
    pub(super) fn new(fault: Fault) -> Self {
        let body = format!("{} {}\n", fault.status(), fault.sentence());
        // RFC 9110 §15.5.6: who refuses a method says which ones there are.
        let allow = if fault == Fault::Connect {
            "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"
        } else {
            ""
        };
        let answer = format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n{allow}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            fault.status_line(),
            body.len()
        );
        Self { answer: answer.into_bytes(), sent: 0, end: Lingering::new() }
    }

    /// Ready when the client has been told, or did not want to be.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<()> {
        while let Some(rest) = self.answer.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut *stream).poll_write(cx, rest) {
                Poll::Ready(Ok(sent @ 1..)) => self.sent += sent,
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.end.patience.as_mut().poll(cx),
            }
        }
        self.end.poll(cx, stream)
    }
}
