//! What is fetched from elsewhere, whatever it is: address ranges, keys of agents, a catalogue, an origin's robots.txt.
//!
//! Each is a [`FetchedCopy`]: its bytes as they came, and one [`FetchHead`] that says where from and when they came, and
//! how asking went since. What an answer makes of it is decided here, and so is where the two are kept; each kind brings
//! the check by which its bytes are fit. Two transports ask: `publications`, which are the operators' of crawlers, and
//! `proxy`, for origins.

mod copy;
mod head;
mod kept;

pub use copy::{FetchAnswer, retry_after};
pub(super) use copy::{FetchedCopy, FetchedFrom};
pub use head::Validators;
pub(super) use head::{FetchHead, FetchTime, Schedule};
pub use kept::KeptFile;

use std::collections::HashMap;

/// Says what is wrong with what is fetched: once, and once that it is over.
#[derive(Debug, Default)]
pub(super) struct Teller(HashMap<String, String>);

impl Teller {
    /// Tells what is wrong with the `what` of `source`, if that is new.
    pub(super) fn tell(&mut self, what: &'static str, source: &str, trouble: Option<String>) {
        let key = format!("{what} {source}");
        if self.0.get(&key) == trouble.as_ref() {
            return;
        }
        if let Some(trouble) = trouble {
            tracing::warn!(source, "{what}: {trouble}");
            self.0.insert(key, trouble);
        } else {
            tracing::info!(source, "{what}: as it should be again");
            self.0.remove(&key);
        }
    }
}

#[cfg(test)]
impl Teller {
    /// How many troubles there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_until_it_is_over() {
        let mut teller = Teller::default();
        let mut after = |trouble: Option<&str>| {
            teller.tell("keys", "a", trouble.map(str::to_owned));
            teller.0.values().cloned().collect::<Vec<_>>()
        };
        assert_eq!(after(Some("silent")), ["silent"]);
        assert_eq!(after(Some("torn")), ["torn"]);
        assert_eq!(after(None), [""; 0]);
    }
}
