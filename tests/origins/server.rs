//! A server that says who it is and what it was asked, and can be told to misbehave.

use crate::support::until;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What it does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OriginManner {
    /// Answers.
    Well,
    /// Answers 500.
    Sick,
    /// Takes the request and says nothing.
    Frozen,
    /// Takes the request and resets the connection.
    Resets,
    /// Ends the connection in the middle of its answer.
    Breaks,
    /// Answers after a while.
    Slow,
}

const MANNERS: [OriginManner; 6] = [
    OriginManner::Well,
    OriginManner::Sick,
    OriginManner::Frozen,
    OriginManner::Resets,
    OriginManner::Breaks,
    OriginManner::Slow,
];

#[derive(Debug, Default)]
struct TestOriginState {
    manner: AtomicU8,
    requests: AtomicUsize,
    connections: AtomicUsize,
    lines: Mutex<Vec<String>>,
    is_dead: AtomicBool,
    numbers: AtomicUsize,
    /// The connections that are open, by their number.
    open: Mutex<BTreeMap<usize, TcpStream>>,
}

/// Listens on a free port for as long as the test binary runs.
#[derive(Clone, Debug)]
pub(crate) struct TestOrigin {
    pub(crate) url: String,
    state: Arc<TestOriginState>,
}

impl TestOrigin {
    pub(crate) fn start(name: &'static str) -> Self {
        Self::on(name, TcpListener::bind("127.0.0.1:0").expect("a free port"))
    }

    pub(crate) fn on(name: &'static str, listener: TcpListener) -> Self {
        let address: SocketAddr = listener.local_addr().expect("a bound address");
        let server = Self { url: format!("http://{address}"), state: Arc::default() };
        server.listen(name, listener);
        server
    }

    fn listen(&self, name: &'static str, listener: TcpListener) {
        let for_thread = Arc::clone(&self.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if for_thread.is_dead.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&for_thread);
                std::thread::spawn(move || {
                    let writer = stream.try_clone().expect("another handle");
                    let number = state.numbers.fetch_add(1, Ordering::SeqCst);
                    state.open().insert(number, stream.try_clone().expect("a third handle"));
                    if state.is_dead.load(Ordering::SeqCst) {
                        reset(&stream);
                    }
                    serve(name, stream, writer, &state, reset);
                    state.open().remove(&number);
                });
            }
        });
    }

    /// Ends as a process that is killed does: nobody listens any more, and every connection is cut off.
    pub(crate) fn dies(&self) {
        self.state.is_dead.store(true, Ordering::SeqCst);
        // The first of these wakes the thread that listens.
        until("nobody listens", || TcpStream::connect(self.address()).is_err().then_some(()));
        std::mem::take(&mut *self.state.open()).values().for_each(reset);
    }

    /// Starts again where it was.
    pub(crate) fn returns(&self, name: &'static str) {
        self.state.is_dead.store(false, Ordering::SeqCst);
        // The standard library's listeners reuse an address whose connections are not all forgotten.
        let listener = until("it listens again", || TcpListener::bind(self.address()).ok());
        self.listen(name, listener);
    }

    fn address(&self) -> SocketAddr {
        self.url.trim_start_matches("http://").parse().expect("an address")
    }

    /// On a Unix socket.
    pub(crate) fn start_at(name: &'static str, path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let state = Arc::<TestOriginState>::default();
        let for_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&for_thread);
                std::thread::spawn(move || {
                    let writer = stream.try_clone().expect("another handle");
                    serve(name, stream, writer, &state, |stream| drop(stream.shutdown(Shutdown::Both)));
                });
            }
        });
        Self { url: format!("unix:{}", path.display()), state }
    }

    pub(crate) fn behaves(&self, manner: OriginManner) {
        self.state.manner.store(manner as u8, Ordering::SeqCst);
    }

    /// How many requests it has taken.
    pub(crate) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// How many connections.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The request lines it has taken.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.state.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TestOriginState {
    fn open(&self) -> MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With unread bytes in its buffer a socket is reset when it is closed.
fn reset(stream: &TcpStream) {
    let _ = stream.set_linger_zero();
    let _ = stream.shutdown(Shutdown::Both);
}

/// The one thing that the standard library cannot do yet.
trait SetLinger {
    fn set_linger_zero(&self) -> std::io::Result<()>;
}

impl SetLinger for TcpStream {
    fn set_linger_zero(&self) -> std::io::Result<()> {
        socket2::SockRef::from(self).set_linger(Some(Duration::ZERO))
    }
}

fn serve<S: Read>(name: &str, mut reader: S, mut writer: impl Write, state: &TestOriginState, reset: fn(&S)) {
    state.connections.fetch_add(1, Ordering::SeqCst);
    let mut unread = Vec::new();
    loop {
        let Some(head) = head(&mut reader, &mut unread) else { return };
        let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        state.requests.fetch_add(1, Ordering::SeqCst);
        state.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let body = format!("{name}: {path}\n");
        let answer = |status: &str| {
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        };
        let manner = MANNERS[usize::from(state.manner.load(Ordering::SeqCst))];
        let whole = match manner {
            OriginManner::Well => answer("200 OK"),
            OriginManner::Sick => answer("500 Internal Server Error"),
            OriginManner::Slow => {
                std::thread::sleep(Duration::from_millis(50));
                answer("200 OK")
            }
            OriginManner::Frozen => {
                // Until the other side gives up.
                let _ = reader.read(&mut [0]);
                return;
            }
            OriginManner::Resets => return reset(&reader),
            OriginManner::Breaks => {
                let mut half = answer("200 OK");
                half.truncate(half.len() - 3);
                let _ = writer.write_all(&half);
                return reset(&reader);
            }
        };
        if writer.write_all(&whole).is_err() {
            return;
        }
    }
}

fn head(reader: &mut impl Read, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            return Some(unread.drain(..end + 4).collect());
        }
        let mut bytes = [0; 4096];
        let count = reader.read(&mut bytes).ok().filter(|count| *count > 0)?;
        unread.extend(&bytes[..count]);
    }
}
