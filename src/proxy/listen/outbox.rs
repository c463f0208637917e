//! What is written to a client in one answer, sent in one call.
//!
//! Pingora writes a header and its body one after the other, and flushes when both are written. Its own listeners
//! hold back one segment until then; its streams for connections that others accepted hold back nothing, so that
//! each small answer would leave in two packets. Nothing is held back beyond a flush, nor while the origin is waited
//! for, and an idle connection holds no memory here.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// How much is held back without sending any of it: about one TCP segment (RFC 9293 §3.7.1) on an Ethernet.
const SEGMENT: usize = 1_460;

/// How much may go into one piece where header and body cannot be sent from two places: a TLS record
/// (RFC 8446 §5.1).
const RECORD: usize = 16 * 1024;

/// Octets that were accepted and not yet sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    held: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Takes some of `octets`: holds them back while they are few, sends them with what is held otherwise.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let together = self.rest().len() + octets.len();
        if together <= SEGMENT {
            self.held.extend_from_slice(octets);
            return Poll::Ready(Ok(octets.len()));
        }
        if !self.rest().is_empty() {
            if stream.is_write_vectored() {
                return self.poll_both(stream, context, octets);
            }
            if together <= RECORD {
                self.held.extend_from_slice(octets);
                // They are accepted; what cannot go now goes with the next write, or the flush.
                return match self.poll_send(stream, context) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Ready(Ok(octets.len())),
                };
            }
            ready!(self.poll_send(stream, context))?;
        }
        Pin::new(stream).poll_write(context, octets)
    }

    /// Sends what is held and then flushes `stream`.
    pub(super) fn poll_flush<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send(stream, context))?;
        Pin::new(stream).poll_flush(context)
    }

    /// Sends what is held and then closes the sending side of `stream`.
    pub(super) fn poll_shutdown<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send(stream, context))?;
        Pin::new(stream).poll_shutdown(context)
    }

    fn rest(&self) -> &[u8] {
        self.held.get(self.sent..).unwrap_or_default()
    }

    fn note_sent(&mut self, octets: usize) {
        self.sent += octets;
        if self.rest().is_empty() {
            *self = Self::default();
        }
    }

    /// Sends what is held.
    pub(super) fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.rest().is_empty() {
            match ready!(Pin::new(&mut *stream).poll_write(context, self.rest()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                octets => self.note_sent(octets),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what is held and `octets` in one call; how many of the latter went.
    fn poll_both<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let held = self.rest().len();
            if held == 0 {
                return Pin::new(stream).poll_write(context, octets);
            }
            let both = [IoSlice::new(self.rest()), IoSlice::new(octets)];
            match ready!(Pin::new(&mut *stream).poll_write_vectored(context, &both))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent if sent > held => {
                    self.note_sent(held);
                    return Poll::Ready(Ok(sent - held));
                }
                sent => self.note_sent(sent),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes what each call would send; takes at most `most` octets a call, and now and then none yet.
    #[derive(Debug, Default)]
    struct Wire {
        calls: Vec<Vec<u8>>,
        most: usize,
        is_vectored: bool,
        /// Every how many calls it is not ready.
        busy_each: usize,
        asked: usize,
    }

    impl Wire {
        fn of(is_vectored: bool) -> Self {
            Self { most: usize::MAX, is_vectored, ..Self::default() }
        }

        fn take(&mut self, octets: impl Iterator<Item = u8>) -> Poll<io::Result<usize>> {
            self.asked += 1;
            if self.busy_each > 0 && self.asked.is_multiple_of(self.busy_each) {
                return Poll::Pending;
            }
            let call: Vec<u8> = octets.take(self.most).collect();
            let sent = call.len();
            self.calls.push(call);
            Poll::Ready(Ok(sent))
        }
    }

    impl AsyncWrite for Wire {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            octets: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.take(octets.iter().copied())
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            assert!(self.is_vectored, "asked for what it does not offer");
            self.take(slices.iter().flat_map(|slice| slice.iter().copied()))
        }

        fn is_write_vectored(&self) -> bool {
            self.is_vectored
        }
    }

    /// Writes all of `pieces` and flushes, asking as often as it takes.
    fn written(wire: &mut Wire, pieces: &[Vec<u8>]) -> io::Result<()> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut outbox = Outbox::default();
        for piece in pieces {
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                if let Poll::Ready(taken) = outbox.poll_write(wire, &mut context, rest) {
                    rest = rest.get(taken?..).unwrap_or_default();
                }
            }
        }
        loop {
            if let Poll::Ready(flushed) = outbox.poll_flush(wire, &mut context) {
                flushed?;
                assert_eq!(outbox.held.capacity(), 0, "an idle connection holds no memory");
                return Ok(());
            }
        }
    }

    #[test]
    fn a_header_and_a_small_body_leave_in_one_call() {
        for is_vectored in [false, true] {
            let mut wire = Wire::of(is_vectored);
            written(&mut wire, &[vec![b'h'; 164], vec![b'b'; 1_024]]).unwrap();
            assert_eq!(wire.calls.len(), 1);
        }
    }

    #[test]
    fn so_do_a_header_and_a_body_of_more_than_a_segment() {
        for is_vectored in [false, true] {
            let mut wire = Wire::of(is_vectored);
            written(&mut wire, &[vec![b'h'; 164], vec![b'b'; 8_192]]).unwrap();
            assert_eq!(wire.calls.len(), 1);
        }
    }

    #[test]
    fn large_pieces_are_not_copied_and_wait_for_nothing() {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let (mut wire, mut outbox) = (Wire::of(true), Outbox::default());
        let taken = outbox.poll_write(&mut wire, &mut context, &vec![b'b'; 20_000]);
        assert!(matches!(taken, Poll::Ready(Ok(20_000))));
        assert_eq!((wire.calls.len(), outbox.held.capacity()), (1, 0));
    }

    #[test]
    fn a_stream_that_takes_nothing_more_is_an_error() {
        let mut wire = Wire { most: 0, ..Wire::of(true) };
        assert_eq!(written(&mut wire, &[vec![1]]).unwrap_err().kind(), io::ErrorKind::WriteZero);
        assert_eq!(
            written(&mut wire, &[vec![1], vec![2; 2_000]]).unwrap_err().kind(),
            io::ErrorKind::WriteZero
        );
    }

    #[test]
    fn every_octet_leaves_once_and_in_order() {
        const SIZES: [usize; 7] = [0, 1, 700, 1_459, 1_460, 1_461, 17_000];
        let triples = SIZES.into_iter().flat_map(|first| {
            SIZES
                .into_iter()
                .flat_map(move |second| SIZES.into_iter().map(move |third| [first, second, third]))
        });
        for sizes in triples {
            let mut next = 0_u8;
            let pieces = sizes.map(|size| {
                let octets = std::iter::repeat_with(|| {
                    next = next.wrapping_add(7);
                    next
                });
                octets.take(size).collect::<Vec<u8>>()
            });
            for (most, busy_each, is_vectored) in [
                (usize::MAX, 0, true),
                (usize::MAX, 2, false),
                (900, 3, true),
                (900, 2, false),
                (1_600, 2, true),
            ] {
                let mut wire = Wire { most, busy_each, ..Wire::of(is_vectored) };
                written(&mut wire, &pieces).unwrap();
                assert_eq!(
                    wire.calls.concat(),
                    pieces.concat(),
                    "{sizes:?} {most} {busy_each} {is_vectored}"
                );
            }
        }
    }
}
