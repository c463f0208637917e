//! The answer of an origin on its way to the client: its head written anew, its body framed anew.

use super::{Answer, ExchangeFailure, LARGE_PIECE, PIECE, Relay, RelayRequest, SentFraming};
use crate::gateway::date;
use crate::http::head::{AnswerHead, InterimAnswers};
use crate::http::{Body, BodyReader, HttpVersion, begin_head, end_head, push_chunk, push_field};
use crate::proxy::client::ExchangeClient;
use crate::proxy::fault::OriginFault;
use crate::proxy::pool::OriginConnection;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::AsyncReadExt as _;

impl<C: ExchangeClient> Relay<'_, C> {
    /// Moves the answer on; whether that was possible.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Result<bool, ExchangeFailure> {
        let mut has_moved = false;
        loop {
            while let Some(rest) = self.out.get(self.out_sent..).filter(|rest| !rest.is_empty()) {
                match self.client.poll_send(context, rest) {
                    Poll::Ready(Ok(count)) => {
                        (self.out_sent, self.is_held, has_moved) = (self.out_sent + count, true, true);
                        self.out_body = self.out_body.min(self.out.len() - self.out_sent);
                        self.progress.has_begun |= self.progress.status.is_some();
                    }
                    Poll::Ready(Err(fault)) => return Err(ExchangeFailure::Client(fault)),
                    Poll::Pending => return Ok(has_moved),
                }
            }
            self.out.clear();
            self.out_sent = 0;
            if let Some(error) = self.failure {
                return Err(error);
            }
            if matches!(self.answer, Answer::Over) || self.is_origin_done {
                return Ok(has_moved);
            }
            let taken = match self.poll_read(context) {
                Poll::Ready(Ok(0)) => self.ended(),
                Poll::Ready(Ok(_)) => {
                    let since = self.since;
                    self.progress.first_byte.get_or_insert_with(|| since.elapsed());
                    self.take()
                }
                Poll::Ready(Err(error)) => Err(self.broken(error.kind())),
                Poll::Pending => return Ok(has_moved),
            };
            // What was good before the fault goes to the client still.
            self.failure = taken.err();
            has_moved = true;
        }
    }

    /// Reads from the origin.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let OriginConnection { stream, buffer, start, .. } = &mut *self.origin;
        if *start == buffer.len() {
            buffer.clear();
            *start = 0;
        }
        buffer.reserve(self.piece);
        let count = ready!(pin!(stream.read_buf(buffer)).poll(context))?;
        if count >= PIECE {
            self.piece = LARGE_PIECE;
        }
        Poll::Ready(Ok(count))
    }

    /// Takes what was read.
    fn take(&mut self) -> Result<(), ExchangeFailure> {
        while matches!(self.answer, Answer::Head) {
            if !self.take_head()? {
                return Ok(());
            }
        }
        match self.answer {
            Answer::Body(_) => self.take_body(),
            Answer::Tunnel => {
                let rest = self.origin.buffer.get(self.origin.start..).unwrap_or_default();
                self.out.extend_from_slice(rest);
                self.progress.sent += rest.len();
                self.out_body = rest.len();
                self.origin.start = self.origin.buffer.len();
                Ok(())
            }
            Answer::Head | Answer::Over => Ok(()),
        }
    }

    /// Takes a head, where it is whole; `false` where more of it is needed.
    fn take_head(&mut self) -> Result<bool, ExchangeFailure> {
        let bytes = self.origin.buffer.get(self.origin.start..).unwrap_or_default();
        let malformed = |_| ExchangeFailure::Origin(OriginFault::of_no_http(bytes));
        let Some(head) = AnswerHead::read(bytes).map_err(malformed)? else { return Ok(false) };
        let length = head.length;
        if head.is_interim() {
            self.interim.note(&head).map_err(malformed)?;
            // HTTP/1.0 knows none (RFC 9110 §15.2), and over HTTP/2 only the question for the body is passed on. A client is
            // asked for its body once.
            let is_said_again = head.status == 100 && self.is_asked;
            match self.request.head.version {
                HttpVersion::Http11 if !is_said_again => write_interim(&mut self.out, &head, None),
                HttpVersion::Http2 if head.status == 100 && !is_said_again => self.client.send_continue(),
                _ => {}
            }
            self.is_asked |= head.status == 100;
            if self.upload.is_whole && self.upload.is_sent() {
                self.interim_since.get_or_insert_with(Instant::now);
            }
            self.origin.start += length;
            return Ok(true);
        }
        self.progress.status = Some(head.status);
        if head.status == 101 {
            let protocol = head.get("upgrade").filter(|_| self.request.head.is_websocket_handshake());
            let Some(protocol) = protocol else {
                return Err(ExchangeFailure::Origin(OriginFault::Malformed));
            };
            write_interim(&mut self.out, &head, Some(protocol));
            (self.answer, self.upload.is_whole) = (Answer::Tunnel, false);
            self.origin.start += length;
            return Ok(true);
        }
        let body = head.body(self.request.head.method());
        // HTTP/1.0 knows no transfer codings: such a body ends with the connection (RFC 9112 §6.1). HTTP/2 needs none.
        let can_chunk = self.request.head.version == HttpVersion::Http11;
        let has_length = !matches!(body, Body::UnknownLength | Body::UntilClose);
        self.framing = match body {
            _ if has_length || !can_chunk => SentFraming::Data,
            Body::UnknownLength if self.request.most == usize::MAX => SentFraming::AsItComes,
            _ => SentFraming::Chunks,
        };
        self.progress.keeps_client = self.request.keeps_alive && (has_length || can_chunk);
        self.progress.origin_idle = head.keep_alive_timeout();
        // An origin that does not read such a body takes it for the next request (RFC 9110 §9.3.1, RFC 9112 §11.2).
        let is_body_read =
            self.request.head.body == Body::None || !has_no_use_for_a_body(self.request.head.method());
        self.progress.keeps_origin = head.keeps_alive() && body != Body::UntilClose && is_body_read;
        let reader = BodyReader::of_answer(body);
        if self.request.head.version == HttpVersion::Http2 {
            let fields = fields(&head, &self.request);
            let sent = self.client.send_head(head.status, fields, reader.is_done());
            sent.map_err(ExchangeFailure::Client)?;
            self.progress.has_begun = true;
        } else {
            self.out.reserve(length + 256);
            begin_head(&mut self.out, head.status, head.reason);
            let put = |name: &[u8], value: &[u8]| push_field(&mut self.out, name, value);
            put_fields(&head, &self.request, self.framing, put);
            end_head(&mut self.out, self.progress.keeps_client);
        }
        self.answer = if reader.is_done() { Answer::Over } else { Answer::Body(reader) };
        self.origin.start += length;
        Ok(true)
    }

    fn take_body(&mut self) -> Result<(), ExchangeFailure> {
        let Answer::Body(reader) = &mut self.answer else { return Ok(()) };
        let OriginConnection { buffer, start, .. } = &mut *self.origin;
        let bytes = buffer.get(*start..).unwrap_or_default();
        let before = self.out.len();
        let out = &mut self.out;
        let (mut data_length, left) = (0, self.request.most.saturating_sub(self.progress.sent));
        // As long as what goes on is what came, it stays where it lies: so many bytes.
        let (mut same, mut is_copied) = (0, before > 0 || *start > 0);
        let read = reader.read_framed(bytes, |piece, is_data| {
            if !is_data && self.framing != SentFraming::AsItComes {
                return;
            }
            let most = if is_data { left.saturating_sub(data_length) } else { piece.len() };
            let piece = piece.get(..most).unwrap_or(piece);
            data_length += if is_data { piece.len() } else { 0 };
            let lies = bytes.get(same..).unwrap_or_default();
            if self.framing == SentFraming::Chunks {
                is_copied = true;
                push_chunk(out, piece);
            } else if !is_copied && std::ptr::eq(lies.as_ptr(), piece.as_ptr()) {
                same += piece.len();
            } else {
                out.extend_from_slice(bytes.get(..std::mem::take(&mut same)).unwrap_or_default());
                is_copied = true;
                out.extend_from_slice(piece);
            }
        });
        if same > 0 && same == bytes.len() {
            std::mem::swap(out, buffer);
        } else {
            out.extend_from_slice(bytes.get(..same).unwrap_or_default());
            *start += *read.as_ref().unwrap_or(&0);
        }
        self.progress.sent += data_length;
        self.out_body = self.out.len() - before;
        read.map_err(|_| ExchangeFailure::Origin(OriginFault::Malformed))?;
        let is_cut = self.progress.sent >= self.request.most && !reader.is_done();
        self.progress.keeps_origin &= !is_cut;
        if is_cut || reader.is_done() {
            self.finish();
        }
        Ok(())
    }

    /// The answer's body is whole.
    fn finish(&mut self) {
        if self.framing == SentFraming::Chunks {
            self.out.extend_from_slice(b"0\r\n\r\n");
        }
        self.answer = Answer::Over;
    }

    /// The origin has closed the connection.
    fn ended(&mut self) -> Result<(), ExchangeFailure> {
        match &self.answer {
            Answer::Body(BodyReader::UntilClose) => self.finish(),
            // The client may have more to say: it hears of it first.
            Answer::Tunnel => self.is_origin_done = true,
            Answer::Over => {}
            Answer::Head | Answer::Body(_) => return Err(self.broken(io::ErrorKind::UnexpectedEof)),
        }
        Ok(())
    }

    /// What it means that the origin's connection has come to its end.
    fn broken(&mut self, kind: io::ErrorKind) -> ExchangeFailure {
        let is_unanswered =
            matches!(self.answer, Answer::Head) && self.origin.buffer.len() == self.origin.start;
        let is_silent = is_unanswered && self.interim == InterimAnswers::default();
        if kind == io::ErrorKind::TimedOut {
            return ExchangeFailure::Origin(OriginFault::Timeout);
        }
        self.progress.is_stale = self.origin.is_kept && is_silent && !self.upload.has_body;
        ExchangeFailure::Origin(OriginFault::Closed)
    }
}

