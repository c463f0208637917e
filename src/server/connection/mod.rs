//! A client's connection of HTTP/1, from its first byte to its last.
//!
//! The loop is [`Http1Connection::serve`]: read a head, have it decided, answer it or exchange it with its origin, and go on
//! with the next one. What comes behind a request waits until that is over, so requests may be sent in a row
//! (RFC 9112 §9.3.2), and an upgrade is no way around judging (RFC 9110 §7.8).

mod body;
mod client;
mod deadline;
mod heads;
mod linger;
mod requests;

pub(super) use body::BodyMeter;
pub(super) use deadline::{Deadline, Stall};
pub(super) use requests::{Recipient, RequestOutcome, Service, WorkerContext, answer, drain, page, send};

use super::life::ClientLife;
use super::workers::Stage;
use crate::gateway::{CLIENT_GONE, ConnectionInfo};
use crate::http::BodyReader;
use heads::{Closing, NextRequest, ServiceReader};
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;

/// How much is read at a time of what may be a head.
const PIECE: usize = 8 * 1024;

/// How much is read ahead while a request is answered: a few requests in a row. More stays in the kernel, where it holds
/// up its sender.
const AHEAD: usize = 16 * 1024;

/// The largest state of a request under way, in bytes. It is moved to the heap for each one: with room for a handshake
/// with an origin in it, 111 KiB, a refusal took a third more instructions (counted with callgrind).
const LARGEST: usize = 4 * 1024;

/// Moves a state to the heap. A variable that held it first would have its size in the connection's own state, too.
fn on_heap<F: Future>(future: F) -> Pin<Box<F>> {
    debug_assert!(size_of::<F>() <= LARGEST, "{}", size_of::<F>());
    Box::pin(future)
}

/// The largest piece that is read at once. More stays in the kernel, where it holds up its sender.
const LARGEST_PIECE: usize = 16 * 1024;

/// What a connection is read from and written to.
pub(super) trait ClientStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ClientStream for S {}

/// Reads at most `most` bytes behind those of `out`; 0 at the end of the stream. Nothing is reserved in `out` while there
/// is nothing to read.
fn poll_append(
    stream: &mut impl ClientStream,
    context: &mut Context<'_>,
    out: &mut Vec<u8>,
    most: usize,
) -> Poll<io::Result<usize>> {
    let mut piece = [MaybeUninit::uninit(); LARGEST_PIECE];
    let mut whole = ReadBuf::uninit(&mut piece);
    let mut piece = whole.take(most);
    ready!(Pin::new(stream).poll_read(context, &mut piece))?;
    out.extend_from_slice(piece.filled());
    Poll::Ready(Ok(piece.filled().len()))
}

/// What a new connection is made of.
pub(super) struct NewConnection<S> {
    pub(super) stream: S,
    /// The socket of its TCP connection: the kernel says whether the client has acknowledged what was sent there.
    pub(super) socket: Option<RawFd>,
    pub(super) life: ClientLife,
}

/// A connection that is open.
pub(super) struct Http1Connection<S> {
    stream: S,
    socket: Option<RawFd>,
    life: ClientLife,
    /// Bytes that were read and belong to what comes next.
    unread: Vec<u8>,
    /// Whether the client has ended its side.
    has_ended: bool,
    /// The body of the request under way.
    body: BodyReader,
    meter: BodyMeter,
    stall: Stall,
    /// When the head that is awaited began, where it did not come at once.
    head_since: Option<Instant>,
}

impl<S: ClientStream> Http1Connection<S> {
    /// A connection that is about to be served. It is on the heap once, and so not in each future that passes it on.
    pub(super) fn new(opened: NewConnection<S>) -> Box<Self> {
        let NewConnection { stream, socket, life } = opened;
        Box::new(Self {
            stream,
            socket,
            life,
            unread: Vec::new(),
            has_ended: false,
            body: BodyReader::Done,
            meter: BodyMeter::default(),
            stall: Stall::default(),
            head_since: None,
        })
    }

    /// Serves a connection to its end.
    #[expect(clippy::manual_async_fn, reason = "arguments of an async function are in its state twice")]
    pub(super) fn serve(
        mut self: Box<Self>,
        service: &Service,
        info: ConnectionInfo,
        mut stage: watch::Receiver<Stage>,
    ) -> impl Future<Output = ()> + Send {
        async move {
            let changes = stage.clone();
            let said = pin!(async { drop(stage.wait_for(|stage| *stage == Stage::CloseIdle).await) });
            self.requests(service, &info, Closing { stage: changes, said, is_awaited: false }).await;
            self.life.close();
        }
    }

    /// Answers one request after the other, until there is no next one.
    #[expect(clippy::manual_async_fn, reason = "arguments of an async function are in its state twice")]
    fn requests(
        &mut self,
        service: &Service,
        info: &ConnectionInfo,
        mut closing: Closing<'_, impl Future<Output = ()> + Send>,
    ) -> impl Future<Output = ()> + Send {
        async move {
            loop {
                let mut reader = ServiceReader::new(service, &self.life.limits);
                match self.next_head(&mut reader, &mut closing).await {
                    NextRequest::Request(head) => {
                        // On the heap for as long as it takes: an idle connection has no room for it.
                        if !on_heap(self.request(head, service, info, closing.is_near())).await {
                            break;
                        }
                    }
                    NextRequest::Fault(fault) => return on_heap(self.refuse(service, info, fault)).await,
                    NextRequest::Late(event) => return on_heap(self.give_up(service, info, event)).await,
                    NextRequest::Left => {
                        self.record_fragment(service, info, CLIENT_GONE, 0, "unfinished");
                        break;
                    }
                    NextRequest::End => break,
                }
            }
            on_heap(self.end()).await;
        }
    }

    /// Closes the connection.
    async fn end(&mut self) {
        if self.body.is_done() {
            // Nobody is left to hear of an error, or may be there and take nothing.
            let _ = tokio::time::timeout(*self.life.timeouts.client_write, self.stream.shutdown()).await;
        } else {
            linger::linger(&mut self.stream).await;
        }
    }

    /// Reads what has come into the connection's own memory; 0 at the end of the stream. An idle connection holds none.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let count = ready!(poll_append(&mut self.stream, context, &mut self.unread, PIECE))?;
        self.has_ended |= count == 0;
        self.life.has_spoken |= count > 0;
        Poll::Ready(Ok(count))
    }

    /// Takes so many of the bytes that were read.
    fn consume(&mut self, count: usize) {
        if count >= self.unread.len() {
            // An idle connection holds no memory.
            self.unread = Vec::new();
        } else {
            self.unread.drain(..count);
        }
    }
}
