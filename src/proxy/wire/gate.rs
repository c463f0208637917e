//! One connection's gate: hands pingora one message at a time, whole heads only, and never an octet more.
//!
//! What comes behind a message waits until its request is over. So requests may be sent in a row (RFC 9112
//! §9.3.2), an upgrade is no way around judging (RFC 9110 §7.8), and gateway and origin cannot disagree on
//! where a request ends. Only a head is copied; bodies pass through.

mod telling;

use super::malformed::{self, Malformed};
use crate::proxy::farewell::Farewell;
use crate::proxy::listen::Line;
use crate::request::message::{Body, Chunks, Fault, HeadLimits, HeadReader, Progress};
use bytes::{Buf as _, BytesMut};
use pingora::protocols::Stream;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};

/// How much is read ahead of pingora while a request is answered: a few requests in a row. More stays in the
/// kernel, where it holds up its sender.
const AHEAD: usize = 16 * 1024;

/// How much is read at a time into the gate's own memory.
const PIECE: usize = 4 * 1024;

/// Where in the stream of messages the connection is.
#[derive(Debug)]
enum Phase {
    /// In a head that is not whole yet, or before one.
    Head(HeadReader),
    /// In a body of so many more octets.
    Length(u64),
    /// In a chunked body.
    Chunked(Chunks),
    /// Behind a message, whose request is being answered.
    Over,
    /// The connection was upgraded: it is no HTTP any more.
    Tunnel,
    /// A head had a fault; the client is told.
    Refusing(Farewell),
    /// A body had a fault: nothing more is read.
    Broken(Fault),
}

/// A client's connection, its requests checked.
#[derive(Debug)]
pub(in crate::proxy) struct Gate {
    pub(super) inner: Stream,
    limits: HeadLimits,
    malformed: Arc<Malformed>,
    phase: Phase,
    /// When the head began that is not whole yet.
    since: Option<Instant>,
    /// Octets that were read and not yet handed on.
    held: BytesMut,
    /// How many of those are checked.
    ready: usize,
    /// Whether the client has ended its side.
    ended: bool,
    /// Whether the last head announced no body.
    is_without_body: bool,
    /// The end, when the client may still be sending.
    lingering: Option<Farewell>,
    /// Set when the request is over: the next one may pass.
    released: AtomicBool,
    /// Set when the origin has taken the upgrade.
    upgraded: AtomicBool,
}

impl Gate {
    pub(super) fn new(inner: Stream, limits: HeadLimits, malformed: Arc<Malformed>) -> Self {
        Self {
            inner,
            limits,
            malformed,
            phase: Phase::Head(HeadReader::new(limits)),
            since: None,
            held: BytesMut::new(),
            ready: 0,
            ended: false,
            is_without_body: true,
            lingering: None,
            released: AtomicBool::new(false),
            upgraded: AtomicBool::new(false),
        }
    }

    /// The request that passed last is answered; what follows it may pass.
    pub(in crate::proxy) fn release(&self) {
        self.released.store(true, Ordering::Release);
    }

    /// The octets of a whole head that no body follows, where one is next.
    pub(super) fn whole_head(&self) -> Option<&[u8]> {
        let is_whole = self.ready > 0 && self.is_without_body && matches!(self.phase, Phase::Over);
        self.held.get(..self.ready).filter(|_| is_whole)
    }

    /// Sends `octets` as the answer to the request whose head is next. Pingora will not see it.
    pub(super) async fn answer(&mut self, octets: &[u8]) -> io::Result<()> {
        self.take(self.ready);
        self.inner.write_all(octets).await?;
        self.inner.flush().await
    }

