//! Exchanges between a client and an origin that are both played here.

use super::*;
use crate::config::DurationValue;
use crate::http::HttpFault;
use crate::proxy::pool::OriginConnection;
use ::http::HeaderMap;
use pingora::protocols::l4::stream::Stream;
use std::collections::VecDeque;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// A client that has its body in pieces, and keeps what it is sent.
#[derive(Default)]
struct Player {
    body: VecDeque<Result<Vec<u8>, ClientFault>>,
    /// Whether its body ends, or is waited for.
    is_whole: bool,
    has_left: bool,
    /// Whether it waits for deadlines.
    is_patient: bool,
    heard: Vec<u8>,
    /// What it is sent in fields: status, how many, and whether nothing follows.
    heads: Vec<(u16, usize, bool)>,
    /// How much of that was flushed.
    flushed: usize,
    /// What it has to say once the tunnel has ended on the other side.
    last_word: Option<Vec<u8>>,
    /// How often it was asked for its body, and told that its tunnel was idle.
    asked: usize,
    idle: usize,
}

impl ExchangeClient for Player {
    fn poll_body(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        match self.body.pop_front() {
            Some(piece) => out.extend(piece?),
            None if self.is_whole => return Poll::Ready(Ok(true)),
            None => return Poll::Pending,
        }
        Poll::Ready(Ok(self.is_whole && self.body.is_empty()))
    }

