//! Telling a client that its request is malformed, so that it hears of it.
//!
//! Closing a socket with unread octets resets the connection, and a reset may overtake the answer. So the
//! answer is sent, the sending side is closed, and what still comes is read and thrown away for a while.

use crate::request::message::Fault;
use pingora::protocols::Stream;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, ReadBuf};
use tokio::time::Sleep;

/// How long a client may take to hear its answer, and how much of what it still sends is read.
const PATIENCE: Duration = Duration::from_secs(2);
const ENOUGH: usize = 1024 * 1024;

/// The answer on its way.
#[derive(Debug)]
pub(super) struct Refusing {
    answer: Vec<u8>,
    sent: usize,
    closed: bool,
    read: usize,
    patience: Pin<Box<Sleep>>,
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
        let patience = Box::pin(tokio::time::sleep(PATIENCE));
        Self { answer: answer.into_bytes(), sent: 0, closed: false, read: 0, patience }
    }

    /// Ready when the client has been told, or did not want to be.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<()> {
        if self.patience.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match ready!(self.poll_steps(cx, stream)) {
            // An error means that nobody listens any more.
            Ok(()) | Err(_) => Poll::Ready(()),
        }
    }

    fn poll_steps(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<std::io::Result<()>> {
        while let Some(rest) = self.answer.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let sent = ready!(Pin::new(&mut *stream).poll_write(cx, rest))?;
            if sent == 0 {
                return Poll::Ready(Ok(()));
            }
            self.sent += sent;
        }
        if !self.closed {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            self.closed = true;
        }
        let mut waste = [0; 4096];
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

/// Reads what a client still sends after its answer, for a while, when the sending side is closed.
pub(super) async fn linger(stream: &mut Stream) {
    let waste = async {
        let mut waste = vec![0; 16 * 1024];
        let mut read = 0;
        while read < ENOUGH {
            match stream.read(&mut waste).await {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
    };
    // Whoever has not heard its answer by then will not.
    let _ = tokio::time::timeout(PATIENCE, waste).await;
}
