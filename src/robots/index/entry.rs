//! A rule as the index keeps it, the check whether it matches, and the order in which rules that match win.
//!
//! And rules that never decide, because a better one matches whatever they match. They are found while compiling, where it
//! costs next to nothing. Only literals are compared: that `/*a` has the matches of `/*ab` among its own is not noticed.

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

/// Pairs of a rule that never decides and the rule that does in its place.
#[derive(Clone, Debug, Default)]
pub(in crate::robots) struct Shadow {
    pub(in crate::robots) pairs: Vec<(u32, u32)>,
}

impl Shadow {
    fn add(&mut self, rule: Choice, better: Choice) {
        if let (Some(rule), Some(better)) = (rule.rule(), better.rule()) {
            self.pairs.push((rule, better));
        }
    }

    /// Rules of one literal; `open` is the best open rule of this literal or the start of it,
    /// `exact` the best anchored one of this literal.
    pub(super) fn same_literal(&mut self, rules: &[IndexedRule], open: Choice, exact: Choice) {
        for rule in rules {
            let anchored = rule.pattern.pieces.1 == 0 && rule.pattern.anchored;
            let better = if anchored { open.max(exact) } else { open };
            if better > rule.choice {
                self.add(rule.choice, better);
            }
        }
    }

    /// A short list in the order in which its rules win.
    pub(super) fn list(&mut self, rules: &[IndexedRule], texts: Texts<'_>) {
        for (at, rule) in rules.iter().enumerate() {
            let literal = texts.get(rule.pattern.prefix);
            let covers = |better: &&IndexedRule| {
                let other = texts.get(better.pattern.prefix);
                let same = better.pattern.anchored
                    && rule.pattern.anchored
                    && rule.pattern.pieces.1 == 0
                    && other == literal;
                better.pattern.pieces.1 == 0
                    && (same || !better.pattern.anchored && literal.starts_with(other))
            };
            if let Some(better) = rules.iter().take(at).find(covers) {
                self.add(rule.choice, better.choice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Index;
    use super::*;
    use crate::robots::parse;

    #[test]
    fn most_bytes_then_allow_then_the_first_line() {
        assert!(Choice::new(8, 9) > Choice::new(7, 1));
        assert!(Choice::new(7, 1) > Choice::new(7, 2));
        assert!(Choice::new(2, u32::MAX) > Choice::NONE);
        assert_eq!(Choice::new(7, 3).rule(), Some(3));
        assert_eq!(Choice::NONE.rule(), None);
    }

    /// Pairs of rules, numbered from 0, in one group of these lines and `more` others.
    fn pairs(lines: &[&str], more: usize) -> Vec<(u32, u32)> {
        let others: Vec<String> = (0..more).map(|number| format!("disallow: /zz{number}z\n")).collect();
        let file = format!("user-agent: *\n{}\n{}", lines.join("\n"), others.concat());
        let (draft, _) = parse::parse(file.as_bytes(), u32::MAX);
        let mut shadow = Shadow::default();
        let rules = u32::try_from(draft.rules.len()).unwrap();
        let mut pool = PatternPool::new(file.as_bytes());
        let entries: Vec<_> =
            draft.rules.iter().zip(0..).map(|(rule, at)| IndexedRule::new(*rule, at, &mut pool)).collect();
        Index::default().add(0..rules, &entries, pool.texts(), &mut shadow);
        let mut pairs = shadow.pairs.clone();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn lists_and_trees_find_the_same() {
        let lines = [
            "allow: /a*",
            "disallow: /a",
            "allow: /b$",
            "disallow: /b",
            "disallow: /c$",
            "allow: /c$",
            "disallow: /d%3A",
            "disallow: /d:e",
            "disallow: /a*b",
            "disallow: /e",
            "disallow: /ef",
        ];
        for more in [0, 30] {
            assert_eq!(pairs(&lines[..2], more), [(1, 0)]);
            assert_eq!(pairs(&lines[2..4], more), [(0, 0); 0], "the anchored one has more bytes");
            assert_eq!(pairs(&lines[4..6], more), [(0, 1)]);
            assert_eq!(pairs(&lines[6..8], more), [(1, 0)], "an encoded reserved byte counts as three");
            assert_eq!(pairs(&lines[8..11], more), [(0, 0); 0]);
        }
    }
}
