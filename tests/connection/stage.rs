//! A gateway between a client that sends what it is told, from memory, and an origin that takes nothing but good requests.
//! `fuzz/fuzz_targets/connection.rs` plays there, too.

use super::wire::{WireAnswers, WireProgress, WireRequest, answers, request};
use robots_gateway::config::{Arguments, Config};
use robots_gateway::gateway::Gateway;
use robots_gateway::http::BodyReader;
use robots_gateway::http::head::{HeadLimits, HeadReader};
use robots_gateway::policy::{self, CurrentPolicy, Prover};
use robots_gateway::record::{Journal, ReadBook, Recorder, Totals};
use robots_gateway::server::MemoryServer;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// How long a play may take. None waits for a time limit of the gateway.
const PATIENCE: Duration = Duration::from_secs(20);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// What an origin may answer with; empty to close without a word.
const ANSWERS: [&[u8]; 14] = [
    HELLO,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nX-Trailer: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\nto the end",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\nConnection: close, x-hop\r\nX-Hop: a\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 \r\nContent-Length: 10\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"this is no HTTP\r\n\r\n",
    b"",
];

/// Those behind which the connection goes on.
const KEEPING: [usize; 6] = [0, 1, 2, 5, 6, 7];

/// What came of a play.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Played {
    pub(crate) answers: WireAnswers,
    /// Requests that the origin got.
    pub(crate) forwarded: usize,
}

/// What the gateway itself reads in what a client sends.
struct SentRequests {
    /// Method and body of each request; the last body may not be whole.
    requests: Vec<(String, Vec<u8>)>,
    /// How many of them are whole, and will be answered.
    whole: usize,
    /// Whether what follows is no request, and has the method HEAD: its answer has no body once that has come.
    asks_head: bool,
}

#[derive(Default)]
struct StageOrigin {
    /// Which answer comes next.
    next: AtomicUsize,
    /// How many clients there were.
    clients: AtomicUsize,
    /// Method and body of each request that came whole.
    seen: Mutex<Vec<(String, Vec<u8>)>>,
    faults: Mutex<Vec<String>>,
}

pub(crate) struct ConnectionStage {
    runtime: Runtime,
    server: MemoryServer,
    totals: Arc<Totals>,
    origin: Arc<StageOrigin>,
}

impl ConnectionStage {
    /// A gateway whose state is in `folder`.
    pub(crate) fn set(folder: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let origin = Arc::<StageOrigin>::default();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let serving = Arc::clone(&origin);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&serving).serve(stream));
            }
        });
        let (robots, path) = (folder.join("robots.txt"), folder.join("gateway.toml"));
        std::fs::write(&robots, "User-agent: *\nDisallow: /private\n").expect("written");
        let text = format!(
            "state_dir = \"{}\"\nmode = \"enforce\"\nnotice = \"0s\"\n[clients]\nunnamed = \"enforce\"\n\
             [[sites]]\norigin = \"http://{address}\"\nrobots = \"{}\"\n",
            folder.join("state").display(),
            robots.display()
        );
        std::fs::write(&path, text).expect("written");
        let arguments = Arguments { config: Some(path), ..Arguments::default() };
        let config = Config::load(&arguments).expect("a good configuration");
        let (journal, store) = (config.journal(), config.store());
        let policy = policy::check(config, SystemTime::now()).expect("a good policy");
        let gateway = Gateway::new(
            Arc::new(CurrentPolicy::new(policy)),
            Arc::new(Journal::open(&journal).expect("a journal")),
            Arc::new(Recorder::start(&store).expect("a recorder")),
            Arc::new(ReadBook::default()),
            Arc::new(Prover::start(None).expect("a prover")),
        );
        let totals = Arc::clone(&gateway.totals);
        let server = MemoryServer::new(gateway).expect("a site");
        Self { runtime, server, totals, origin }
    }

    /// Has a client send `bytes`, in pieces of at most `piece`, to an origin that begins with the answer `first`. Panics where
    /// an answer or a request at the origin is not well formed, or where there is none.
    pub(crate) fn play(&self, first: usize, piece: usize, bytes: &[u8]) -> Played {
        let sent = read(bytes);
        let are_head: Vec<bool> = sent.requests.iter().map(|(method, _)| method == "HEAD").collect();
        self.origin.next.store(first, Ordering::Relaxed);
        self.origin.clients.fetch_add(1, Ordering::Relaxed);
        self.origin.seen().clear();
        let received = self.runtime.block_on(async {
            let played =
                tokio::time::timeout(PATIENCE, self.exchange(piece.max(1), bytes, sent.whole, &are_head));
            played.await.unwrap_or_else(|_| panic!("no end to {}", bytes.escape_ascii()))
        });
        let shown = || format!("{}\nto {}", received.escape_ascii(), bytes.escape_ascii());
        let with = |last: bool| answers(&received, &[&are_head[..], &[last]].concat(), true);
        // In pieces, its fault may be known before its method.
        let read = match with(sent.asks_head) {
            Err(_) if bytes.len() > piece => with(false),
            read => read,
        };
        let answers = match read {
            Ok(answers) => answers,
            Err(fault) => panic!("{fault}\nin {}", shown()),
        };
        assert!(answers.whole > 0 || answers.is_torn || sent.whole == 0, "no answer: {}", shown());
        assert!(answers.whole <= sent.requests.len() + 1, "too many answers: {}", shown());
        assert_eq!(self.totals.snapshot().faults, 0, "a panic was caught: {}", shown());
        let faults = std::mem::take(&mut *self.origin.faults.lock().expect("no panic"));
        assert!(faults.is_empty(), "{faults:?}\n{}", shown());
        // One is asked for again where a kept connection was closed.
        let (seen, mut rest) = (self.origin.seen().clone(), sent.requests.iter().peekable());
        for request in &seen {
            while rest.next_if(|other| *other != request).is_some() {}
            assert!(rest.peek().is_some(), "the origin got {request:?}\n{}", shown());
        }
        Played { answers, forwarded: seen.len() }
    }

    /// What a client receives that leaves once it has as many answers as it sent whole requests.
    async fn exchange(&self, piece: usize, bytes: &[u8], whole: usize, are_head: &[bool]) -> Vec<u8> {
        let (client, server) = tokio::io::duplex(16 * 1024);
        let (mut reader, mut writer) = tokio::io::split(client);
        let has_all = Notify::new();
        if whole == 0 {
            has_all.notify_one();
        }
        // Either one leaves with what it has of the connection.
        let (told, tell) = (&has_all, &has_all);
        let writing = async move {
            for piece in bytes.chunks(piece) {
                tokio::task::yield_now().await;
                if writer.write_all(piece).await.is_err() {
                    break;
                }
            }
            told.notified().await;
            // The gateway may have gone before.
            let _ = writer.shutdown().await;
            std::future::pending::<()>().await;
        };
        let reading = async move {
            let mut received = Vec::new();
            while reader.read_buf(&mut received).await.is_ok_and(|count| count > 0) {
                if answers(&received, are_head, false).is_ok_and(|answers| answers.whole >= whole) {
                    tell.notify_one();
                }
            }
            received
        };
        let client = async move {
            tokio::select! {
                received = reading => received,
                () = writing => Vec::new(),
            }
        };
        let serving = self.server.serve(server, self.origin.client());
        tokio::join!(client, serving).0
    }
}

