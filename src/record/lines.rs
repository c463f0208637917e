//! Lines on their way to their writer: a buffer that many threads append to and one thread takes.
//!
//! A line is copied once, into the very bytes that are written. In a queue of lines each would be an allocation of its
//! own that another thread has to free. Appending never waits for a disk: what has no room is refused.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// How many lines may wait, and bytes of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueRoom {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Lines that nobody has written yet.
#[derive(Debug)]
pub(super) struct LineQueue {
    room: QueueRoom,
    state: Mutex<QueueState>,
    /// Tells the writer of the first line, and of the end.
    news: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: Vec<u8>,
    /// Lines that wait or are being written, and their bytes.
    lines: usize,
    bytes: usize,
    /// Whether the writer sleeps until there is a line.
    is_idle: bool,
    is_closed: bool,
}

impl LineQueue {
    pub(super) fn new(room: QueueRoom) -> Self {
        Self { room, state: Mutex::default(), news: Condvar::new() }
    }

    /// Appends a line, its newline included; `false` when the queue is full or the writer has ended.
    pub(super) fn append(&self, line: &[u8]) -> bool {
        let mut state = self.state.lock();
        let bytes = state.bytes.saturating_add(line.len());
        if state.is_closed || state.lines >= self.room.lines || bytes > self.room.bytes {
            return false;
        }
        state.waiting.extend_from_slice(line);
        state.lines += 1;
        state.bytes = bytes;
        // A writer that is awake looks again by itself.
        let is_awaited = std::mem::take(&mut state.is_idle);
        drop(state);
        if is_awaited {
            self.news.notify_one();
        }
        true
    }

    /// Waits for a line, and for those that follow within `gathering`; then takes them all, in exchange for `empty`.
    /// `None` when there are none left and there will be no more.
    pub(super) fn take(&self, empty: Vec<u8>, gathering: Duration) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        state.is_idle = state.waiting.is_empty();
        self.news.wait_while(&mut state, |state| state.waiting.is_empty() && !state.is_closed);
        state.is_idle = false;
        self.news.wait_while_for(&mut state, |state| !state.is_closed, gathering);
        (!state.waiting.is_empty()).then(|| std::mem::replace(&mut state.waiting, empty))
    }

    /// Makes room again for lines that were taken, and are written or lost.
    pub(super) fn release(&self, lines: usize, bytes: usize) {
        let mut state = self.state.lock();
        state.lines = state.lines.saturating_sub(lines);
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// How many lines are not written yet.
    pub(super) fn len(&self) -> usize {
        self.state.lock().lines
    }

    /// Lets the writer come to its end; later lines are refused.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const ROOM: QueueRoom = QueueRoom { lines: 1_000, bytes: 64 };

    #[test]
    fn what_has_no_room_is_refused_until_there_is_some_again() {
        let lines = LineQueue::new(QueueRoom { lines: 3, ..ROOM });
        assert!(lines.append(b"a\n") && lines.append(&[b'b'; 60]));
        assert!(!lines.append(b"ccc\n"), "66 bytes");
        assert!(lines.append(b"c\n") && !lines.append(b""), "four lines");
        let taken = lines.take(Vec::new(), Duration::ZERO).unwrap();
        assert_eq!(taken.len(), 64);
        assert!(!lines.append(b"d\n"), "what is being written takes room");
        assert_eq!(lines.len(), 3);
        lines.release(3, taken.len());
        assert!(lines.append(b"d\n"));
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn closing_leaves_what_waits_and_takes_no_more() {
        let lines = LineQueue::new(ROOM);
        assert!(lines.append(b"a\n"));
        lines.close();
        assert!(!lines.append(b"b\n"));
        // Nobody who ends waits for lines to come.
        let long = Duration::from_secs(3_600);
        assert_eq!(lines.take(Vec::new(), long).as_deref(), Some(&b"a\n"[..]));
        assert_eq!(lines.take(Vec::new(), long), None);
    }

    #[test]
    fn a_writer_misses_no_line_of_many_threads() {
        let lines = Arc::new(LineQueue::new(QueueRoom { lines: usize::MAX, bytes: usize::MAX }));
        let writer = {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || {
                let (mut all, mut empty) = (Vec::new(), Vec::new());
                while let Some(mut taken) = lines.take(empty, Duration::from_micros(50)) {
                    all.extend_from_slice(&taken);
                    taken.clear();
                    empty = taken;
                }
                all
            })
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let lines = &lines;
                scope.spawn(move || {
                    (0..1_000).for_each(|number| {
                        assert!(lines.append(format!("{thread} {number}\n").as_bytes()));
                    });
                });
            }
        });
        lines.close();
        let all = String::from_utf8(writer.join().unwrap()).unwrap();
        for thread in ["0 ", "1 ", "2 ", "3 "] {
            let own = all.lines().filter(|line| line.starts_with(thread)).enumerate();
            assert_eq!(own.filter(|(number, line)| *line == format!("{thread}{number}")).count(), 1_000);
        }
    }
}
