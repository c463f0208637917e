//! The connection as the client's side of an exchange.

use super::{AHEAD, ClientStream, Http1Connection, poll_append};
use crate::http::BodyReader;
use crate::proxy::{ClientFault, ExchangeClient};
use crate::record::ConnectionEvent;
use crate::server::life::ClientLife;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

impl<S: ClientStream> ExchangeClient for Http1Connection<S> {
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        let before = out.len();
        loop {
            let count = self.body.read(&self.unread, |data| out.extend_from_slice(data));
            let count = count.map_err(ClientFault::Malformed)?;
            self.consume(count);
            let come = out.len() - before;
            if come > 0 && self.meter.note(come, &self.life.limits) {
                self.life.count(ConnectionEvent::BodyTooLarge);
                return Poll::Ready(Err(ClientFault::TooLarge));
            }
            if come > 0 || self.body.is_done() {
                return Poll::Ready(Ok(self.body.is_done()));
            }
            match self.poll_more_body(context, out) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(Err(ClientFault::Gone)),
                Poll::Pending => {
                    let at = self.meter.deadline(&self.life.limits, &self.life.timeouts);
                    ready!(self.life.deadline.poll(context, at));
                    self.life.count(ConnectionEvent::BodyTooSlow);
                    return Poll::Ready(Err(ClientFault::TooSlow));
                }
            }
        }
    }

    fn poll_tunnel(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, ClientFault>> {
        if self.unread.is_empty() && !self.has_ended {
            let _: usize = ready!(self.poll_fill(context)).map_err(|_| ClientFault::Gone)?;
        }
        out.append(&mut self.unread);
        Poll::Ready(Ok(self.has_ended))
    }

    fn poll_end_tunnel(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Where that fails the client has left, and is found to have when it is read.
        Pin::new(&mut self.stream).poll_shutdown(context).map(|_| ())
    }

    fn note_idle_tunnel(&mut self) {
        self.life.count(ConnectionEvent::IdleTunnel);
    }

    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        let written = ready!(self.poll_taken(context, written))?;
        Poll::Ready(if written > 0 { Ok(written) } else { Err(ClientFault::Gone) })
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientFault>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.poll_taken(context, flushed)
    }

    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.unread.len() < AHEAD && !self.has_ended {
            if ready!(self.poll_fill(context)).is_err() {
                return Poll::Ready(());
            }
        }
        // A client that closes its side with nothing more to ask is taken to have left: the origin is not to work for
        // nobody. One that has sent its next requests waits for its answers.
        if self.unread.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.life.deadline.poll(context, at)
    }
}

impl<S: ClientStream> Http1Connection<S> {
    /// Reads on in a body: straight into `out`, where all that can come belongs to it. How many bytes that were; 0 at the end
    /// of the stream.
    fn poll_more_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let BodyReader::Length(left) = &mut self.body else {
            return if self.has_ended { Poll::Ready(Ok(0)) } else { self.poll_fill(context) };
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        let count = ready!(poll_append(&mut self.stream, context, out, most))?;
        *left -= count as u64;
        if *left == 0 {
            self.body = BodyReader::Done;
        }
        Poll::Ready(Ok(count))
    }

    /// What came of a step that sends something. A client that takes nothing for too long is gone.
    fn poll_taken<T>(
        &mut self,
        context: &mut Context<'_>,
        step: Poll<io::Result<T>>,
    ) -> Poll<Result<T, ClientFault>> {
        let ClientLife { deadline, timeouts, .. } = &mut self.life;
        let taken = ready!(self.stall.poll(step, deadline, *timeouts.client_write, context));
        Poll::Ready(taken.and_then(Result::ok).ok_or(ClientFault::Gone))
    }
}