/// The methods whose body means nothing (RFC 9110 §9.3).
fn has_no_use_for_a_body(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "DELETE" | "TRACE")
}

/// Writes an interim answer, or the one that another `protocol` begins behind.
fn write_interim(out: &mut Vec<u8>, head: &AnswerHead<'_>, protocol: Option<&[u8]>) {
    begin_head(out, head.status, head.reason);
    if let Some(protocol) = protocol {
        push_field(out, b"Connection", b"Upgrade");
        push_field(out, b"Upgrade", protocol);
    }
    head.page_fields().for_each(|(name, value)| push_field(out, name, value));
    out.extend_from_slice(b"\r\n");
}

/// The fields of an answer as HTTP/2 has them, which frames bodies itself.
fn fields(head: &AnswerHead<'_>, request: &RelayRequest<'_>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    put_fields(head, request, SentFraming::Data, |name, value| {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            fields.append(name, value);
        }
    });
    fields
}

fn put_fields(
    head: &AnswerHead<'_>,
    request: &RelayRequest<'_>,
    framing: SentFraming,
    mut put: impl FnMut(&[u8], &[u8]),
) {
    head.page_fields().for_each(|(name, value)| put(name, value));
    // The answer to HEAD says how long the body would be, and a 304 may.
    match (framing, head.content_length) {
        (SentFraming::AsItComes | SentFraming::Chunks, _) => put(b"Transfer-Encoding", b"chunked"),
        (SentFraming::Data, Some(length)) if head.status != 204 => {
            let length = length.min(request.most as u64);
            put(b"Content-Length", length.to_string().as_bytes());
        }
        (SentFraming::Data, _) => {}
    }
    // RFC 9110 §6.6.1: who forwards an answer without a date writes one.
    if head.get("date").is_none() {
        put(b"Date", &date::now());
    }
    for field in request.added.iter().filter(|field| field.is_joined || head.get(field.name).is_none()) {
        put(field.name.as_bytes(), &field.value);
    }
}
