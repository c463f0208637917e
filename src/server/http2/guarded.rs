//! An HTTP/2 connection with a guard around it: the library reads and writes as ever, and every silence has an end.

use super::frames::FrameMeter;
use super::paths::PathGuard;
use super::state::ConnectionState;
use crate::record::ConnectionEvent;
use crate::server::admission::Permit;
use crate::server::connection::{Deadline, LOOK};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `S` under guard.
pub(super) struct Guarded<S> {
    inner: S,
    state: Arc<ConnectionState>,
    permit: Permit,
    deadline: Deadline,
    meter: FrameMeter,
    paths: PathGuard,
    /// Since when a write or flush has been waited for, and the timer of that wait.
    stalled: Option<Instant>,
    stall_deadline: Deadline,
    /// When anything was read last.
    last_read: Option<Instant>,
    /// Whether the guard has ended the connection.
    is_over: bool,
}

impl<S> Guarded<S> {
    pub(super) fn new(inner: S, state: &Arc<ConnectionState>, permit: Permit) -> Self {
        Self {
            inner,
            permit,
            deadline: Deadline::default(),
            meter: FrameMeter::new(&state.limits),
            paths: PathGuard::new(state.limits.header_size),
            stalled: None,
            stall_deadline: Deadline::default(),
            last_read: None,
            is_over: false,
            state: Arc::clone(state),
        }
    }

    /// Whether the client has been silent for too long; sets the timer where it has not.
    ///
    /// The library may still have answers that the client takes a while later, and what was just read may be a request, so
    /// that a connection has some seconds before it has to make room. One whose client takes nothing could not be ended here.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ConnectionEvent> {
        loop {
            let Some((since, patience, event)) = self.state.silence() else {
                self.permit.leave_queue();
                return Poll::Pending;
            };
            let (now, at) = (Instant::now(), since + patience);
            let rest = self.last_read.unwrap_or(since).max(since) + LOOK;
            let may_make_room = rest <= now && self.stalled.is_none();
            if may_make_room && self.permit.must_make_room(since, &self.state.limits, context.waker()) {
                return Poll::Ready(ConnectionEvent::MadeRoom);
            }
            if at <= now {
                return Poll::Ready(event);
            }
            let look = if rest > now { rest } else { now + LOOK };
            ready!(self.deadline.poll(context, at.min(look)));
        }
    }

    /// Ends the connection.
    fn finish(&mut self, event: ConnectionEvent) {
        self.is_over = true;
        // An idle connection has had its time; that is no event of its own.
        if event != ConnectionEvent::Closed {
            self.state.count_end(event);
        }
    }

    /// What has become of a step, which is an error where the client has taken nothing for too long.
    fn bound<T>(&mut self, context: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_ready() {
            self.stalled = None;
            return step;
        }
        self.permit.leave_queue();
        let end = *self.stalled.get_or_insert_with(Instant::now) + self.state.timeouts.client_write;
        ready!(self.stall_deadline.poll(context, end));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        if this.paths.give(buffer) {
            return Poll::Ready(Ok(()));
        }
        let event = match Pin::new(&mut this.inner).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let bytes = buffer.filled().get(before..).unwrap_or_default();
                let is_end = bytes.is_empty();
                if !bytes.is_empty() {
                    this.state.speak();
                    this.permit.leave_queue();
                    this.last_read = Some(Instant::now());
                }
                let state = &this.state;
                let is_calm = this.meter.read(bytes, |stream| state.cancelled(stream));
                this.paths.read(buffer, before);
                let has_few_paths = this.paths.found().all(|path| state.note_path(path));
                if is_calm && has_few_paths && !this.state.is_overdrawn() {
                    if buffer.filled().len() > before || is_end {
                        return Poll::Ready(Ok(()));
                    }
                    // All of it is held back: more has to come, or is there already.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                ConnectionEvent::H2Flood
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => ready!(this.poll_silence(context)),
        };
        buffer.set_filled(before);
        this.finish(event);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(context);
        let flushed = this.bound(context, flushed);
        this.state.flushed(matches!(flushed, Poll::Ready(Ok(()))));
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let shut = Pin::new(&mut this.inner).poll_shutdown(context);
        this.bound(context, shut)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let written = Pin::new(&mut this.inner).poll_write_vectored(context, slices);
        let written = this.bound(context, written);
        if written.is_pending() {
            this.state.flushed(false);
        }
        let mut count = ready!(written)?;
        let whole = count;
        for slice in slices {
            let here = count.min(slice.len());
            let state = &this.state;
            let bytes = slice.get(..here).unwrap_or_default();
            this.meter.wrote(
                bytes,
                |event| state.count(event),
                |stream, is_reset| state.wrote(stream, is_reset),
            );
            count -= here;
        }
        Poll::Ready(Ok(whole))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
