//! The gateway's own questions to origins: exchanged as requests of clients are, each over a connection of its own.

use super::client::{ClientFault, ExchangeClient};
use super::exchange::ExchangeFailure;
use super::fault::OriginFault;
use super::pool::OriginConnection;
use super::relay::{Relay, RelayRequest};
use crate::config::Timeouts;
use crate::http::{Body, HttpVersion, RequestHead};
use http::HeaderMap;
use std::task::{Context, Poll};
use std::time::Instant;

/// The answer to a question, as far as it was wanted.
#[derive(Debug, Default)]
pub(super) struct OriginAnswer {
    pub(super) status: u16,
    fields: HeaderMap,
    pub(super) body: Vec<u8>,
    /// How much of a body is wanted. Without any, nothing behind the head is waited for.
    most: usize,
}

impl OriginAnswer {
    /// The value of a field, where it is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whether its body is longer than was wanted: then it is not whole.
    pub(super) const fn is_too_long(&self) -> bool {
        self.body.len() > self.most
    }
}

/// Whoever asks is a client that is sent heads in fields, as those of HTTP/2 are. It ends the exchange itself once it has
/// what it wants. How long it waits is bounded around it.
impl ExchangeClient for OriginAnswer {
    fn poll_body(&mut self, _: &mut Context<'_>, _: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        Poll::Ready(Ok(true))
    }

    fn send_head(&mut self, status: u16, fields: HeaderMap, _: bool) -> Result<(), ClientFault> {
        (self.status, self.fields) = (status, fields);
        if self.most == 0 { Err(ClientFault::Gone) } else { Ok(()) }
    }

    fn poll_send(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>> {
        self.body.extend_from_slice(bytes);
        Poll::Ready(if self.is_too_long() { Err(ClientFault::TooLarge) } else { Ok(bytes.len()) })
    }

    fn poll_deadline(&mut self, _: &mut Context<'_>, _: Instant) -> Poll<()> {
        Poll::Pending
    }
}

/// Asks a server for a page by this `head`, and takes at most so many bytes of its body.
pub(super) async fn ask(
    connection: &mut OriginConnection,
    timeouts: &Timeouts,
    head: String,
    most: usize,
) -> Result<OriginAnswer, OriginFault> {
    // What is sent is `head`; this says how the answer is framed, and in what form it is wanted.
    let asked =
        RequestHead::from_parts([b"GET", b"/"], None, HttpVersion::Http2, Body::None, std::iter::empty());
    let request = RelayRequest { head: &asked, keeps_alive: false, added: &[], most: usize::MAX, timeouts };
    let mut answer = OriginAnswer { most, ..OriginAnswer::default() };
    let (_, ended) = Relay::new(request, head.into_bytes(), &mut answer, connection).run().await;
    match ended {
        Ok(()) | Err(ExchangeFailure::Client(_)) => Ok(answer),
        Err(ExchangeFailure::Origin(fault)) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pingora::protocols::l4::stream::Stream;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixStream;

    /// What is made of a server that answers with `text`, and closes its side if `closes`.
    async fn asked(text: &[u8], most: usize, closes: bool) -> Result<OriginAnswer, OriginFault> {
        let (mut server, ours) = UnixStream::pair().unwrap();
        let mut connection = OriginConnection::of_test(Box::new(Stream::from(ours)), false);
        let timeouts = Timeouts::default();
        let question = ask(&mut connection, &timeouts, "GET / HTTP/1.1\r\n\r\n".to_owned(), most);
        let answering = async {
            let _ = server.read(&mut [0; 64]).await;
            let _ = server.write_all(text).await;
            if closes {
                drop(server);
            } else {
                std::future::pending::<()>().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = question => answer,
            () = answering => Err(OriginFault::Other),
        }
    }

    #[tokio::test]
    async fn an_answer_is_whole_when_its_framing_says_so() {
        for (text, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Ok("abc")),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nabc", Ok("ab")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", Err(OriginFault::Closed)),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", Err(OriginFault::Malformed)),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", Ok("abc")),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Err(OriginFault::Closed)),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Ok("")),
            ("HTTP/1.1 304 Not Modified\r\n\r\n", Ok("")),
            ("HTTP/1.1 200 OK\r\n\r\nabc", Ok("abc")),
            ("HTTP/1.1 200 OK\r\n", Err(OriginFault::Closed)),
            ("", Err(OriginFault::Closed)),
            ("nonsense\r\n\r\n", Err(OriginFault::Malformed)),
        ] {
            let found = asked(text.as_bytes(), 100, true).await.map(|answer| answer.body);
            assert_eq!(found, body.map(|body: &str| body.as_bytes().to_vec()), "{text:?}");
        }
    }

    #[tokio::test]
    async fn no_more_is_read_than_is_wanted() {
        let long =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\nETag: \"a\"\r\n\r\n{}", "a".repeat(101));
        let answer = asked(long.as_bytes(), 100, false).await.unwrap();
        assert!(answer.is_too_long() && answer.text("etag") == Some("\"a\""));
        let head = asked(b"HTTP/1.1 302 Found\r\nContent-Length: 999999\r\n\r\n", 0, false).await.unwrap();
        assert_eq!((head.status, head.is_too_long()), (302, false));
    }

    /// More hints than anybody reads: it is given up before they fill the memory.
    #[tokio::test]
    async fn an_origin_that_only_hints_is_given_up() {
        for hint in [
            "HTTP/1.1 103 Early Hints\r\n\r\n".to_owned(),
            format!("HTTP/1.1 103 \r\nX: {}\r\n\r\n", "y".repeat(9_000)),
        ] {
            let hints = hint.repeat(1_000_000 / hint.len());
            assert_eq!(asked(hints.as_bytes(), 100, false).await.unwrap_err(), OriginFault::Malformed);
        }
    }
}
