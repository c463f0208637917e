//! One request to one connection of an origin, and the answer back, both at once.
//!
//! The head that is sent is the gateway's own; bodies are read by their framing and framed anew. Nothing is read from one
//! side while the other takes nothing, so that a slow recipient holds up its sender and no memory fills.

mod answer;
#[cfg(test)]
mod tests;

use super::client::{ClientFault, ExchangeClient};
use super::exchange::ExchangeFailure;
use super::fault::OriginFault;
use super::pool::OriginConnection;
use crate::config::Timeouts;
use crate::gateway::AddedField;
use crate::http::head::InterimAnswers;
use crate::http::{Body, BodyReader, HttpVersion, RequestHead, push_chunk};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::AsyncWrite as _;

/// How much is read from an origin at a time, and how much once a read has filled that. With 64 KiB a page of 1 MB takes a
/// third more processor time than with 32 (`make e2e ARGS="--scenario '1 MB'"`), with 16 a fifth more.
const PIECE: usize = 16 * 1024;
const LARGE_PIECE: usize = 32 * 1024;

/// How much of a request's body waits for the origin to take it.
const MOST_WAITING: usize = 64 * 1024;

/// How long a client that expects to be asked for its body waits for the origin to ask (RFC 9110 §10.1.1).
const ASKED_WITHIN: Duration = Duration::from_millis(100);

/// What an exchange needs to know of its request.
#[derive(Debug)]
pub(super) struct RelayRequest<'a> {
    pub(super) head: &'a RequestHead,
    /// Whether the client's connection goes on behind the answer, as far as the request says.
    pub(super) keeps_alive: bool,
    /// What the answer is to say to robots.
    pub(super) added: &'a [AddedField],
    /// How much of the answer's body is passed on.
    pub(super) most: usize,
    pub(super) timeouts: &'a Timeouts,
}

/// What has become of the answer.
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// How long the origin took to begin its answer.
    pub(super) first_byte: Option<Duration>,
    /// The status of the answer, once its head was there.
    pub status: Option<u16>,
    /// Bytes of its body that were sent to the client.
    pub sent: usize,
    /// Whether the client was sent anything at all.
    pub has_begun: bool,
    /// Whether the client's connection goes on behind the answer.
    pub keeps_client: bool,
    /// Whether it came to nothing over a kept connection that the origin had closed: none of the client's body is lost.
    pub(super) is_stale: bool,
    /// Whether the origin's connection can carry a next request.
    pub(super) keeps_origin: bool,
    /// For how long the origin keeps it, where it says so.
    pub(super) origin_idle: Option<Duration>,
}

/// The request on its way to the origin.
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
struct Upload {
    bytes: Vec<u8>,
    sent: usize,
    /// Whether all of it is in `bytes`.
    is_whole: bool,
    /// Whether the origin has stopped taking it.
    is_broken: bool,
    /// Whether what was sent is to be flushed.
    is_held: bool,
    /// Whether anything was taken of the client's body.
    has_body: bool,
}

/// Where the answer is.
enum Answer {
    Head,
    Body(BodyReader),
    Tunnel,
    Over,
}

/// How the body goes on to the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentFraming {
    /// Its data alone.
    Data,
    /// In the chunks in which it comes.
    AsItComes,
    /// In chunks, though it comes in none, or may be cut.
    Chunks,
}

/// One exchange under way.
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
pub(super) struct Relay<'a, C> {
    request: RelayRequest<'a>,
    client: &'a mut C,
    origin: &'a mut OriginConnection,
    upload: Upload,
    answer: Answer,
    framing: SentFraming,
    /// What is on its way to the client.
    out: Vec<u8>,
    out_sent: usize,
    /// Whether the client was sent something that is not flushed.
    is_held: bool,
    /// How much of `out` is body.
    out_body: usize,
    interim: InterimAnswers,
    /// Whether the client was asked for its body, or waits for no such thing.
    is_asked: bool,
    /// Whether the client sends no more through the tunnel, and the origin was told so.
    is_half_closed: bool,
    /// Whether the origin does not, and whether the client was told so.
    is_origin_done: bool,
    is_client_told: bool,
    /// When an interim answer came first to a request that was sent whole.
    interim_since: Option<Instant>,
    piece: usize,
    /// When something last went on.
    since: Instant,
    progress: Progress,
    /// Why the exchange ends, once what came before is sent.
    failure: Option<ExchangeFailure>,
}

