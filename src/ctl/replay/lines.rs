//! What the lines of a log were, and what is remembered of the headers in them.

use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use strum::{EnumCount as _, VariantArray as _};

/// How many headers are remembered, and the longest of them.
const HEADERS: usize = if cfg!(test) { 64 } else { 16_384 };
const LONGEST_HEADER: usize = 1_024;

/// What a line, or the request in it, was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(in crate::ctl) enum LineKind {
    /// Any.
    Lines,
    Unread,
    BeforeSince,
    /// Of a host that none of the sites has.
    OtherHosts,
    /// No request at all, or none for a path.
    NoRequest,
    /// Lines of a log without the User-Agent.
    WithoutUserAgent,
    Browsers,
    Apps,
    Exempt,
    Off,
    Judged,
    /// Requests for robots.txt, whoever made them.
    RobotsTxt,
}

/// How many lines of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ctl) struct LineCounts([u64; LineKind::COUNT]);

impl LineCounts {
    pub(in crate::ctl) fn of(&self, kind: LineKind) -> u64 {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }

    pub(super) fn sum(&self, kinds: &[LineKind]) -> u64 {
        kinds.iter().map(|kind| self.of(*kind)).sum()
    }

    pub(in crate::ctl) fn count(&mut self, kind: LineKind) {
        self.0.get_mut(kind as usize).into_iter().for_each(|count| *count += 1);
    }
}

/// Lines that could not be read are given beside them, with an example.
impl Serialize for LineCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = LineKind::VARIANTS.iter().filter(|kind| **kind != LineKind::Unread);
        serializer.collect_map(shown.map(|kind| (<&str>::from(kind), self.of(*kind))))
    }
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_without_end_are_forgotten() {
        let mut cache = HeaderCache::default();
        for number in 0..10 * HEADERS {
            assert_eq!(*cache.of(number.to_string().as_bytes(), || number), number);
            assert!(cache.known.len() <= HEADERS);
        }
        let long = vec![b'x'; LONGEST_HEADER + 1];
        assert_eq!((*cache.of(&long, || 1), *cache.of(&long, || 2)), (1, 2));
    }
}
