//! An origin that answers `/robots.txt` as it is told to, and keeps what it was asked.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

type Script = Arc<Mutex<ScriptedState>>;
/// From a head to the bytes of its answer; none to hang.
type Answering = Box<dyn FnMut(&str) -> Option<Vec<u8>> + Send>;

struct ScriptedState {
    answer: Answering,
    heads: Vec<String>,
    /// How long to wait after each byte of an answer to whoever asks for a path with this name in it.
    pause: (Duration, &'static str),
}

/// Listens on a free port for as long as the test binary runs.
pub(crate) struct Scripted {
    address: SocketAddr,
    script: Script,
}

/// An answer with this status, these fields and this body.
pub(crate) fn answer(status: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A robots.txt.
pub(crate) fn file(text: &str) -> Vec<u8> {
    answer("200 OK", "Content-Type: text/plain\r\n", text)
}

impl Scripted {
    /// Serves this robots.txt, and for everything else a page.
    pub(crate) fn serving(text: &str) -> Self {
        let origin = Self::new();
        origin.serves(text);
        origin
    }

    /// Answers nothing at first but 503.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let answer = Box::new(|_: &str| Some(answer("503 Service Unavailable", "", "")));
        let script: Script =
            Arc::new(Mutex::new(ScriptedState { answer, heads: Vec::new(), pause: (Duration::ZERO, "") }));
        let for_thread = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&for_thread);
                std::thread::spawn(move || serve(stream, &script));
            }
        });
        Self { address, script }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ScriptedState> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it answers requests for robots.txt with what `answer` makes of their heads.
    pub(crate) fn answers(&self, answer: impl FnMut(&str) -> Option<Vec<u8>> + Send + 'static) {
        self.state().answer = Box::new(answer);
    }

    pub(crate) fn serves(&self, text: &str) {
        let answer = file(text);
        self.answers(move |_| Some(answer.clone()));
    }

    pub(crate) fn says(&self, status: &'static str, fields: &'static str, body: &'static str) {
        self.answers(move |_| Some(answer(status, fields, body)));
    }

    /// From now on it waits so long after each byte of an answer to whoever asks for a path with this name in it.
    pub(crate) fn pauses(&self, pause: Duration, name: &'static str) {
        self.state().pause = (pause, name);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The heads of all requests for robots.txt so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.state().heads.clone()
    }
}

fn serve(mut stream: TcpStream, script: &Script) {
    let mut unread = Vec::new();
    while let Some(head) = read_head(&mut stream, &mut unread) {
        let target = head.split(' ').nth(1).unwrap_or_default();
        let mut pause = Duration::ZERO;
        let answer = if target.contains("robots") {
            let mut state = script.lock().unwrap_or_else(PoisonError::into_inner);
            state.heads.push(head.clone());
            if target.contains(state.pause.1) {
                pause = state.pause.0;
            }
            (state.answer)(&head)
        } else {
            Some(answer("200 OK", "", "a page"))
        };
        let Some(answer) = answer else {
            std::thread::sleep(Duration::from_secs(3_600));
            return;
        };
        let pieces = answer.chunks(if pause.is_zero() { answer.len().max(1) } else { 1 });
        for piece in pieces {
            if stream.write_all(piece).is_err() {
                return;
            }
            std::thread::sleep(pause);
        }
    }
}

fn read_head(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            return Some(String::from_utf8_lossy(&head).into_owned());
        }
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        unread.extend(&bytes[..count]);
    }
}
