//! Every path that any combination of [`Step`]s makes of a target.
//!
//! Origins are rows of components, a proxy before an application before a library, and each takes steps of its own.
//! What one resolves is gone before the next one decodes, so the order counts: `/a/b\c/../..\x` is `/x` for a proxy to
//! which `\` is a character, before an application to which it is a slash. So the steps are closed over: each is taken
//! from each path that was found, until no new path is found or there are too many.
//!
//! A path that still has dot segments is on the way only, and no reading: every origin resolves them. The query stays
//! as it is but for one more round of decoding.

use super::PathParameters;
use super::split_query;
use super::steps::{Step, Steps, decoded_query};

/// Paths that are followed, those on the way among them. Ordinary targets have one; those of the tests that try
/// to get around a rule, with two or three tricks at once, have up to fifty.
const MOST_PATHS: usize = 64;

/// Bytes that are written for one target, in paths and readings. Each costs a nanosecond or two, once to write
/// it and once to judge it: this bounds the time for a target of 8 KiB.
const MOST_BYTES: usize = 32 * 1024;

/// What a target may be taken for.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    /// Path and query, each once, without the one that is judged anyway. The simpler ones come first.
    pub(super) targets: Vec<Vec<u8>>,
    /// Whether there are more than were followed.
    pub(super) has_more: bool,
}

impl Readings {
    /// Finds the readings of `sent`, which is judged as `judged`.
    pub(super) fn of(sent: &[u8], judged: &[u8], is_plain: bool, parameters: PathParameters) -> Self {
        let (path, query) = split_query(sent);
        let closure = if is_plain { Closure::default() } else { Closure::of(path, parameters) };
        let decoded = decoded_query(query);
        let mut readings = Self { targets: Vec::new(), has_more: closure.has_more };
        if closure.found.is_empty() && decoded.is_none() {
            return readings;
        }
        let mut left = closure.left;
        let found = closure.found.iter().filter(|found| !found.is_on_the_way);
        let paths = found.map(|found| found.path.as_slice());
        let (judged_path, _) = split_query(judged);
        for query in std::iter::once(query).chain(decoded.as_deref()) {
            for path in std::iter::once(judged_path).chain(paths.clone()) {
                let target = joined(path, query);
                if target == judged || readings.targets.contains(&target) {
                    continue;
                }
                match left.checked_sub(target.len()) {
                    Some(rest) => left = rest,
                    None => return Self { has_more: true, ..readings },
                }
                readings.targets.push(target);
            }
        }
        readings
    }
}

/// A path with the query that was sent, unless decoding ended it before.
fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    match path.split(|byte| *byte == b'#').next() {
        Some(whole) if whole.len() < path.len() => whole.to_vec(),
        _ => [path, query].concat(),
    }
}

/// A path, perhaps with a query that decoding has brought to light.
struct Found {
    path: Vec<u8>,
    is_on_the_way: bool,
}

struct Closure {
    found: Vec<Found>,
    /// Bytes that may yet be written.
    left: usize,
    has_more: bool,
}

impl Default for Closure {
    fn default() -> Self {
        Self { found: Vec::new(), left: MOST_BYTES, has_more: false }
    }
}

impl Closure {
    fn of(path: &[u8], parameters: PathParameters) -> Self {
        let mut closure = Self::default();
        if Steps::of(path, parameters).is_empty() {
            return closure;
        }
        closure.note(path.to_vec());
        let mut next = 0;
        while let Some(found) = closure.found.get_mut(next) {
            // Taken out while it is read; nothing that is found from it equals it.
            let path = std::mem::take(&mut found.path);
            let is_on_the_way = closure.follow(&path, parameters);
            if let Some(found) = closure.found.get_mut(next) {
                *found = Found { path, is_on_the_way };
            }
            if closure.has_more {
                break;
            }
            next += 1;
        }
        closure
    }

    /// Takes every step from `path`; whether it has dot segments.
    fn follow(&mut self, path: &[u8], parameters: PathParameters) -> bool {
        let end = path.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(path.len());
        let (path, rest) = path.split_at_checked(end).unwrap_or((path, b""));
        let steps = Steps::of(path, parameters);
        for step in Step::ALL.into_iter().filter(|step| steps.has(*step)) {
            let mut changed = step.take(path, parameters);
            changed.extend_from_slice(rest);
            self.note(changed);
            if self.has_more {
                break;
            }
        }
        steps.has(Step::ResolveDots)
    }

    /// Keeps a path that was not found before, as long as there is room.
    fn note(&mut self, path: Vec<u8>) {
        let Some(left) = self.left.checked_sub(path.len()) else {
            self.has_more = true;
            return;
        };
        self.left = left;
        if self.found.iter().any(|found| found.path == path) {
            return;
        }
        if self.found.len() == MOST_PATHS {
            self.has_more = true;
            return;
        }
        self.found.push(Found { path, is_on_the_way: true });
    }
}
