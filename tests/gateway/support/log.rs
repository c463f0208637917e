//! What a child process writes, line by line, while it runs.

use super::wait::PATIENCE;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, Default)]
struct LogState {
    lines: Vec<String>,
    ended: bool,
}

/// The lines of one stream so far; it goes on collecting in a thread of its own.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<(Mutex<LogState>, Condvar)>);

impl Log {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let log = Self(Arc::default());
        let writer = Arc::clone(&log.0);
        std::thread::spawn(move || {
            let (state, changed) = &*writer;
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                state.lock().unwrap_or_else(PoisonError::into_inner).lines.push(text);
                changed.notify_all();
                line.clear();
            }
            state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
            changed.notify_all();
        });
        log
    }

    /// Waits for a line that `wanted` makes something of. `Err` holds all lines, when the stream ended
    /// or the patience did.
    pub(crate) fn find<T>(&self, mut wanted: impl FnMut(&str) -> Option<T>) -> Result<T, String> {
        let (state, changed) = &*self.0;
        let deadline = Instant::now() + PATIENCE;
        let mut seen = 0;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = state.lines.iter().skip(seen).find_map(|line| wanted(line)) {
                return Ok(found);
            }
            seen = state.lines.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() {
                return Err(state.lines.join("\n"));
            }
            (state, _) = changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a line that holds every one of `parts`, and returns it.
    #[track_caller]
    pub(crate) fn line_with(&self, parts: &[&str]) -> String {
        let wanted = |line: &str| parts.iter().all(|part| line.contains(part)).then(|| line.to_owned());
        self.find(wanted).unwrap_or_else(|all| panic!("no line with {parts:?} in:\n{all}"))
    }

    /// All lines so far.
    pub(crate) fn text(&self) -> String {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).lines.join("\n")
    }

    /// All lines, once the stream has ended.
    pub(crate) fn to_end(&self) -> String {
        // Nothing is looked for, so only the end or the deadline returns.
        self.find(|_| None::<()>).err().unwrap_or_default()
    }
}
