//! What is remembered of each `User-Agent` header and host, in bounded memory.

use hashbrown::HashMap;

/// How many are remembered, and the longest of them.
pub(super) const HEADERS: usize = if cfg!(test) { 64 } else { 16_384 };
const LONGEST_HEADER: usize = 1_024;

/// A value for each header, or host. When there are too many, it begins anew.
#[derive(Debug)]
pub(in crate::ctl) struct HeaderCache<V> {
    known: HashMap<Vec<u8>, V>,
    /// That of the last header that is too long.
    long: Option<V>,
}

impl<V> Default for HeaderCache<V> {
    fn default() -> Self {
        Self { known: HashMap::new(), long: None }
    }
}

impl<V> HeaderCache<V> {
    /// The value of a header, which `make` makes where it is not known.
    pub(in crate::ctl) fn of(&mut self, header: &[u8], make: impl FnOnce() -> V) -> &mut V {
        if header.len() > LONGEST_HEADER {
            return self.long.insert(make());
        }
        if self.known.len() >= HEADERS && !self.known.contains_key(header) {
            self.known.clear();
        }
        self.known.entry_ref(header).or_insert_with(make)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
