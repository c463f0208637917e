//! Lines on their way to their writer: a buffer that many threads append to and one thread takes.
//!
//! A line is copied once, into the very bytes that are written. In a queue of lines each would be an allocation of its
//! own that another thread has to free. Appending never waits for a disk: what has no room is refused.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// How many lines wait, or may wait, and bytes of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueRoom {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Lines that nobody has written yet.
#[derive(Debug)]
pub(super) struct LineQueue {
    room: QueueRoom,
    state: Mutex<QueueState>,
    /// Tells the writer of a line and of the end, and whoever waits for that of lines that are written.
    news: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: Vec<u8>,
    /// What waits or is being written.
    taken: QueueRoom,
    /// Lines that found no room, or could not be written.
    lost: u64,
    is_closed: bool,
}

impl LineQueue {
    pub(super) fn new(room: QueueRoom) -> Self {
        Self { room, state: Mutex::default(), news: Condvar::new() }
    }

    /// Appends a line, its newline included. It is lost when the queue is full or closed.
    pub(super) fn append(&self, line: &[u8]) {
        let mut state = self.state.lock();
        let bytes = state.taken.bytes.saturating_add(line.len());
        if state.is_closed || state.taken.lines >= self.room.lines || bytes > self.room.bytes {
            state.lost += 1;
            return;
        }
        let is_first = state.waiting.is_empty();
        state.waiting.extend_from_slice(line);
        state.taken = QueueRoom { lines: state.taken.lines + 1, bytes };
        let is_news = is_first || state.taken.lines == self.room.lines / 2;
        drop(state);
        if is_news {
            self.news.notify_one();
        }
    }

    /// Waits for a line, and a moment for those that follow, but not until the queue is more than half full; then takes them
    /// all. `None` when there are none left and there will be no more.
    pub(super) fn take(&self, gathering: Duration) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        self.news.wait_while(&mut state, |state| state.waiting.is_empty() && !state.is_closed);
        let has_room = |state: &mut QueueState| state.taken.lines < self.room.lines / 2 && !state.is_closed;
        self.news.wait_while_for(&mut state, has_room, gathering);
        Some(std::mem::take(&mut state.waiting)).filter(|lines| !lines.is_empty())
    }

    /// Makes room again for lines that were taken, of which so many could not be written.
    pub(super) fn release(&self, QueueRoom { lines, bytes }: QueueRoom, lost: usize) {
        let mut state = self.state.lock();
        state.taken.lines = state.taken.lines.saturating_sub(lines);
        state.taken.bytes = state.taken.bytes.saturating_sub(bytes);
        state.lost = state.lost.saturating_add(lost as u64);
        self.news.notify_all();
    }

    /// How many lines are not written yet, and how many are lost.
    pub(super) fn count(&self) -> (usize, u64) {
        let state = self.state.lock();
        (state.taken.lines, state.lost)
    }

    /// Lets the writer come to its end, and waits for it for a while; later lines are lost. How many are not written then.
    pub(super) fn close(&self, patience: Duration) -> usize {
        let mut state = self.state.lock();
        state.is_closed = true;
        self.news.notify_all();
        self.news.wait_while_for(&mut state, |state| state.taken.lines > 0, patience);
        state.taken.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    const ROOM: QueueRoom = QueueRoom { lines: 1_000, bytes: 64 };

    /// How many of these lines are taken in.
    fn append(lines: &LineQueue, all: &[&[u8]]) -> usize {
        let before = lines.count().0;
        for line in all {
            lines.append(line);
        }
        lines.count().0 - before
    }

    #[test]
    fn what_has_no_room_is_lost_until_there_is_some_again() {
        let lines = LineQueue::new(QueueRoom { lines: 3, ..ROOM });
        assert_eq!(append(&lines, &[b"a\n", &[b'b'; 60]]), 2);
        assert_eq!(append(&lines, &[b"ccc\n"]), 0, "66 bytes");
        assert_eq!(append(&lines, &[b"c\n", b""]), 1, "four lines");
        let taken = lines.take(Duration::ZERO).unwrap();
        assert_eq!(taken.len(), 64);
        assert_eq!(append(&lines, &[b"d\n"]), 0, "what is being written takes room");
        assert_eq!(lines.count(), (3, 3));
        lines.release(QueueRoom { lines: 3, bytes: taken.len() }, 1);
        assert_eq!(append(&lines, &[b"d\n"]), 1);
        assert_eq!(lines.count(), (1, 4));
    }

    #[test]
    fn closing_leaves_what_waits_and_takes_no_more() {
        let lines = LineQueue::new(ROOM);
        lines.append(b"a\n");
        assert_eq!(lines.close(Duration::ZERO), 1);
        assert_eq!(append(&lines, &[b"b\n"]), 0);
        // Nobody who ends waits for lines to come.
        let long = Duration::from_secs(3_600);
        assert_eq!(lines.take(long).as_deref(), Some(&b"a\n"[..]));
        assert_eq!(lines.take(long), None);
        lines.release(QueueRoom { lines: 1, bytes: 2 }, 0);
        assert_eq!(lines.close(long), 0);
    }

    #[test]
    fn a_queue_that_is_half_full_is_taken_at_once() {
        let lines = LineQueue::new(QueueRoom { bytes: usize::MAX, ..ROOM });
        let begun = std::time::Instant::now();
        thread::scope(|scope| {
            let writer = scope.spawn(|| lines.take(Duration::from_secs(60)));
            (0..500).for_each(|_| lines.append(b"a\n"));
            assert_eq!(writer.join().unwrap().map(|taken| taken.len()), Some(1_000));
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_writer_misses_no_line_of_many_threads() {
        let lines = Arc::new(LineQueue::new(QueueRoom { lines: usize::MAX, bytes: usize::MAX }));
        let writer = {
            let lines = Arc::clone(&lines);
            thread::spawn(move || {
                let mut all = Vec::new();
                while let Some(taken) = lines.take(Duration::from_micros(50)) {
                    all.extend_from_slice(&taken);
                }
                all
            })
        };
        thread::scope(|scope| {
            for thread in 0..4 {
                let lines = &lines;
                scope.spawn(move || {
                    (0..1_000).for_each(|number| lines.append(format!("{thread} {number}\n").as_bytes()));
                });
            }
        });
        assert_eq!(lines.close(Duration::ZERO), 4_000);
        let all = String::from_utf8(writer.join().unwrap()).unwrap();
        for thread in ["0 ", "1 ", "2 ", "3 "] {
            let own = all.lines().filter(|line| line.starts_with(thread)).enumerate();
            assert_eq!(own.filter(|(number, line)| *line == format!("{thread}{number}")).count(), 1_000);
        }
    }
}
