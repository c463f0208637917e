//! The id that a request goes by, here and at its origin.

use super::Incoming;
use crate::config::Config;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The longest id that is taken from a proxy.
const LONGEST_ID: usize = 128;

/// The id of a request.
#[derive(Debug)]
pub(super) enum RequestId {
    /// What a trusted proxy gave it.
    Given(Box<str>),
    /// A number that no other request of this process has. Written only where the id is shown: most that is refused
    /// shows none.
    Own(u64),
}

impl RequestId {
    /// What a trusted proxy gave a request, if that can be passed on, else a new one.
    pub(super) fn of(incoming: Incoming<'_>, config: &Config) -> Self {
        given(incoming, config).map_or_else(Self::unused, |given| Self::Given(given.into()))
    }

    /// A new one.
    pub(super) fn unused() -> Self {
        Self::Own(number())
    }

    /// As it is written. What tells a request from every other of this gateway: when the process began, and a number, in
    /// hexadecimal digits.
    pub(super) fn text(&self) -> Cow<'_, str> {
        static PROCESS: LazyLock<String> = LazyLock::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let start = u64::try_from(since.as_micros()).unwrap_or_default();
            format!("{:016x}-", start ^ (u64::from(std::process::id()) << 48))
        });
        let number = match self {
            Self::Given(given) => return Cow::Borrowed(given),
            Self::Own(number) => *number,
        };
        let mut id = String::with_capacity(PROCESS.len() + 16);
        id.push_str(&PROCESS);
        // By hand: formatting costs more than everything else here, and this is done for each request that is forwarded.
        push_hexadecimal(&mut id, number);
        Cow::Owned(id)
    }
}

fn given(incoming: Incoming<'_>, config: &Config) -> Option<String> {
    incoming.connection.trusted_peer(config)?;
    let given = incoming.head.get("x-request-id")?;
    let is_sane = (1..=LONGEST_ID).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
    is_sane.then(|| String::from_utf8_lossy(given).into_owned())
}

/// How many numbers a thread takes at once. Those that all threads took in common, one for each request, would go to and
/// fro between their processors.
const NUMBERS: u64 = 1 << 12;

thread_local! {
    /// The next number of this thread, and the first that is not its own.
    static OWN: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

/// A number that no other request of this process has.
fn number() -> u64 {
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    OWN.with(|own| {
        let [mut next, mut end] = own.get();
        if next == end {
            next = TAKEN.fetch_add(NUMBERS, Ordering::Relaxed);
            end = next + NUMBERS;
        }
        own.set([next + 1, end]);
        next
    })
}

fn push_hexadecimal(text: &mut String, number: u64) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        let digit = usize::try_from((number >> (4 * place)) & 0xf).unwrap_or_default();
        text.extend(b"0123456789abcdef".get(digit).copied().map(char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_in_their_last_part_only() {
        let (one, other) = (RequestId::unused().text().into_owned(), RequestId::unused().text().into_owned());
        let parts = |id: &str| {
            id.split_once('-').map(|(start, count)| (start.len(), start.to_owned(), count.to_owned()))
        };
        let ((length, start, first), (_, same, second)) = (parts(&one).unwrap(), parts(&other).unwrap());
        assert_eq!((length, &start), (16, &same));
        assert_ne!(first, second);
    }

    #[test]
    fn no_two_requests_of_any_threads_have_one_number() {
        let each = usize::try_from(NUMBERS).unwrap() * 2 + 1;
        let threads =
            (0..4).map(|_| std::thread::spawn(move || (0..each).map(|_| number()).collect::<Vec<_>>()));
        let threads: Vec<_> = threads.collect();
        let mut numbers: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), each * 4);
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [0, 1, 9, 10, 15, 16, 255, 256, 0xdead_beef, u64::MAX] {
            let mut text = String::new();
            push_hexadecimal(&mut text, number);
            assert_eq!(text, format!("{number:x}"));
        }
    }
}
