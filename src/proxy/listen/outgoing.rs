//! What goes to a client: small pieces together, and none of it for longer than the client may take over it.
//!
//! Pingora bounds how long it waits for a piece of a body to be taken, and neither heads nor flushes, which is all that
//! a small answer consists of.

use super::line::Line;
use super::outbox::Outbox;
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::AsyncWrite;
use tokio::time::Sleep;

/// The sending side of a connection.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// HTTP/2 gathers its frames itself, and what comes through a tunnel waits for nothing.
    outbox: Option<Outbox>,
    patience: Duration,
    /// Since when a write or flush of all that is held has been waited for.
    stalled: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Outgoing {
    pub(super) fn of(line: &Line) -> Self {
        let outbox = (!line.is_multiplexed).then(Outbox::default);
        Self { outbox, patience: line.write_patience(), stalled: None, timer: None }
    }

    /// Whether several pieces may be written at once.
    pub(super) const fn is_vectored(&self) -> bool {
        self.outbox.is_none()
    }

    /// Sends what is held back, if anything is, without waiting for it.
    pub(super) fn send_held<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        match self.outbox.as_mut().map(|outbox| outbox.poll_send(stream, context)) {
            Some(Poll::Ready(sent)) => sent,
            Some(Poll::Pending) | None => Ok(()),
        }
    }

    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        line: &Line,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.poll_pieces(stream, context, line, slices);
        self.bound(context, written)
    }

    fn poll_pieces<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        line: &Line,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(outbox) = self.outbox.as_mut().filter(|_| line.is_tunnel()) {
            ready!(outbox.poll_send(stream, context))?;
            self.outbox = None;
        }
        match (&mut self.outbox, slices) {
            (Some(outbox), slices) => {
                // As any writer does that takes one piece at a time.
                let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
                outbox.poll_write(stream, context, first)
            }
            (None, [only]) => Pin::new(stream).poll_write(context, only),
            (None, slices) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    pub(super) fn poll_flush<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let flushed = match &mut self.outbox {
            Some(outbox) => outbox.poll_flush(stream, context),
            None => Pin::new(stream).poll_flush(context),
        };
        self.bound(context, flushed)
    }

    pub(super) fn poll_shutdown<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let shut = match &mut self.outbox {
            Some(outbox) => outbox.poll_shutdown(stream, context),
            None => Pin::new(stream).poll_shutdown(context),
        };
        self.bound(context, shut)
    }

    /// What has become of a step, which is an error where the client has taken nothing for too long.
    fn bound<T>(&mut self, context: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_ready() {
            self.stalled = None;
            return step;
        }
        let end = *self.stalled.get_or_insert_with(Instant::now) + self.patience;
        loop {
            if end <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // The timer is that of an earlier wait, mostly; setting it anew costs more than looking.
            let wake = tokio::time::Instant::from_std(end);
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(wake)));
            ready!(timer.as_mut().poll(context));
            timer.as_mut().reset(wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use std::future::poll_fn;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

    fn line() -> Line {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        Line::new(config.limits, config.timeouts, None, Arc::default())
    }

    fn write(outgoing: &mut Outgoing, wire: &mut DuplexStream, line: &Line) {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let pieces = [IoSlice::new(b""), IoSlice::new(b"a piece")];
        let written = outgoing.poll_write(wire, &mut context, line, &pieces);
        assert!(matches!(written, Poll::Ready(Ok(7))), "{written:?}");
    }

    #[tokio::test]
    async fn in_a_tunnel_nothing_is_held_back() {
        let (mut client, mut wire) = duplex(64);
        let line = line();
        let mut outgoing = Outgoing::of(&line);
        write(&mut outgoing, &mut wire, &line);
        let heard = tokio::time::timeout(Duration::from_millis(20), client.read_u8()).await;
        assert!(heard.is_err() && !outgoing.is_vectored(), "it waits for more of the answer");
        line.open_tunnel();
        write(&mut outgoing, &mut wire, &line);
        let mut heard = [0; 14];
        let read = tokio::time::timeout(Duration::from_secs(5), client.read_exact(&mut heard));
        read.await.unwrap().unwrap();
        assert_eq!(&heard, b"a piecea piece");
        assert!(outgoing.is_vectored());
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_has_its_time_and_one_that_takes_something_has_it_again() {
        let (mut client, mut wire) = duplex(4);
        let line = line();
        let mut outgoing = Outgoing { patience: Duration::from_millis(30), ..Outgoing::of(&line) };
        write(&mut outgoing, &mut wire, &line);
        let flushed = poll_fn(|context| outgoing.poll_flush(&mut wire, context)).await;
        assert_eq!(flushed.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let mut heard = [0; 7];
        client.read_exact(&mut heard[..4]).await.unwrap();
        poll_fn(|context| outgoing.poll_flush(&mut wire, context)).await.unwrap();
        client.read_exact(&mut heard[4..]).await.unwrap();
        assert_eq!(&heard, b"a piece");
        write(&mut outgoing, &mut wire, &line);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(outgoing.poll_flush(&mut wire, &mut context).is_pending(), "its time begins again");
    }
}
