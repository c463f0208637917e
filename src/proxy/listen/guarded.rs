//! A connection with a guard around it: pingora reads and writes as ever, and every silence has an end.
//!
//! Deadlines are kept lazily. A timer is set only where the client is being waited for, and what it fires
//! for is looked up then, so that a busy connection never touches it.

use super::admission::Permit;
use super::frames::FrameMeter;
use super::last_word;
use super::line::{Line, Phase};
use super::meters::{BodyClock, HeadMeter};
use super::outgoing::Outgoing;
use super::places::Backlog;
use crate::proxy::farewell::Farewell;
use crate::record::ConnectionEvent;
use async_trait::async_trait;
use pingora::http::ResponseHeader;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::tls::{SslDigest, TlsRef};
use pingora::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, IO, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID, UniqueIDType,
};
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::Sleep;

/// How often an idle connection asks whether it should make room.
const LOOK: Duration = Duration::from_secs(5);

/// `S` under guard.
pub(super) struct Guarded<S> {
    inner: S,
    line: Arc<Line>,
    /// How the callbacks find the line.
    digest: Arc<ProxyDigest>,
    permit: Permit,
    timer: Option<Pin<Box<Sleep>>>,
    meter: Option<FrameMeter>,
    outgoing: Outgoing,
    backlog: Backlog,
    /// Octets of the head so far.
    head: HeadMeter,
    /// Whether there was any octet at all.
    has_spoken: bool,
    body: BodyClock,
    end: Option<Farewell>,
}

impl<S: IO> Guarded<S> {
    pub(super) fn new(inner: S, line: Line, permit: Permit) -> io::Result<Self> {
        let line = Arc::new(line);
        let response = ResponseHeader::build(200, Some(0)).map_err(io::Error::other)?;
        let digest = ProxyDigest::new(Box::new(response), Some(Box::new(Arc::clone(&line))));
        let meter = line.is_multiplexed.then(|| FrameMeter::new(&line.limits));
        Ok(Self {
            inner,
            digest: Arc::new(digest),
            permit,
            timer: None,
            meter,
            outgoing: Outgoing::of(&line),
            backlog: Backlog::default(),
            head: HeadMeter::default(),
            has_spoken: false,
            body: BodyClock::default(),
            end: None,
            line,
        })
    }

    /// Looks at what has been read.
    fn note(&mut self, octets: &[u8]) -> Result<(), ConnectionEvent> {
        self.has_spoken = true;
        if let Some(meter) = &mut self.meter {
            let is_good = meter.read(octets) && !self.line.is_overdrawn();
            return if is_good { Ok(()) } else { Err(ConnectionEvent::H2Flood) };
        }
        match self.line.phase() {
            Phase::Busy => {}
            Phase::Body => self.body.came(&self.line, octets.len()),
            Phase::Idle | Phase::Fresh | Phase::Head => {
                self.line.head_begins();
                return self.head.came(&self.line, octets.len());
            }
        }
        Ok(())
    }

    /// Looks at what has been written: the first `written` octets of `slices`.
    fn wrote<'a>(&mut self, slices: impl Iterator<Item = &'a [u8]>, mut written: usize) {
        let Some(meter) = &mut self.meter else { return };
        for slice in slices {
            let here = written.min(slice.len());
            meter.wrote(slice.get(..here).unwrap_or_default(), |event| self.line.count(event));
            written -= here;
        }
    }

    /// Whether the client has been silent for too long; sets the timer where it has not.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ConnectionEvent> {
        loop {
            let is_crowded = self.permit.admission().is_crowded(&self.line.limits);
            let deadline = match self.line.phase() {
                Phase::Body => self.body.deadline(&self.line).map(|at| (at, ConnectionEvent::BodyTooSlow)),
                _ => self.line.deadline(is_crowded),
            };
            let Some((at, event)) = deadline else { return Poll::Pending };
            let now = Instant::now();
            if at <= now {
                return Poll::Ready(event);
            }
            let may_make_room = matches!(self.line.phase(), Phase::Fresh | Phase::Idle);
            let wake = if may_make_room { at.min(now + LOOK) } else { at };
            let wake = tokio::time::Instant::from_std(wake);
            let timer = match &mut self.timer {
                Some(timer) => {
                    if timer.is_elapsed() || timer.deadline() > wake {
                        timer.as_mut().reset(wake);
                    }
                    timer
                }
                none => none.insert(Box::pin(tokio::time::sleep_until(wake))),
            };
            ready!(timer.as_mut().poll(context));
        }
    }

    /// Begins to end the connection.
    fn finish(&mut self, event: ConnectionEvent) {
        match event {
            // An idle connection has had its time; that is no event of its own.
            ConnectionEvent::Closed => {}
            ConnectionEvent::HeaderTimeout if !self.has_spoken => self.line.count(ConnectionEvent::Silent),
            event => self.line.count(event),
        }
        let has_word = !self.line.is_multiplexed && !self.line.is_answered() && self.has_spoken;
        let word = last_word::about(event).filter(|_| has_word);
        self.end = Some(word.map_or_else(Farewell::none, |(status, word)| {
            self.line.tell(status);
            word
        }));
    }
}

