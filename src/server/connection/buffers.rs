//! Memory that requests of a thread leave to the next ones: it is neither freed nor taken anew for each.

use std::cell::Cell;

/// The largest that is kept, in bytes: what usual heads and answers take.
const LARGEST: usize = 16 * 1024;

thread_local! {
    /// Two: what is read, and what is written.
    static KEPT: [Cell<Vec<u8>>; 2] = const { [const { Cell::new(Vec::new()) }; 2] };
}

/// An empty buffer, with room where there is one that was used.
pub(super) fn take() -> Vec<u8> {
    // A thread that is ending has none.
    let taken = KEPT.try_with(|kept| kept.iter().map(Cell::take).find(|buffer| buffer.capacity() > 0));
    taken.ok().flatten().unwrap_or_default()
}

/// Leaves a buffer to who needs one next.
pub(super) fn give(mut buffer: Vec<u8>) {
    if !(1..=LARGEST).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    let _ = KEPT.try_with(|kept| {
        for place in kept {
            let other = place.replace(buffer);
            if other.capacity() == 0 {
                return;
            }
            buffer = other;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_taken_again_empty_and_large_ones_are_not_kept() {
        give(Vec::with_capacity(LARGEST + 1));
        assert_eq!(take().capacity(), 0);
        for _ in 0..3 {
            give(vec![b'x'; 100]);
        }
        let taken = [take(), take(), take()];
        assert_eq!(taken.each_ref().map(Vec::len), [0; 3]);
        assert_eq!(taken.each_ref().map(Vec::capacity), [100, 100, 0]);
    }
}
