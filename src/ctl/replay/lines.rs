//! What the lines of a log were, and what is remembered of the headers in them.

use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use strum::{EnumCount as _, VariantArray as _};

/// How many bytes of headers are remembered, and what is reckoned for what is known of each.
const MOST_BYTES: usize = if cfg!(test) { 1 << 12 } else { 8 << 20 };
const OF_VALUE: usize = 128;

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
    bytes: usize,
}

impl<V> Default for HeaderCache<V> {
    fn default() -> Self {
        Self { known: HashMap::new(), bytes: 0 }
    }
}

impl<V> HeaderCache<V> {
    /// The value of a header, which `make` makes where it is not known.
    pub(in crate::ctl) fn of(&mut self, header: &[u8], make: impl FnOnce() -> V) -> &mut V {
        if self.bytes >= MOST_BYTES && !self.known.contains_key(header) {
            (self.known, self.bytes) = (HashMap::new(), 0);
        }
        let bytes = &mut self.bytes;
        self.known.entry_ref(header).or_insert_with(|| {
            *bytes += header.len() + OF_VALUE;
            make()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_without_end_are_forgotten() {
        let mut cache = HeaderCache::default();
        for number in 0..100_000 {
            assert_eq!(*cache.of(number.to_string().as_bytes(), || number), number);
            assert!(cache.bytes <= MOST_BYTES + OF_VALUE + 8);
            assert_eq!(cache.known.keys().map(|header| header.len() + OF_VALUE).sum::<usize>(), cache.bytes);
        }
        assert_eq!((*cache.of(b"x", || 1), *cache.of(b"x", || 2)), (1, 1));
    }
}