impl<S: IO> AsyncRead for Guarded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(end) = &mut this.end {
            ready!(end.poll(context, &mut this.inner));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        this.backlog.settle(this.line.places.as_ref());
        let before = buffer.filled().len();
        let event = match Pin::new(&mut this.inner).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let octets = buffer.filled().get(before..).unwrap_or_default();
                if octets.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                match this.note(octets) {
                    Ok(()) => return Poll::Ready(Ok(())),
                    Err(event) => event,
                }
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => {
                // Both sides are waited for: what came of an answer so far is not held back for the rest.
                this.outgoing.send_held(&mut this.inner, context)?;
                ready!(this.poll_silence(context))
            }
        };
        buffer.set_filled(before);
        this.finish(event);
        Pin::new(this).poll_read(context, buffer)
    }
}

impl<S: IO> AsyncWrite for Guarded<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(octets)])
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = this.outgoing.poll_flush(&mut this.inner, context);
        this.backlog.note(this.line.places.as_ref(), context, flushed.is_pending());
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.outgoing.poll_shutdown(&mut this.inner, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.end.is_some() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        this.line.answer();
        let written = this.outgoing.poll_write(&mut this.inner, context, &this.line, slices);
        if written.is_pending() {
            this.backlog.note(this.line.places.as_ref(), context, true);
        }
        let written = ready!(written)?;
        this.wrote(slices.iter().map(|slice| &**slice), written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.outgoing.is_vectored() && self.inner.is_write_vectored()
    }
}

impl<S> Drop for Guarded<S> {
    fn drop(&mut self) {
        if let Some(places) = &self.line.places {
            places.catch_up();
        }
        // What was ended for a reason has been counted under it.
        if self.end.is_some() {
            return;
        }
        match self.line.phase() {
            Phase::Fresh if !self.has_spoken => self.line.count(ConnectionEvent::Silent),
            Phase::Fresh | Phase::Head => self.line.count(ConnectionEvent::NoRequest),
            Phase::Idle | Phase::Body | Phase::Busy => {}
        }
    }
}

impl<S> std::fmt::Debug for Guarded<S> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Guarded").field("line", &self.line).finish_non_exhaustive()
    }
}

#[async_trait]
impl<S: IO> Shutdown for Guarded<S> {
    async fn shutdown(&mut self) {
        if self.end.is_none() {
            // Nobody is left to hear of an error, or may be there and take nothing.
            let _ = self.flush().await;
            let _ = tokio::time::timeout(self.line.write_patience(), self.inner.shutdown()).await;
        }
    }
}

impl<S: IO> UniqueID for Guarded<S> {
    fn id(&self) -> UniqueIDType {
        self.inner.id()
    }
}

impl<S: IO> Ssl for Guarded<S> {
    fn get_ssl(&self) -> Option<&TlsRef> {
        self.inner.get_ssl()
    }

    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.inner.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.inner.selected_alpn_proto()
    }
}

impl<S: IO> GetTimingDigest for Guarded<S> {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.inner.get_timing_digest()
    }

    fn get_read_pending_time(&self) -> Duration {
        self.inner.get_read_pending_time()
    }

    fn get_write_pending_time(&self) -> Duration {
        self.inner.get_write_pending_time()
    }
}

impl<S: IO> GetProxyDigest for Guarded<S> {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        Some(Arc::clone(&self.digest))
    }
}

impl<S: IO> GetSocketDigest for Guarded<S> {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.inner.get_socket_digest()
    }
}

impl<S: IO> Peek for Guarded<S> {}