    fn poll_tunnel(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, ClientFault>> {
        self.poll_body(context, out)
    }

    fn send_head(&mut self, status: u16, fields: HeaderMap, is_last: bool) -> Result<(), ClientFault> {
        self.heads.push((status, fields.len(), is_last));
        Ok(())
    }

    fn send_continue(&mut self) {
        self.asked += 1;
    }

    fn poll_end_tunnel(&mut self, _: &mut Context<'_>) -> Poll<()> {
        self.body.extend(self.last_word.take().map(Ok));
        self.is_whole = true;
        Poll::Ready(())
    }

    fn note_idle_tunnel(&mut self) {
        self.idle += 1;
    }

    fn poll_send(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>> {
        // Never all of it at once.
        let count = bytes.len().div_ceil(2);
        self.heard.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientFault>> {
        self.flushed = self.heard.len();
        Poll::Ready(Ok(()))
    }

    fn poll_left(&mut self, _: &mut Context<'_>) -> Poll<()> {
        if self.has_left { Poll::Ready(()) } else { Poll::Pending }
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        if at <= Instant::now() {
            return Poll::Ready(());
        }
        if self.is_patient {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn request(method: &str, body: Body) -> RelayRequest<'static> {
    asked(method, HttpVersion::Http11, body, &[])
}

/// A request with such fields. Tests are few, and may leave theirs in memory.
fn asked(method: &str, version: HttpVersion, body: Body, fields: &[(&str, &str)]) -> RelayRequest<'static> {
    let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mut head = RequestHead::from_parts([method.as_bytes(), b"/"], None, version, body, fields);
    head.options.upgrade = head.get("upgrade").is_some();
    RelayRequest {
        head: Box::leak(Box::new(head)),
        keeps_alive: true,
        added: &[],
        most: usize::MAX,
        timeouts: timeouts(|_| {}),
    }
}

fn timeouts(set: impl FnOnce(&mut Timeouts)) -> &'static Timeouts {
    let patience = DurationValue(Duration::from_secs(10));
    let mut timeouts =
        Timeouts { origin_read: patience, origin_write: patience, tunnel: patience, ..Timeouts::default() };
    set(&mut timeouts);
    Box::leak(Box::new(timeouts))
}

fn handshake() -> RelayRequest<'static> {
    asked("GET", HttpVersion::Http11, Body::None, &[("upgrade", "websocket")])
}

/// What came of an exchange: what the client heard without the date, what the origin heard, and how it ended.
struct RelayOutcome {
    heard: String,
    /// Whether the client's stream holds nothing of that back.
    is_flushed: bool,
    at_origin: String,
    progress: Progress,
    result: Result<(), ExchangeFailure>,
    asked: usize,
    idle: usize,
}

/// An exchange in which the origin answers with `answer`, and closes its side if `closes`.
async fn exchanged(
    request: RelayRequest<'_>,
    mut client: Player,
    is_kept: bool,
    answer: &[u8],
    closes: bool,
) -> RelayOutcome {
    let (mut origin, ours) = UnixStream::pair().unwrap();
    let stream = Box::new(Stream::from(ours));
    let connection = OriginConnection::of_test(stream, is_kept);
    let relaying = async {
        let mut connection = connection;
        Relay::new(request, HEAD.to_vec(), &mut client, &mut connection).run().await
    };
    let answering = async {
        let mut at_origin = vec![0; HEAD.len()];
        if origin.read_exact(&mut at_origin).await.is_err() {
            // The exchange has ended before it sent anything.
            return (origin, Vec::new());
        }
        let _ = origin.write_all(answer).await;
        if closes {
            let _ = origin.shutdown().await;
        }
        (origin, at_origin)
    };
    let ((progress, result), (mut origin, mut at_origin)) = tokio::join!(relaying, answering);
    let _ = origin.read_to_end(&mut at_origin).await;
    let is_flushed = client.flushed == client.heard.len();
    let heard = String::from_utf8(client.heard).unwrap();
    let heard: String = heard.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")).collect();
    let (asked, idle) = (client.asked, client.idle);
    let at_origin = String::from_utf8(at_origin).unwrap();
    RelayOutcome { heard, is_flushed, at_origin, progress, result, asked, idle }
}

async fn got(answer: &str, closes: bool) -> RelayOutcome {
    exchanged(request("GET", Body::None), Player::default(), false, answer.as_bytes(), closes).await
}

#[tokio::test]
async fn a_body_of_a_known_length_goes_on_as_it_is() {
    let came = got("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello", false).await;
    assert_eq!(
        came.heard,
        "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"
    );
    assert_eq!((came.result, came.progress.status, came.progress.sent), (Ok(()), Some(200), 5));
    assert!(came.progress.keeps_client && came.progress.keeps_origin);
}

#[tokio::test]
async fn chunks_and_bodies_that_end_with_the_connection_are_framed_anew() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n";
    let anew = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let came = got(chunked, false).await;
    assert_eq!(came.heard, anew);
    assert!(came.progress.keeps_origin);
    let came = got("HTTP/1.1 200 OK\r\n\r\nhello", true).await;
    assert_eq!(came.heard, anew);
    assert!(came.progress.keeps_client && !came.progress.keeps_origin);
    let old = asked("GET", HttpVersion::Http10, Body::None, &[]);
    let came = exchanged(old, Player::default(), false, chunked.as_bytes(), false).await;
    assert_eq!(came.heard, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    assert!(!came.progress.keeps_client);
}

#[tokio::test]
async fn an_answer_that_stops_short_is_never_made_whole() {
    let came = got("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", true).await;
    assert!(came.heard.ends_with("\r\n\r\nhello") && came.progress.has_begun);
    assert_eq!(came.result, Err(ExchangeFailure::Origin(OriginFault::Closed)));
    let came = got("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz", false).await;
    assert!(came.heard.ends_with("5\r\nhello\r\n"), "{}", came.heard);
    assert_eq!(came.result, Err(ExchangeFailure::Origin(OriginFault::Malformed)));
}

#[tokio::test]
async fn what_came_is_not_held_back_for_what_is_to_come() {
    let timeouts = timeouts(|timeouts| timeouts.origin_read = DurationValue(Duration::from_millis(50)));
    let hasty = RelayRequest { timeouts, ..request("GET", Body::None) };
    let first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let player = Player { is_patient: true, ..Player::default() };
    let came = exchanged(hasty, player, false, first, false).await;
    assert_eq!(came.result, Err(ExchangeFailure::Origin(OriginFault::Timeout)));
    assert!(came.heard.ends_with("5\r\nhello\r\n") && came.is_flushed, "{}", came.heard);
}

#[tokio::test]
async fn a_malformed_answer_is_never_passed_on() {
    for answer in [
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
    ] {
        let came = got(answer, false).await;
        assert_eq!(
            (came.heard.as_str(), came.result),
            ("", Err(ExchangeFailure::Origin(OriginFault::Malformed)))
        );
        assert!(!came.progress.has_begun);
    }
}

#[tokio::test]
async fn interim_answers_come_before_the_answer() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let came = got(&format!("{hints}HTTP/1.1 204 No Content\r\n\r\n"), false).await;
    assert_eq!(came.heard, format!("{hints}HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"));
    let large = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(30_000));
    for endless in ["HTTP/1.1 100 Continue\r\n\r\n".repeat(33), large.repeat(3)] {
        assert_eq!(got(&endless, false).await.result, Err(ExchangeFailure::Origin(OriginFault::Malformed)));
    }
}

