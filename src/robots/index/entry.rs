//! A rule as the index keeps it, the check whether it matches, and the order in which rules that match win.

use crate::robots::matcher::{self, ComparableTarget};
use crate::robots::pattern::{Pattern, PatternPool, TextSpan, Texts};
use crate::robots::rule::RuleRecord;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A matching rule, or none. The greater one wins: most bytes, then allow before disallow
/// (RFC 9309 section 2.2.2), then the first in the file, so that the answer is always the same line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::robots) struct Choice(u64);

impl Choice {
    pub(in crate::robots) const NONE: Self = Self(0);

    /// `rank` is greater than 1 for every rule that can match.
    pub(in crate::robots) const fn new(rank: u32, rule: u32) -> Self {
        Self((rank as u64) << 32 | !rule as u64)
    }

    /// The position of the rule.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the rule")]
    pub(in crate::robots) const fn rule(self) -> Option<u32> {
        if self.0 == 0 { None } else { Some(!(self.0 as u32)) }
    }
}

/// A rule that can match something, taken apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::robots) struct IndexedRule {
    pub(in crate::robots) choice: Choice,
    pub(in crate::robots) pattern: Pattern,
}

impl IndexedRule {
    /// Takes the rule at position `at` of the file apart; none if it can match nothing.
    pub(in crate::robots) fn new(record: RuleRecord, at: u32, pool: &mut PatternPool<'_>) -> Option<Self> {
        let choice = Choice::new(record.rank(), at);
        (record.bytes > 0).then(|| Self { choice, pattern: pool.add(record) })
    }

    /// The better of `best` and this rule, if it matches. Puts it off when the target was read often
    /// enough.
    pub(in crate::robots) fn try_on(
        self,
        texts: Texts<'_>,
        target: &ComparableTarget<'_>,
        best: Choice,
    ) -> Choice {
        if self.choice <= best {
            return best;
        }
        if target.is_spent() && self.pattern.pieces.1 > 0 {
            if self.starts(texts, target.bytes()) {
                target.deferred.push(self);
            }
            return best;
        }
        if matches(texts, self.pattern, target) { self.choice } else { best }
    }

    /// Whether `target` starts with the literal of the pattern.
    pub(super) fn starts(self, texts: Texts<'_>, target: &[u8]) -> bool {
        target.starts_with(texts.get(self.pattern.prefix))
    }

    /// All literals of the pattern: what tells it from others.
    pub(in crate::robots) fn literals(self, texts: Texts<'_>) -> (bool, Vec<&[u8]>) {
        let pieces = texts.pieces(self.pattern).iter().map(|piece| texts.get(piece.text));
        (self.pattern.anchored, std::iter::once(texts.get(self.pattern.prefix)).chain(pieces).collect())
    }

    /// A number that is the same for equal [`literals`](Self::literals), and seldom for others.
    pub(in crate::robots) fn fingerprint(self, texts: Texts<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.literals(texts).hash(&mut hasher);
        hasher.finish()
    }

    /// The literal the target must end with, if there is one.
    pub(super) fn ending(self, texts: Texts<'_>) -> Option<TextSpan> {
        let last = texts
            .pieces(self.pattern)
            .last()
            .filter(|piece| piece.text == piece.in_query && self.pattern.anchored)?;
        Some(last.text)
    }
}

/// Whether `target` is matched by `pattern`.
pub(super) fn matches(texts: Texts<'_>, pattern: Pattern, target: &ComparableTarget<'_>) -> bool {
    let prefix = texts.get(pattern.prefix);
    if !target.bytes().starts_with(prefix) {
        return false;
    }
    let pieces = texts.pieces(pattern);
    if pieces.is_empty() {
        return !pattern.anchored || target.bytes().len() == prefix.len();
    }
    matcher::follows(texts, pieces, pattern.anchored, target, prefix.len())
}

/// The best of `list`, which is in the order in which rules win, and `best`.
pub(super) fn first_match(
    list: &[IndexedRule],
    texts: Texts<'_>,
    target: &ComparableTarget<'_>,
    best: Choice,
) -> Choice {
    let mut better = list.iter().take_while(|rule| rule.choice > best);
    better
        .find_map(|rule| Some(rule.try_on(texts, target, best)).filter(|found| *found > best))
        .unwrap_or(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_bytes_then_allow_then_the_first_line() {
        assert!(Choice::new(8, 9) > Choice::new(7, 1));
        assert!(Choice::new(7, 1) > Choice::new(7, 2));
        assert!(Choice::new(2, u32::MAX) > Choice::NONE);
        assert_eq!(Choice::new(7, 3).rule(), Some(3));
        assert_eq!(Choice::NONE.rule(), None);
    }
}