    /// The connection is a tunnel from here on.
    pub(in crate::proxy) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Release);
    }

    /// Whether anything of the next request has come.
    pub(super) fn has_begun(&self) -> bool {
        !self.held.is_empty()
    }

    /// What was wrong with the body of the request under way.
    pub(in crate::proxy) const fn fault(&self) -> Option<Fault> {
        match self.phase {
            Phase::Broken(fault) => Some(fault),
            _ => None,
        }
    }

    /// Whether the request under way came without a body.
    pub(in crate::proxy) const fn is_without_body(&self) -> bool {
        self.is_without_body
    }

    /// Closes the sending side. A client that may still be sending a body that nobody will read is listened
    /// to for a while, so that it hears its answer.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !matches!(self.phase, Phase::Length(_) | Phase::Chunked(_) | Phase::Broken(_)) {
            return Pin::new(&mut self.inner).poll_shutdown(cx);
        }
        if self.lingering.is_none()
            && let Some(line) = Line::behind(&*self.inner)
        {
            // What still comes is no next request.
            line.give_up();
        }
        self.lingering.get_or_insert_with(|| Farewell::saying(Vec::new())).poll(cx, &mut self.inner).map(Ok)
    }

    /// Reads on in the body: how many of `octets` belong to it. Behind it the message is over.
    fn body(&mut self, octets: &[u8]) -> Result<usize, Fault> {
        match &mut self.phase {
            Phase::Length(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(octets.len());
                *left -= here as u64;
                if *left == 0 {
                    self.phase = Phase::Over;
                }
                Ok(here)
            }
            Phase::Chunked(chunks) => {
                let here = chunks.read(octets)?;
                if chunks.is_done() {
                    self.phase = Phase::Over;
                }
                Ok(here)
            }
            _ => Ok(0),
        }
    }

    /// Reads on in the head; what of `octets` is to be skipped, and where the checked part of them ends.
    fn head(&mut self, octets: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
        let Phase::Head(reader) = &mut self.phase else { return Ok(None) };
        let Progress::Whole(head) = reader.read(octets)? else {
            self.begins(octets);
            return Ok(None);
        };
        self.since = None;
        self.released.store(false, Ordering::Release);
        self.is_without_body = head.body == Body::None;
        self.phase = match head.body {
            Body::None => Phase::Over,
            Body::Length(length) => Phase::Length(length),
            Body::Chunked => Phase::Chunked(Chunks::default()),
        };
        let body = self.body(octets.get(head.end..).unwrap_or_default()).inspect_err(|_| {
            // Nobody has seen the head yet, so the whole request is answered here.
            self.phase = Phase::Head(HeadReader::new(self.limits));
        })?;
        Ok(Some((head.skipped, head.end + body)))
    }

    /// Notes when a head begins. One that came along with the request before it began while that was answered, where
    /// the guard of the connection does not tell requests apart. Empty lines are no head (RFC 9112 §2.2).
    fn begins(&mut self, octets: &[u8]) {
        if self.since.is_some() || octets.iter().all(|octet| matches!(octet, b'\r' | b'\n')) {
            return;
        }
        self.since = Some(Instant::now());
        if let Some(line) = Line::behind(&*self.inner) {
            line.head_begins();
        }
    }

    /// Reads on in a body, into the caller's memory.
    fn read_through(&mut self, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, out))?;
        let octets = out.filled().get(before..).unwrap_or_default();
        if octets.is_empty() {
            self.ended = true;
            return Poll::Ready(Ok(()));
        }
        let end = match self.body(octets) {
            Ok(end) => end,
            Err(fault) => {
                let refused = self.refuse(fault, octets);
                out.set_filled(before);
                return refused;
            }
        };
        self.held.extend_from_slice(octets.get(end..).unwrap_or_default());
        out.set_filled(before + end);
        Poll::Ready(Ok(()))
    }

    /// Waits for the next whole head; `false` when none will come. Until then a connection costs what it has sent,
    /// and none of what pingora needs for a request.
    pub(super) fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.ready == 0 {
            match &mut self.phase {
                Phase::Head(_) => {}
                Phase::Over => {
                    ready!(self.wait(cx))?;
                    if matches!(self.phase, Phase::Over) {
                        return Poll::Ready(Ok(false));
                    }
                }
                Phase::Refusing(refusing) => {
                    ready!(refusing.poll(cx, &mut self.inner));
                    return Poll::Ready(Ok(false));
                }
                _ => return Poll::Ready(Ok(false)),
            }
            match self.check_held() {
                Ok(true) => {}
                Ok(false) if self.ended => {
                    self.tell_of_end(None);
                    return Poll::Ready(Ok(false));
                }
                Ok(false) => {
                    ready!(self.read_ahead(cx))?;
                }
                Err(fault) => {
                    let held = std::mem::take(&mut self.held);
                    ready!(self.refuse(fault, &held))?;
                }
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Reads into the gate's own memory; `false` at the end of the stream.
    fn read_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut piece = ReadBuf::uninit(&mut piece);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut piece))
            .inspect_err(|error| self.tell_of_end(Some(error.kind())))?;
        self.held.extend_from_slice(piece.filled());
        self.ended |= piece.filled().is_empty();
        Poll::Ready(Ok(!piece.filled().is_empty()))
    }

    /// Hands on what is held and checked.
    fn hand_on(&mut self, out: &mut ReadBuf<'_>) {
        let here = self.ready.min(out.remaining());
        out.put_slice(self.held.get(..here).unwrap_or_default());
        self.take(here);
    }

    /// Takes so much of what is held and checked.
    fn take(&mut self, octets: usize) {
        self.held.advance(octets);
        self.ready -= octets;
        if self.held.is_empty() {
            // An idle connection holds no memory.
            self.held = BytesMut::new();
        }
    }

    /// Checks what is held; whether any of it may be handed on.
    fn check_held(&mut self) -> Result<bool, Fault> {
        let held = std::mem::take(&mut self.held);
        let checked = match self.phase {
            Phase::Head(_) => self.head(&held),
            Phase::Tunnel => Ok(Some((0, held.len()))),
            _ => self.body(&held).map(|here| Some((0, here))),
        };
        self.held = held;
        let (skipped, end) = checked?.unwrap_or_default();
        self.held.advance(skipped);
        self.ready = end - skipped;
        Ok(self.ready > 0)
    }

    /// Turns away from the client: in a head, of which `octets` have come, it is answered here, in a body by
    /// whoever reads the body.
    fn refuse(&mut self, fault: Fault, octets: &[u8]) -> Poll<io::Result<()>> {
        self.count(fault);
        (self.held, self.ready) = (BytesMut::new(), 0);
        if matches!(self.phase, Phase::Head(_)) {
            let (answer, bytes) = malformed::answer(fault);
            self.tell(octets, fault.status(), bytes, fault.as_str());
            self.phase = Phase::Refusing(answer);
            return Poll::Ready(Ok(()));
        }
        self.phase = Phase::Broken(fault);
        Poll::Ready(Err(malformed(fault)))
    }

    /// Behind a message: waits until its request is over, and sees whether the client leaves meanwhile.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.upgraded.load(Ordering::Acquire) {
            self.phase = Phase::Tunnel;
            return Poll::Ready(Ok(()));
        }
        if self.released.load(Ordering::Acquire) {
            self.phase = Phase::Head(HeadReader::new(self.limits));
            return Poll::Ready(Ok(()));
        }
        while self.held.len() < AHEAD && !self.ended {
            ready!(self.read_ahead(cx))?;
        }
        // A client that closes its side with nothing more to ask is taken to have left: the origin is not to work
        // for nobody. One that has sent its next requests waits for its answers.
        if self.held.is_empty() {
            return Poll::Ready(Ok(()));
        }
        // Nothing is read here, which would send what came of the answer so far. Whoever set `released` reads again.
        if let Poll::Ready(Err(error)) = Pin::new(&mut self.inner).poll_flush(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Pending
    }

    /// One step: `true` when there is something for the caller, the end of the stream included.
    fn step(&mut self, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        if self.ready > 0 {
            self.hand_on(out);
            return Poll::Ready(Ok(true));
        }
        match &mut self.phase {
            Phase::Head(_) | Phase::Refusing(_) => return self.poll_head(cx).map_ok(|is_whole| !is_whole),
            Phase::Broken(fault) => return Poll::Ready(Err(malformed(*fault))),
            Phase::Over => {
                ready!(self.wait(cx))?;
                return Poll::Ready(Ok(matches!(self.phase, Phase::Over)));
            }
            Phase::Tunnel if self.held.is_empty() => {
                ready!(Pin::new(&mut self.inner).poll_read(cx, out))?;
                return Poll::Ready(Ok(true));
            }
            _ => {}
        }
        if self.held.is_empty() {
            let before = out.filled().len();
            ready!(self.read_through(cx, out))?;
            return Poll::Ready(Ok(self.ended || out.filled().len() > before));
        }
        match self.check_held() {
            Ok(true) => Poll::Ready(Ok(false)),
            // A piece of a body that is not whole.
            Ok(false) => self.read_ahead(cx).map_ok(|more| !more),
            Err(fault) => {
                let held = std::mem::take(&mut self.held);
                self.refuse(fault, &held).map_ok(|()| false)
            }
        }
    }
}

impl AsyncRead for Gate {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let gate = self.get_mut();
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        while !ready!(gate.step(cx, out))? {}
        Poll::Ready(Ok(()))
    }
}

fn malformed(fault: Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.sentence())
}
