//! Rules with `*` between literals: what is kept of them, and the check of one.

use super::choice::Choice;
use crate::robots::matcher::{self, Target};
use crate::robots::pattern::{Pattern, Piece, Pool, Span};

/// A rule that has to be checked by search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wild {
    pub(super) choice: Choice,
    pub(super) pattern: Pattern,
}

impl Wild {
    pub(super) fn pieces(self, pool: &Pool) -> &[Piece] {
        let (first, count) = self.pattern.pieces;
        pool.pieces.get(first as usize..(first + count) as usize).unwrap_or_default()
    }

    pub(super) fn matches(self, pool: &Pool, target: &[u8]) -> bool {
        matches(pool, self.pattern, target)
    }

    /// The literal the target must end with, if there is one.
    pub(super) fn ending(self, pool: &Pool) -> Option<Span> {
        let last =
            self.pieces(pool).last().filter(|piece| piece.text == piece.in_query && self.pattern.anchored)?;
        Some(last.text)
    }
}

/// Whether `target`, in comparable form, is matched by `pattern`.
pub(in crate::robots) fn matches(pool: &Pool, pattern: Pattern, target: &[u8]) -> bool {
    let prefix = pattern.prefix.of(&pool.bytes);
    if !target.starts_with(prefix) {
        return false;
    }
    let (first, count) = pattern.pieces;
    if count == 0 {
        return !pattern.anchored || target.len() == prefix.len();
    }
    let pieces = pool.pieces.get(first as usize..(first + count) as usize).unwrap_or_default();
    matcher::follows(&pool.bytes, pieces, pattern.anchored, Target { bytes: target }, prefix.len())
}

/// The best of `list`, which is in the order in which rules win, and `best`.
pub(super) fn first_match(list: &[Wild], pool: &Pool, target: &[u8], best: Choice) -> Choice {
    let better = list.iter().take_while(|wild| wild.choice > best);
    better.filter(|wild| wild.matches(pool, target)).map(|wild| wild.choice).next().unwrap_or(best)
}
