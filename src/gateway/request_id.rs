//! The id that a request goes by, here and at its origin.

use super::Incoming;
use crate::config::Config;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::SystemTime;

/// The longest id that is taken from a proxy.
const LONGEST_ID: usize = 128;

/// The id of a request.
#[derive(Debug)]
pub(super) enum RequestId {
    /// What a trusted proxy gave it.
    Given(Box<str>),
    /// A number that no other request of this process has. Taken only where the id is shown: most that is refused shows
    /// none.
    Own(OnceLock<u64>),
}

impl RequestId {
    /// What a trusted proxy gave a request, if that can be passed on, else a new one.
    pub(super) fn of(incoming: Incoming<'_>, config: &Config) -> Self {
        given(incoming, config).map_or_else(Self::unused, |given| Self::Given(given.into()))
    }

    /// A new one.
    pub(super) fn unused() -> Self {
        Self::Own(OnceLock::new())
    }

    /// As it is written. What tells a request from every other of this gateway: when the process began, in hexadecimal
    /// digits, and a number. Written without `format!`, which took 1.3 % of the instructions of a forwarded request.
    pub(super) fn text(&self) -> Cow<'_, str> {
        static TAKEN: AtomicU64 = AtomicU64::new(0);
        static PROCESS: LazyLock<String> = LazyLock::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let start = u64::try_from(since.as_micros()).unwrap_or_default();
            format!("{:016x}-", start ^ (u64::from(std::process::id()) << 48))
        });
        match self {
            Self::Given(given) => Cow::Borrowed(given),
            Self::Own(number) => {
                let number = *number.get_or_init(|| TAKEN.fetch_add(1, Ordering::Relaxed));
                Cow::Owned([&**PROCESS, itoa::Buffer::new().format(number)].concat())
            }
        }
    }
}

fn given(incoming: Incoming<'_>, config: &Config) -> Option<String> {
    incoming.connection.trusted_peer(config)?;
    let given = incoming.head.get("x-request-id")?;
    let is_sane = (1..=LONGEST_ID).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
    is_sane.then(|| String::from_utf8_lossy(given).into_owned())
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
}
