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
use super::steps::{Step, Steps, decoded_query, is_decoded_further};

/// Paths that are followed, those on the way among them. Ordinary targets have one; those that try to get around a rule
/// with two or three tricks at once have some dozens.
const MOST_PATHS: usize = 64;

/// Bytes of these paths, and again of the readings that are judged: a path of 8 KiB is changed once. This bounds the time
/// that one target takes.
const MOST_BYTES: usize = 16 * 1024;

/// As how many bytes a `%` counts, and a slash or a dot of a path that is followed: a look is taken at what comes after.
const SPECIAL: usize = 4;

/// As many `%` are looked at for more than whether there is any other reading.
const MOST_PERCENTS: usize = 1_024;

/// How many bytes an escape has.
const ESCAPE: usize = 3;

fn count_percents(target: &[u8]) -> usize {
    memchr::memchr_iter(b'%', target).count()
}

/// What it costs to judge a target.
fn cost_of_judging(target: &[u8]) -> usize {
    target.len() + (SPECIAL - 1) * count_percents(target)
}

/// What it costs to follow a path.
fn cost_of_following(path: &[u8]) -> usize {
    // Counted in blocks whose sums fit a byte, so that many are added at once: a tenth of the instructions.
    let is_special = |byte: &u8| u8::from(matches!(*byte, b'%' | b'/' | b'.'));
    let special = |block: &[u8]| block.iter().map(is_special).fold(0_u8, u8::wrapping_add);
    let special: usize = path.chunks(128).map(|block| usize::from(special(block))).sum();
    path.len() + (SPECIAL - 1) * special
}

/// What a target may be taken for.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    /// Path and query, each once, without the one that is judged anyway. The simpler ones come first.
    pub(super) targets: Vec<Vec<u8>>,
    /// Whether there are more than are followed. Nobody needs those that were found then.
    pub(super) has_more: bool,
}

impl Readings {
    /// Finds the readings of `sent`, which is judged as `judged`.
    pub(super) fn of(sent: &[u8], judged: &[u8], is_plain: bool, parameters: PathParameters) -> Self {
        let (path, query) = split_query(sent);
        // Nearly every target: it must cost no more than this.
        if is_plain && memchr::memchr(b'%', query).is_none() {
            return Self::default();
        }
        let has_more = Self { has_more: true, ..Self::default() };
        let percents = count_percents(sent);
        if percents > MOST_PERCENTS {
            // More than there can be escapes: no page has such an address.
            let is_odd = percents * ESCAPE > sent.len();
            let is_read_otherwise = is_odd || Steps::change(path, parameters) || is_decoded_further(query);
            return if is_read_otherwise { has_more } else { Self::default() };
        }
        let closure = if is_plain { Closure::default() } else { Closure::of(path, parameters) };
        if closure.has_more {
            return has_more;
        }
        let decoded = is_decoded_further(query).then(|| decoded_query(query));
        let mut readings = Self::default();
        if closure.found.is_empty() && decoded.is_none() {
            return readings;
        }
        let mut left = MOST_BYTES;
        let found = closure.found.iter().filter(|found| !found.is_on_the_way);
        let paths = found.map(|found| found.path.as_slice());
        let (judged_path, _) = split_query(judged);
        for query in std::iter::once(query).chain(decoded.as_deref()) {
            for path in std::iter::once(judged_path).chain(paths.clone()) {
                let target = joined(path, query);
                if target == judged || readings.targets.contains(&target) {
                    continue;
                }
                match left.checked_sub(cost_of_judging(&target)) {
                    Some(rest) => left = rest,
                    None => return Self { has_more: true, ..readings },
                }
                readings.targets.push(target);
            }
        }
        readings
    }
}

/// A path with the query that was sent, unless decoding ended it before. An empty query that only decoding brings to light
/// is the same page as none: many titles end with a question mark.
fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    let whole = path.split(|byte| *byte == b'#').next().unwrap_or(path);
    let query = if whole.len() < path.len() { b"" } else { query };
    let whole = whole.strip_suffix(b"?").filter(|_| query.is_empty()).unwrap_or(whole);
    [whole, query].concat()
}

/// A path, perhaps with a query that decoding has brought to light.
struct Found {
    path: Vec<u8>,
    is_on_the_way: bool,
}

struct Closure {
    found: Vec<Found>,
    /// What may yet be spent on further paths.
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
        if !Steps::change(path, parameters) {
            return Self::default();
        }
        // There is no room for a second path of its size.
        let has_more = cost_of_following(path) > MOST_BYTES / 2;
        let mut closure = Self { has_more, ..Self::default() };
        if has_more {
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
        let Some(left) = self.left.checked_sub(cost_of_following(&path)) else {
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