impl<'a, C: ExchangeClient> Relay<'a, C> {
    /// An exchange that begins with `head`.
    pub(super) fn new(
        request: RelayRequest<'a>,
        head: Vec<u8>,
        client: &'a mut C,
        origin: &'a mut OriginConnection,
    ) -> Self {
        let is_whole = request.head.body == Body::None;
        let is_asked = !request.head.expects_to_be_asked();
        let upload =
            Upload { bytes: head, sent: 0, is_whole, is_broken: false, is_held: true, has_body: false };
        Self {
            request,
            client,
            origin,
            upload,
            answer: Answer::Head,
            framing: SentFraming::Data,
            out: Vec::new(),
            out_sent: 0,
            is_held: false,
            out_body: 0,
            interim: InterimAnswers::default(),
            is_asked,
            is_half_closed: false,
            is_origin_done: false,
            is_client_told: false,
            interim_since: None,
            piece: PIECE,
            since: Instant::now(),
            progress: Progress::default(),
            failure: None,
        }
    }

    /// Goes on to the end of the exchange.
    pub(super) async fn run(mut self) -> (Progress, Result<(), ExchangeFailure>) {
        let result = std::future::poll_fn(|context| self.poll(context)).await;
        let is_clean = self.upload.is_whole && self.upload.is_sent() && !self.upload.is_broken;
        self.progress.keeps_origin &=
            is_clean && result.is_ok() && self.origin.start == self.origin.buffer.len();
        self.progress.sent = self.progress.sent.saturating_sub(self.out_body);
        (self.progress, result)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ExchangeFailure>> {
        loop {
            let mut has_moved = self.poll_upload(context)?;
            has_moved |= self.poll_answer(context)?;
            has_moved |= self.poll_half_close(context) || self.poll_end_of_tunnel(context);
            if matches!(self.answer, Answer::Over) && self.out.is_empty() {
                // A client that was told of the end of a tunnel was sent everything before.
                let flushed =
                    if self.is_client_told { Poll::Ready(Ok(())) } else { self.client.poll_flush(context) };
                return flushed.map_err(ExchangeFailure::Client);
            }
            if has_moved {
                self.since = Instant::now();
                continue;
            }
            self.flush(context)?;
            if !self.poll_asking(context) {
                return self.poll_silence(context);
            }
        }
    }

    /// Asks for the body in the origin's place, where that takes its time; whether it is asked now.
    fn poll_asking(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_asked || self.upload.has_body || !matches!(self.answer, Answer::Head) {
            return false;
        }
        let is_due = self.client.poll_deadline(context, self.since + ASKED_WITHIN).is_ready();
        if is_due && self.request.head.version == HttpVersion::Http2 {
            self.client.send_continue();
        } else if is_due {
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.is_asked |= is_due;
        is_due
    }

    /// Tells the origin that the client sends no more through the tunnel; whether it was told now. It may have more to
    /// say itself, for as long as it may be silent (RFC 9293 §3.6).
    fn poll_half_close(&mut self, context: &mut Context<'_>) -> bool {
        let is_due = matches!(self.answer, Answer::Tunnel)
            && self.upload.is_whole
            && self.upload.is_sent()
            && !self.is_half_closed;
        if !is_due || Pin::new(&mut self.origin.stream).poll_shutdown(context).is_pending() {
            return false;
        }
        self.is_half_closed = true;
        true
    }

    /// Tells the client that the origin sends no more through the tunnel, or ends the tunnel where the client does not
    /// either; whether that went on now.
    fn poll_end_of_tunnel(&mut self, context: &mut Context<'_>) -> bool {
        if !self.is_origin_done || !self.out.is_empty() || matches!(self.answer, Answer::Over) {
            return false;
        }
        if self.upload.is_broken || self.upload.is_whole && self.upload.is_sent() {
            self.answer = Answer::Over;
            return true;
        }
        if self.is_client_told || self.client.poll_end_tunnel(context).is_pending() {
            return false;
        }
        (self.is_client_told, self.is_held) = (true, false);
        true
    }

    /// Sends what the client's stream holds back, as one over TLS may: the rest of the answer can take its time.
    fn flush(&mut self, context: &mut Context<'_>) -> Result<(), ExchangeFailure> {
        if self.is_held {
            match self.client.poll_flush(context) {
                Poll::Ready(flushed) => flushed.map_err(ExchangeFailure::Client)?,
                Poll::Pending => return Ok(()),
            }
            self.is_held = false;
        }
        Ok(())
    }

    /// Moves the request on; whether that was possible.
    fn poll_upload(&mut self, context: &mut Context<'_>) -> Result<bool, ExchangeFailure> {
        let mut has_moved = false;
        // What has come of the body goes with the head in one write: apart they took a fifth more processor time.
        while !self.upload.is_whole && self.upload.waiting() < MOST_WAITING && self.poll_client(context)? {
            has_moved = true;
        }
        while !self.upload.is_sent() && !self.upload.is_broken {
            let rest = self.upload.bytes.get(self.upload.sent..).unwrap_or_default();
            match Pin::new(&mut self.origin.stream).poll_write(context, rest) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    (self.upload.sent, self.upload.is_held) = (self.upload.sent + count, true);
                    has_moved = true;
                }
                // What the origin has answered before it closed is still read.
                Poll::Ready(_) => self.upload.is_broken = true,
                Poll::Pending => break,
            }
        }
        if self.upload.is_sent() && self.upload.is_held {
            match Pin::new(&mut self.origin.stream).poll_flush(context) {
                Poll::Ready(flushed) => {
                    (self.upload.is_held, self.upload.is_broken) = (false, flushed.is_err());
                }
                Poll::Pending => return Ok(has_moved),
            }
        }
        if self.upload.is_whole {
            has_moved |= self.poll_client(context)?;
        }
        Ok(has_moved)
    }

