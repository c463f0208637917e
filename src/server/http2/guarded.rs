//! An HTTP/2 connection with a guard around it: the library reads and writes as ever, and every silence has an end.

use super::frames::{FrameMeter, RST_STREAM, WrittenFrames};
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
    written: WrittenFrames,
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
            meter: FrameMeter::default(),
            paths: PathGuard::new(*state.limits.header_size),
            written: WrittenFrames::default(),
            stall: Stall::default(),
            deadline: Deadline::default(),
            is_over: false,
            state: Arc::clone(state),
        }
    }

    /// What has become of a step, which is an error where the client has taken nothing for too long.
    fn bound<T>(&mut self, context: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_pending() {
            self.state.ledger.lock().is_behind = true;
        }
        let patience = *self.state.timeouts.client_write;
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
        let event = loop {
            match Pin::new(&mut this.inner).poll_read(context, buffer) {
                Poll::Ready(Ok(())) if buffer.filled().len() > before => {}
                Poll::Pending => break ready!(this.state.poll_silence(context)),
                ended @ Poll::Ready(_) => return ended,
            }
            let (state, meter) = (&this.state, &mut this.meter);
            state.ledger.lock().life.hear();
            this.paths.read(buffer, before, |head| {
                meter.note(head);
                if head.kind == RST_STREAM {
                    state.cancelled(head.stream);
                }
            });
            if !meter.is_within_bounds(&state.limits) || state.is_overdrawn() {
                break ConnectionEvent::H2Flood;
            }
            // Else all of it is held back.
            if buffer.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        };
        buffer.set_filled(before);
        this.is_over = true;
        this.state.ledger.lock().life.end(event);
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
        this.meter.carried += count as u64;
        let whole = count;
        for slice in slices {
            let (bytes, state) = (slice.get(..count.min(slice.len())).unwrap_or_default(), &this.state);
            this.written.read(bytes, |head, reason| state.wrote(head, reason));
            count -= bytes.len();
        }
        Poll::Ready(Ok(whole))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{FrameHead, HEADERS};
    use super::super::hpack::{TABLE, true_path};
    use super::super::state::tests::state;
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// Writes the fields of requests as a client may, and knows its own table (RFC 7541 §2.3.2).
    struct Writer {
        entries: Vec<(Vec<u8>, Vec<u8>)>,
        most: usize,
        seed: u64,
    }

    impl Writer {
        fn below(&mut self, most: usize) -> usize {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            usize::try_from(self.seed >> 20).unwrap() % most
        }

        fn number(out: &mut Vec<u8>, first: u8, most: u8, mut number: usize) {
            if number < usize::from(most) {
                return out.push(first | u8::try_from(number).unwrap());
            }
            out.push(first | most);
            number -= usize::from(most);
            while number >= 128 {
                out.push(u8::try_from(number % 128).unwrap() | 128);
                number /= 128;
            }
            out.push(u8::try_from(number).unwrap());
        }

        /// A text, sometimes in Huffman's code (RFC 7541 appendix B), of whose signs a few will do.
        fn text(&mut self, out: &mut Vec<u8>, text: &[u8]) {
            let code = |sign: &u8| match sign {
                b'a' => (0x3, 5),
                b't' => (0x9, 5),
                b'/' => (0x18, 6),
                b'p' => (0x2b, 6),
                b'h' => (0x27, 6),
                b':' => (0x5c, 7),
                b'#' => (0xffa, 12),
                b'<' => (0x7ffc, 15),
                0xe9 => (0x003f_ffeb, 22),
                _ => panic!("{sign}"),
            };
            if self.below(2) == 0 {
                Self::number(out, 0, 0x7f, text.len());
                return out.extend_from_slice(text);
            }
            let mut bits: Vec<u32> = Vec::new();
            for (code, length) in text.iter().map(code) {
                bits.extend((0..length).rev().map(|place| code >> place & 1));
            }
            bits.resize(bits.len().next_multiple_of(8), 1);
            Self::number(out, 0x80, 0x7f, bits.len() / 8);
            out.extend(
                bits.chunks(8)
                    .map(|bits| u8::try_from(bits.iter().fold(0, |all, bit| all << 1 | bit)).unwrap()),
            );
        }

        fn resize(&mut self, out: &mut Vec<u8>, most: usize) {
            self.most = most;
            self.evict();
            Self::number(out, 0x20, 0x1f, most);
        }

        fn evict(&mut self) {
            let size = |entry: &(Vec<u8>, Vec<u8>)| entry.0.len() + entry.1.len() + 32;
            while self.entries.iter().map(size).sum::<usize>() > self.most {
                self.entries.pop();
            }
        }

        /// Writes a field in one of the forms that it may have.
        fn field(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
            let same = |entry: &(Vec<u8>, Vec<u8>)| entry.0 == name && entry.1 == value;
            if let Some(index) = self.entries.iter().position(same).filter(|_| self.below(4) > 0) {
                return Self::number(out, 0x80, 0x7f, 62 + index);
            }
            let mut names: Vec<usize> = vec![0];
            names.extend([4, 5].iter().filter(|_| name == b":path"));
            names.extend((0..self.entries.len()).filter(|at| self.entries[*at].0 == name).map(|at| 62 + at));
            let index = names[self.below(names.len())];
            let (first, most) = [(0x40, 0x3f), (0x00, 0x0f), (0x10, 0x0f)][self.below(3)];
            Self::number(out, first, most, index);
            if index == 0 {
                self.text(out, name);
            }
            self.text(out, value);
            if first == 0x40 {
                self.entries.insert(0, (name.to_vec(), value.to_vec()));
                self.evict();
            }
        }

        fn path(&mut self) -> Vec<u8> {
            let most = if self.below(20) == 0 { 3_000 } else { 100 };
            let length = self.below(most);
            [b"/".to_vec(), (0..length).map(|_| b"a/t#<\xe9"[self.below(6)]).collect()].concat()
        }
    }

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        FrameHead { length: payload.len(), kind, flags, stream }.put(&mut frame);
        [&frame, payload].concat()
    }

    /// The library reads them behind the guard, by the table that it has then.
    #[tokio::test]
    async fn requests_are_what_they_were_whatever_form_and_index_a_client_has_for_their_fields() {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (mut from_server, mut to_server) = tokio::io::split(client);
        let taken =
            async move { while from_server.read(&mut [0; 4_096]).await.is_ok_and(|read| read > 0) {} };
        tokio::spawn(taken);
        to_server.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        // SETTINGS, and that those of the server are heeded.
        to_server.write_all(&[frame(4, 0, 0, &[]), frame(4, 1, 0, &[])].concat()).await.unwrap();
        let state = state(Duration::from_secs(600));
        let guarded = Guarded::new(server, &state);
        let handshake = super::super::options(&state.limits).handshake(guarded);
        let mut connection: h2::server::Connection<_, bytes::Bytes> = handshake.await.unwrap();
        let most = usize::try_from(TABLE).unwrap();
        let mut writer = Writer { entries: Vec::new(), most, seed: 0x9e37_79b9_7f4a_7c15 };
        let paths: Vec<Vec<u8>> = (0..60).map(|_| writer.path()).collect();
        let mut stream = 1;
        for round in 0..100 {
            let mut sent = Vec::new();
            for number in 0..20 {
                let mut block = Vec::new();
                if number == 0 && (round == 0 || writer.below(2) == 0) {
                    let size = if round == 0 { most } else { writer.below(most + 1) };
                    writer.resize(&mut block, size);
                }
                // `:method: GET`, `:scheme: https` (RFC 7541 appendix A), `:authority: a`.
                block.extend([0x82, 0x87, 0x01, 1, b'a']);
                let (path, value) = (&paths[writer.below(60)], [&b"a"[..], b"t", b"tat"][writer.below(3)]);
                writer.field(&mut block, b":path", path);
                writer.field(&mut block, b"path", value);
                to_server.write_all(&frame(HEADERS, 5, stream, &block)).await.unwrap();
                sent.push((path, value));
                stream += 2;
            }
            for (path, value) in sent {
                let (request, mut answer) = connection.accept().await.unwrap().unwrap();
                let told = request.uri().path_and_query().unwrap().as_str();
                assert_eq!(*true_path(told), **path, "{told}");
                assert_eq!(request.headers().get("path").unwrap(), value);
                answer.send_response(http::Response::new(()), true).unwrap();
            }
        }
    }
}