#[tokio::test]
async fn a_body_is_sent_while_the_answer_comes_and_no_further_than_it_is_wanted() {
    let pieces = || [Ok(b"hel".to_vec()), Ok(b"lo".to_vec())].into();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let whole = Player { body: pieces(), is_whole: true, ..Player::default() };
    let came = exchanged(request("POST", Body::UnknownLength), whole, false, answer, false).await;
    assert!(came.at_origin.ends_with("\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), "{}", came.at_origin);
    assert!(came.result.is_ok());
    // The rest of this one is never asked for: its answer is there.
    let endless = Player { body: pieces(), is_whole: false, ..Player::default() };
    let came = exchanged(request("POST", Body::Length(50)), endless, false, answer, false).await;
    assert!(came.result.is_ok() && came.progress.keeps_client && !came.progress.keeps_origin);
}

#[tokio::test]
async fn only_a_kept_connection_that_was_silent_proves_dead() {
    let ended = |is_kept| exchanged(request("GET", Body::None), Player::default(), is_kept, b"", true);
    for is_kept in [true, false] {
        let came = ended(is_kept).await;
        assert_eq!(came.result, Err(ExchangeFailure::Origin(OriginFault::Closed)));
        assert_eq!(came.progress.is_stale, is_kept);
    }
    let half = exchanged(request("GET", Body::None), Player::default(), true, b"HTTP/1.1", true).await;
    assert!(half.result == Err(ExchangeFailure::Origin(OriginFault::Closed)) && !half.progress.is_stale);
    let body = Player { body: [Ok(b"x".to_vec())].into(), ..Player::default() };
    let came = exchanged(request("POST", Body::Length(5)), body, true, b"", true).await;
    assert!(came.result == Err(ExchangeFailure::Origin(OriginFault::Closed)) && !came.progress.is_stale);
}

#[tokio::test]
async fn a_client_that_leaves_or_breaks_its_body_ends_the_exchange() {
    let gone = Player { has_left: true, ..Player::default() };
    let came = exchanged(request("GET", Body::None), gone, false, b"", false).await;
    assert_eq!(came.result, Err(ExchangeFailure::Client(ClientFault::Gone)));
    let fault = ClientFault::Malformed(HttpFault::Chunk);
    let broken = Player { body: [Err(fault)].into(), ..Player::default() };
    let came = exchanged(request("POST", Body::UnknownLength), broken, false, b"", false).await;
    assert_eq!((came.result, &*came.at_origin), (Err(ExchangeFailure::Client(fault)), ""));
}

#[tokio::test]
async fn a_tunnel_carries_both_ways_and_waits_for_the_origin_once_the_client_is_done() {
    let read_timeout = Duration::from_millis(50);
    let timeouts = timeouts(|timeouts| timeouts.origin_read = DurationValue(read_timeout));
    let handshake = RelayRequest { timeouts, ..handshake() };
    let body = [Ok(b"ping".to_vec())].into();
    let client = Player { body, is_whole: true, is_patient: true, ..Player::default() };
    let start = Instant::now();
    let switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\npong";
    let came = exchanged(handshake, client, false, switch, false).await;
    assert!(start.elapsed() >= read_timeout, "{:?}", start.elapsed());
    assert!(came.heard.ends_with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\npong"), "{}", came.heard);
    assert!(came.at_origin.ends_with("\r\n\r\nping"), "{}", came.at_origin);
    assert_eq!((came.result, came.progress.status, came.progress.keeps_client), (Ok(()), Some(101), false));
    assert_eq!(came.idle, 0, "the client had ended it");
}

const SWITCH: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\npong";

#[tokio::test]
async fn a_tunnel_that_the_origin_ends_carries_what_the_client_has_to_say_still() {
    let client = Player { last_word: Some(b"late".to_vec()), is_patient: true, ..Player::default() };
    let came = exchanged(handshake(), client, false, SWITCH, true).await;
    assert!(came.heard.ends_with("\r\n\r\npong"), "{}", came.heard);
    assert!(came.at_origin.ends_with("\r\n\r\nlate"), "{}", came.at_origin);
    assert_eq!((came.result, came.idle), (Ok(()), 0));
}

#[tokio::test]
async fn a_tunnel_through_which_nothing_comes_is_closed_and_counted() {
    let timeouts = timeouts(|timeouts| timeouts.tunnel = DurationValue(Duration::from_millis(50)));
    let handshake = RelayRequest { timeouts, ..handshake() };
    let client = Player { is_patient: true, ..Player::default() };
    let came = exchanged(handshake, client, false, SWITCH, false).await;
    assert_eq!((came.result, came.idle), (Ok(()), 1));
}

/// An exchange with an origin that sends `piece` at so short an interval and so often, and then an answer.
async fn dripped(piece: &[u8], interval: Duration, times: usize) -> Result<(), ExchangeFailure> {
    let (mut origin, ours) = UnixStream::pair().unwrap();
    let mut connection = OriginConnection::of_test(Box::new(Stream::from(ours)), false);
    let mut client = Player { is_patient: true, ..Player::default() };
    let timeouts = timeouts(|timeouts| timeouts.origin_read = DurationValue(Duration::from_millis(200)));
    let hasty = RelayRequest { timeouts, ..request("GET", Body::None) };
    let relay = Relay::new(hasty, HEAD.to_vec(), &mut client, &mut connection).run();
    let dripping = async {
        let mut head = vec![0; HEAD.len()];
        origin.read_exact(&mut head).await.unwrap();
        for _ in 0..times {
            let _ = origin.write_all(piece).await;
            tokio::time::sleep(interval).await;
        }
        let _ = origin.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
    };
    tokio::join!(relay, dripping).0.1
}

#[tokio::test]
async fn interim_answers_buy_no_time() {
    let hint = b"HTTP/1.1 103 Early Hints\r\n\r\n";
    assert_eq!(dripped(hint, Duration::from_millis(1), 3).await, Ok(()));
    let late = dripped(hint, Duration::from_millis(20), 30).await;
    assert_eq!(late, Err(ExchangeFailure::Origin(OriginFault::Timeout)));
}

#[tokio::test]
async fn a_client_of_http2_is_asked_for_its_body_once() {
    let exchange = |answer: &'static [u8]| async move {
        let fields = [("expect", "100-continue")];
        let timeouts = timeouts(|timeouts| timeouts.origin_read = DurationValue(Duration::from_secs(1)));
        let expecting = asked("POST", HttpVersion::Http2, Body::Length(5), &fields);
        let expecting = RelayRequest { timeouts, ..expecting };
        let client = Player { is_patient: true, ..Player::default() };
        exchanged(expecting, client, false, answer, false).await
    };
    // By the origin, and where that does not, by the gateway.
    let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
    for answer in [&answer[..], b""] {
        let came = exchange(answer).await;
        assert_eq!((came.asked, came.heard.as_str()), (1, ""), "{:?}", came.result);
    }
}
