//! Sorting literals, eight bytes at a time.

use crate::robots::pattern::index;

/// Bytes compared at once.
const STEP: usize = 8;

/// A literal while it is sorted: its next bytes, and its place.
type SortKey = (u64, u32);

/// The places of `count` literals in their ascending order.
pub(super) fn sorted<'t>(count: usize, literal: impl Fn(u32) -> &'t [u8]) -> Vec<u32> {
    let mut keys: Vec<SortKey> = (0..index(count)).map(|at| (0, at)).collect();
    let mut runs = vec![(0, keys.len(), 0)];
    while let Some((start, end, depth)) = runs.pop() {
        let Some(run) = keys.get_mut(start..end) else { continue };
        for key in &mut *run {
            key.0 = head(literal(key.1), depth);
        }
        run.sort_unstable_by_key(|key| key.0);
        let mut first = start;
        for same in run.chunk_by_mut(|a, b| a.0 == b.0) {
            let last = first + same.len();
            let ended = if same.len() > 1 { shortest_first(same, |at| literal(at).len(), depth) } else { 1 };
            // Two literals at least, and the shorter ones are in place.
            if same.len() > ended {
                runs.push((first + ended, last, depth + STEP));
            }
            first = last;
        }
    }
    keys.into_iter().map(|key| key.1).collect()
}

/// The bytes from `depth` on as a number that sorts as they do; missing ones count as 0.
fn head(literal: &[u8], depth: usize) -> u64 {
    let rest = literal.get(depth..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk::<STEP>() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; STEP];
    bytes.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
    u64::from_be_bytes(bytes)
}

/// Sorts literals with the same bytes at `depth`, some of them perhaps missing, by length; how many
/// of them end here. The shorter is a start of the longer: what it lacks are bytes 0.
fn shortest_first(same: &mut [SortKey], length: impl Fn(u32) -> usize, depth: usize) -> usize {
    let full = depth + STEP;
    if same.iter().all(|key| length(key.1) >= full) {
        return 0;
    }
    same.sort_unstable_by_key(|key| length(key.1).min(full));
    same.partition_point(|key| length(key.1) < full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_bytes_do() {
        let texts: Vec<Vec<u8>> = (0..600_u32)
            .map(|n| {
                (0..n % 23).map(|i| ((n * 7 + i * i) % 3) as u8 * if n % 2 == 0 { 1 } else { 97 }).collect()
            })
            .collect();
        let sorted = sorted(texts.len(), |at| &texts[at as usize]);
        let ours: Vec<&Vec<u8>> = sorted.iter().map(|&at| &texts[at as usize]).collect();
        let mut expected: Vec<&Vec<u8>> = texts.iter().collect();
        expected.sort();
        assert_eq!(ours, expected);
    }
}
