//! An HTTP/2 connection with a guard around it: the library reads and writes as ever, and every silence has an end.

use super::frames::FrameMeter;
use super::paths::PathGuard;
use super::state::ConnectionState;
use crate::record::ConnectionEvent;
use crate::server::connection::{Deadline, Stall};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `S` under guard.
pub(super) struct Guarded<S> {
    inner: S,
    state: Arc<ConnectionState>,
    meter: FrameMeter,
    paths: PathGuard,
    /// How long a write or flush has been waited for, and the timer of that wait.
    stall: Stall,
    deadline: Deadline,
    /// Whether the guard has ended the connection.
    is_over: bool,
}

impl<S> Guarded<S> {
    pub(super) fn new(inner: S, state: &Arc<ConnectionState>) -> Self {
        Self {
            inner,
            meter: FrameMeter::new(&state.limits),
            paths: PathGuard::new(state.limits.header_size),
            stall: Stall::default(),
            deadline: Deadline::default(),
            is_over: false,
            state: Arc::clone(state),
        }
    }

    /// What has become of a step, which is an error where the client has taken nothing for too long.
    fn bound<T>(&mut self, context: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_pending() {
            self.state.note_behind();
        }
        let patience = self.state.timeouts.client_write;
        let taken = ready!(self.stall.poll(step, &mut self.deadline, patience, context));
        Poll::Ready(taken.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into())))
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
            Poll::Pending => ready!(this.state.poll_silence(context)),
        };
        buffer.set_filled(before);
        this.is_over = true;
        this.state.count_end(event);
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
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.state.flushed();
        }
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
        let mut count = ready!(this.bound(context, written))?;
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
