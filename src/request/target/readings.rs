//! Every path that any combination of [`PathStep`]s makes of a target.
//!
//! Origins are rows of components, a proxy before an application before a library, and each takes steps of its own.
//! What one resolves is gone before the next one decodes, so the order counts: `/a/b\c/../..\x` is `/x` for a proxy to
//! which `\` is a character, before an application to which it is a slash. So the steps are closed over: each is taken
//! from each path that was found, until no new path is found or there are too many.
//!
//! A path that still has dot segments is on the way only, and no reading: every origin resolves them. The query stays
//! as it is but for one more round of decoding.

use super::PathParameters;
use super::query::decoded_query;
use super::split_query;
use super::steps::{PathStep, at_percents, encoded};
use strum::VariantArray as _;

/// Paths that are followed, those on the way among them. Ordinary targets have one; those that try to get around a rule
/// with two or three tricks at once have some dozens.
const MOST_PATHS: usize = 64;

/// What is judged or followed for one target may cost so much, what is judged anyway among it. This bounds the time that
/// one target takes: the worst of 8 KiB takes some 23 times as long as a plain one (`cargo test --release --test readings worst`).
const MOST_COST: usize = 36 * 1024;

/// A byte that is no letter, digit, `-` or `_` costs as much as so many of those: a look is taken at what it may mean.
const SPECIAL: usize = 16;

/// What percent signs may weigh that stand for themselves. Each may begin an escape once its target is decoded again, so it
/// takes longer than an escape of another byte: `%25` twice as long, and one that begins no escape (RFC 3986 §2.1) four times.
const MOST_PERCENT_WEIGHT: usize = 512;

fn has_too_many_percents(target: &[u8]) -> bool {
    let weight = |rest: &[u8]| match encoded(rest) {
        None => 2,
        Some((b'%', _)) => 1,
        Some(_) => 0,
    };
    let left = at_percents(target).try_fold(MOST_PERCENT_WEIGHT, |left, rest| left.checked_sub(weight(rest)));
    left.is_none()
}

/// What it costs to judge or to follow a path.
fn cost(path: &[u8]) -> usize {
    // Counted in blocks whose sums fit a byte, so that many are added at once: a tenth of the instructions.
    let is_special = |byte: &u8| u8::from(!(byte.is_ascii_alphanumeric() || matches!(*byte, b'-' | b'_')));
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
        let left = MOST_COST.saturating_sub(cost(judged));
        let mut closure = Closure { found: Vec::new(), left, has_more: has_too_many_percents(sent) };
        if !is_plain && !closure.has_more {
            closure.close(path, parameters);
        }
        if closure.has_more {
            return Self { has_more: true, ..Self::default() };
        }
        let decoded = decoded_query(query);
        if decoded.is_some() && closure.left < cost(query) {
            // There is no room for a second query of its size.
            return Self { has_more: true, ..Self::default() };
        }
        let mut readings = Self::default();
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
                match left.checked_sub(cost(&target)) {
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
    let whole = memchr::memchr(b'#', path).and_then(|end| path.get(..end)).unwrap_or(path);
    let query = if whole.len() < path.len() { b"" } else { query };
    let whole = whole.strip_suffix(b"?").filter(|_| query.is_empty()).unwrap_or(whole);
    [whole, query].concat()
}

/// A path, perhaps with a query that decoding has brought to light.
struct FoundPath {
    path: Vec<u8>,
    is_on_the_way: bool,
}

struct Closure {
    found: Vec<FoundPath>,
    /// What may yet be spent on further paths.
    left: usize,
    has_more: bool,
}

impl Closure {
    fn close(&mut self, path: &[u8], parameters: PathParameters) {
        if PathStep::VARIANTS.iter().all(|step| step.take(path, parameters).is_none()) {
            return;
        }
        // There is no room for a second path of its size.
        self.has_more = cost(path) > self.left / 2;
        if self.has_more {
            return;
        }
        self.note(path.to_vec());
        let mut next = 0;
        while let Some(found) = self.found.get_mut(next) {
            // Taken out while it is read; nothing that is found from it equals it.
            let path = std::mem::take(&mut found.path);
            let is_on_the_way = self.follow(&path, parameters);
            if let Some(found) = self.found.get_mut(next) {
                *found = FoundPath { path, is_on_the_way };
            }
            if self.has_more {
                break;
            }
            next += 1;
        }
    }

    /// Takes every step from `path`; whether it has dot segments.
    fn follow(&mut self, path: &[u8], parameters: PathParameters) -> bool {
        let end = memchr::memchr2(b'?', b'#', path).unwrap_or(path.len());
        let (path, rest) = path.split_at_checked(end).unwrap_or((path, b""));
        let mut has_dots = false;
        for step in PathStep::VARIANTS {
            let Some(mut changed) = step.take(path, parameters) else { continue };
            has_dots |= *step == PathStep::ResolveDots;
            changed.extend_from_slice(rest);
            self.note(changed);
            if self.has_more {
                break;
            }
        }
        has_dots
    }

    /// Keeps a path that was not found before, as long as there is room.
    fn note(&mut self, path: Vec<u8>) {
        let Some(left) = self.left.checked_sub(cost(&path)) else {
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
        self.found.push(FoundPath { path, is_on_the_way: true });
    }
}