    /// Takes more of the request from the client, or sees whether it has left.
    fn poll_client(&mut self, context: &mut Context<'_>) -> Result<bool, ExchangeFailure> {
        if self.upload.is_whole || self.upload.is_broken {
            // A client that has its whole answer before it may leave.
            let waits = matches!(self.answer, Answer::Head | Answer::Body(_)) && self.upload.is_whole;
            let has_left = waits && self.client.poll_left(context).is_ready();
            return if has_left { Err(ExchangeFailure::Client(ClientFault::Gone)) } else { Ok(false) };
        }
        self.upload.forget_sent();
        let mut data = Vec::new();
        let taken = match self.answer {
            Answer::Tunnel => self.client.poll_tunnel(context, &mut data),
            _ => self.client.poll_body(context, &mut data),
        };
        let Poll::Ready(is_last) = taken else { return Ok(false) };
        let is_last = is_last.map_err(ExchangeFailure::Client)?;
        self.upload.has_body |= !data.is_empty();
        let is_chunked =
            self.request.head.body == Body::UnknownLength && !matches!(self.answer, Answer::Tunnel);
        if is_chunked {
            push_chunk(&mut self.upload.bytes, &data);
        } else if self.upload.bytes.is_empty() {
            self.upload.bytes = data;
        } else {
            self.upload.bytes.extend_from_slice(&data);
        }
        if is_last {
            self.upload.is_whole = true;
            if is_chunked {
                self.upload.bytes.extend_from_slice(b"0\r\n\r\n");
            }
        }
        Ok(true)
    }

    /// Neither side has read or written anything: ready once that has lasted for too long.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ExchangeFailure>> {
        // While the client takes nothing, that is bounded by its own time.
        if !self.out.is_empty() {
            return Poll::Pending;
        }
        let is_stuck = !self.upload.is_sent() && !self.upload.is_broken;
        let Timeouts { origin_read, origin_write, tunnel, .. } = *self.request.timeouts;
        // Nothing need happen in a tunnel that both sides hold open (RFC 6455 §5.5.2 leaves it to them to ask).
        let is_idle_tunnel = matches!(self.answer, Answer::Tunnel) && !is_stuck;
        let is_open = is_idle_tunnel && !self.is_half_closed && !self.is_origin_done;
        let patience = match (is_stuck, is_open) {
            (true, _) => origin_write.min(*origin_read),
            (false, true) => *tunnel,
            (false, false) => *origin_read,
        };
        // Interim answers are no answer: they do not buy the origin more time.
        let awaits_head = matches!(self.answer, Answer::Head);
        let since =
            self.interim_since.filter(|_| awaits_head).map_or(self.since, |first| first.min(self.since));
        ready!(self.client.poll_deadline(context, since + patience));
        if is_open {
            self.client.note_idle_tunnel();
        }
        Poll::Ready(if is_idle_tunnel { Ok(()) } else { Err(ExchangeFailure::Origin(OriginFault::Timeout)) })
    }
}

impl Upload {
    const fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    const fn is_sent(&self) -> bool {
        self.waiting() == 0
    }

    fn forget_sent(&mut self) {
        if self.is_sent() {
            self.bytes.clear();
            self.sent = 0;
        }
    }
}
