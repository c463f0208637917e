//! An origin that keeps every byte of every message, framed by its own strict reading, and answers each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What came over one connection, up to one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeptMessage {
    /// A whole message: head with its empty line, and body as it was framed.
    Whole { head: Vec<u8>, body: Vec<u8> },
    /// Bytes that ended before the message did.
    Torn(Vec<u8>),
}

impl KeptMessage {
    /// How many bytes came.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole { head, body } => head.len() + body.len(),
            Self::Torn(bytes) => bytes.len(),
        }
    }

    /// The request line.
    pub(crate) fn request_line(&self) -> String {
        let bytes = match self {
            Self::Whole { head, .. } | Self::Torn(head) => head,
        };
        let end = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap_or(bytes.len());
        bytes[..end].escape_ascii().to_string()
    }

    /// The values of a field of a whole message, in order.
    pub(crate) fn field(&self, name: &str) -> Vec<String> {
        let Self::Whole { head, .. } = self else { return Vec::new() };
        let text = String::from_utf8_lossy(head).into_owned();
        text.split("\r\n")
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
            .collect()
    }
}

type KeeperLog = Arc<Mutex<Vec<KeptMessage>>>;

/// How many heads have come, their bodies still to come or not.
type Heads = Arc<AtomicUsize>;

/// Listens on a free port for as long as the test binary runs.
#[derive(Debug)]
pub(crate) struct Keeper {
    address: SocketAddr,
    kept: KeeperLog,
    heads: Heads,
}

/// How it answers: everything that is sent back for a request.
type KeeperAnswer = fn(&[u8]) -> Vec<u8>;

impl Keeper {
    pub(crate) fn start() -> Self {
        Self::answering(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\norigin: ".to_vec())
    }

    /// Answers a head with what `answer` makes of it.
    pub(crate) fn answering(answer: KeeperAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let kept = KeeperLog::default();
        let heads = Heads::default();
        let (log, count) = (Arc::clone(&kept), Arc::clone(&heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, count) = (Arc::clone(&log), Arc::clone(&count));
                std::thread::spawn(move || keep(stream, &log, &count, answer));
            }
        });
        Self { address, kept, heads }
    }

    /// How many heads have come since the start, whatever became of their bodies.
    pub(crate) fn heads(&self) -> usize {
        self.heads.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything kept since the last call.
    pub(crate) fn take(&self) -> Vec<KeptMessage> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything kept so far.
    pub(crate) fn so_far(&self) -> Vec<KeptMessage> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn keep(mut stream: TcpStream, log: &KeeperLog, heads: &Heads, answer: KeeperAnswer) {
    let mut unread = Vec::new();
    let note = |kept| log.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    while let Some(head) = until(&mut stream, &mut unread, b"\r\n\r\n") {
        heads.fetch_add(1, Ordering::SeqCst);
        let Some(body) = body(&mut stream, &mut unread, &head) else {
            unread = [head, unread].concat();
            break;
        };
        let reply = answer(&head);
        note(KeptMessage::Whole { head, body });
        if stream.write_all(&reply).is_err() {
            return;
        }
    }
    if !unread.is_empty() {
        note(KeptMessage::Torn(unread));
    }
}

/// The body as it was sent, chunk framing included.
fn body(stream: &mut TcpStream, unread: &mut Vec<u8>, head: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let field = |name: &str| {
        let start = text.find(&format!("\r\n{name}:"))? + name.len() + 3;
        text[start..].split("\r\n").next().map(|value| value.trim().to_owned())
    };
    if field("transfer-encoding").is_some() {
        return chunks(stream, unread);
    }
    let length = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    fill(stream, unread, length).then(|| unread.drain(..length).collect())
}

fn chunks(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let torn = |body: Vec<u8>, unread: &mut Vec<u8>| *unread = [body, std::mem::take(unread)].concat();
    loop {
        let Some(line) = until(stream, unread, b"\r\n") else {
            torn(body, unread);
            return None;
        };
        let size = String::from_utf8_lossy(&line).trim().to_owned();
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("chunk size {size:?}"));
        body.extend(line);
        if !fill(stream, unread, size + 2) {
            torn(body, unread);
            return None;
        }
        body.extend(unread.drain(..size + 2));
        if size == 0 {
            return Some(body);
        }
    }
}

fn until(stream: &mut TcpStream, unread: &mut Vec<u8>, end: &[u8]) -> Option<Vec<u8>> {
    loop {
        if let Some(found) = unread.windows(end.len()).position(|bytes| bytes == end) {
            return Some(unread.drain(..found + end.len()).collect());
        }
        let length = unread.len();
        if !fill(stream, unread, length + 1) {
            return None;
        }
    }
}

fn fill(stream: &mut TcpStream, unread: &mut Vec<u8>, length: usize) -> bool {
    let mut bytes = [0; 16_384];
    while unread.len() < length {
        match stream.read(&mut bytes) {
            Ok(0) | Err(_) => return false,
            Ok(count) => unread.extend(&bytes[..count]),
        }
    }
    true
}