/// Reads what a client sends as the gateway does, up to the first fault.
fn read(bytes: &[u8]) -> SentRequests {
    let (mut sent, mut rest) =
        (SentRequests { requests: Vec::new(), whole: 0, asks_head: false }, bytes.to_vec());
    let mut may_switch = false;
    loop {
        let mut reader = HeadReader::new(HeadLimits { bytes: 64 * 1024, fields: 100 });
        let Ok(Some(head)) = reader.read(&mut rest) else {
            sent.asks_head = rest.trim_ascii_start().starts_with(b"HEAD ");
            return sent;
        };
        let (mut bodies, mut body) = (BodyReader::new(head.body), Vec::new());
        let read = bodies.read(&rest, |data| body.extend_from_slice(data));
        sent.requests.push((head.method().to_owned(), body));
        let Ok(count) = read else { return sent };
        if !bodies.is_done() {
            return sent;
        }
        // What follows an offer may be no request any more.
        may_switch |= head.is_websocket_handshake();
        sent.whole += usize::from(!may_switch);
        rest.drain(..count);
    }
}

impl StageOrigin {
    fn seen(&self) -> std::sync::MutexGuard<'_, Vec<(String, Vec<u8>)>> {
        self.seen.lock().expect("no panic")
    }

    /// The client whose requests are looked at.
    fn client(&self) -> IpAddr {
        let number = u8::try_from(self.clients.load(Ordering::Relaxed) % 250).expect("a byte");
        IpAddr::V4(Ipv4Addr::new(198, 51, 100, number))
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let mut unread = Vec::new();
        loop {
            match self.request(&mut stream, &mut unread).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(fault) => {
                    self.faults.lock().expect("no panic").push(format!("{fault}: {}", unread.escape_ascii()));
                    return;
                }
            }
        }
    }

    /// Answers a request; whether the connection goes on.
    async fn request(&self, stream: &mut TcpStream, unread: &mut Vec<u8>) -> Result<bool, String> {
        let head: WireRequest = loop {
            match request(unread)? {
                WireProgress::Whole(head, length) => {
                    unread.drain(..length);
                    break head;
                }
                WireProgress::More if stream.read_buf(unread).await.is_ok_and(|count| count > 0) => {}
                WireProgress::More => return Ok(false),
            }
        };
        let choice = self.next.fetch_add(1, Ordering::Relaxed) % ANSWERS.len();
        let body = loop {
            match head.body(unread)? {
                WireProgress::Whole(body, length) => {
                    unread.drain(..length);
                    break body;
                }
                WireProgress::More if stream.read_buf(unread).await.is_ok_and(|count| count > 0) => {}
                WireProgress::More => return Ok(false),
            }
        };
        // What an earlier client has left behind may come late.
        if head.client == self.client().to_string().as_bytes() {
            self.seen().push((head.method.clone(), body));
        }
        if head.is_handshake && choice.is_multiple_of(2) {
            let switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00";
            let _ = stream.write_all(switch).await;
            return Ok(false);
        }
        let is_head = head.method == "HEAD";
        let answer: &[u8] =
            if is_head { b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" } else { ANSWERS[choice] };
        let is_sent = stream.write_all(answer).await.is_ok();
        Ok(is_sent && (is_head || KEEPING.contains(&choice)))
    }
}
