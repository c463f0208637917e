//! An origin of a few lines that keeps the bytes it is sent, and answers when it is told to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
struct RawOriginState {
    heads: Vec<Vec<u8>>,
    held: bool,
}

type Board = Arc<(Mutex<RawOriginState>, Condvar)>;

/// Listens on a free port for as long as the test binary runs.
#[derive(Debug)]
pub(crate) struct RawOrigin {
    address: SocketAddr,
    board: Board,
}

impl RawOrigin {
    /// Answers at once.
    pub(crate) fn start() -> Self {
        Self::answering(ANSWER)
    }

    /// Answers at once, with these bytes.
    pub(crate) fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let board = Board::default();
        let for_thread = Arc::clone(&board);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let board = Arc::clone(&for_thread);
                std::thread::spawn(move || serve(stream, &board, answer));
            }
        });
        Self { address, board }
    }

    /// Takes requests and answers none before [`Self::release`].
    pub(crate) fn holding() -> Self {
        let origin = Self::start();
        origin.board.0.lock().unwrap_or_else(PoisonError::into_inner).held = true;
        origin
    }

    pub(crate) fn release(&self) {
        self.board.0.lock().unwrap_or_else(PoisonError::into_inner).held = false;
        self.board.1.notify_all();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The heads of all requests so far, byte by byte.
    pub(crate) fn heads(&self) -> Vec<Vec<u8>> {
        self.board.0.lock().unwrap_or_else(PoisonError::into_inner).heads.clone()
    }
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\norigin: ";

fn serve(mut stream: TcpStream, board: &Board, answer: &str) {
    let mut unread = Vec::new();
    while let Some(head) = read_head(&mut stream, &mut unread) {
        let (state, changed) = &**board;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heads.push(head);
        while state.held {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads to the blank line. Requests with a body are not sent to this origin.
fn read_head(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            return Some(unread.drain(..end + 4).collect());
        }
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        unread.extend(&bytes[..count]);
    }
}
