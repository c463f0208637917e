//! The end of a connection that the guard has had enough of: a short answer, and a wait for the client to
//! read it.
//!
//! Closing a socket while the client is still sending makes the kernel reset the connection, which can
//! destroy the answer before it is read (RFC 9112 §9.6).

use crate::record::ConnectionEvent;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long, and for how many octets of what the client is still sending, the reading is waited for.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_OCTETS: usize = 256 * 1024;

const TOO_LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const TOO_LARGE: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// What is left of a connection.
#[derive(Debug)]
pub(super) struct LastWord {
    step: Step,
    left: usize,
    timer: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Step {
    Say(&'static [u8]),
    Shut,
    Listen,
    Over,
}

impl LastWord {
    /// What there is to say about `event`, to a client of HTTP/1.1.
    pub(super) const fn about(event: ConnectionEvent) -> Self {
        let step = match event {
            ConnectionEvent::HeaderTimeout | ConnectionEvent::BodyTooSlow => Step::Say(TOO_LATE),
            ConnectionEvent::HeaderTooLarge => Step::Say(TOO_LARGE),
            _ => Step::Over,
        };
        Self { step, left: LINGER_OCTETS, timer: None }
    }

    /// An end without a word.
    pub(super) const fn none() -> Self {
        Self { step: Step::Over, left: 0, timer: None }
    }

    /// Goes on until the connection may be closed.
    pub(super) fn poll<S>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if matches!(self.step, Step::Over) {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        if timer.as_mut().poll(context).is_ready() {
            self.step = Step::Over;
        }
        loop {
            self.step = match self.step {
                Step::Say([]) => Step::Shut,
                Step::Say(word) => match ready!(Pin::new(&mut *stream).poll_write(context, word)) {
                    Ok(octets) if octets > 0 => Step::Say(word.get(octets..).unwrap_or_default()),
                    _ => Step::Over,
                },
                Step::Shut => match ready!(Pin::new(&mut *stream).poll_shutdown(context)) {
                    Ok(()) => Step::Listen,
                    Err(_) => Step::Over,
                },
                Step::Listen => {
                    let mut scratch = [0; 4_096];
                    let mut buffer = ReadBuf::new(&mut scratch);
                    let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
                    let octets = buffer.filled().len();
                    if read.is_err() || octets == 0 || octets > self.left {
                        Step::Over
                    } else {
                        self.left -= octets;
                        Step::Listen
                    }
                }
                Step::Over => return Poll::Ready(()),
            };
        }
    }
}
