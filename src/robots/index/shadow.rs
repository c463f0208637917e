//! Rules that never decide, because a better one matches whatever they match.
//!
//! Found while compiling, where it costs next to nothing. Only literals are compared: that `/*a` has
//! the matches of `/*ab` among its own is not noticed.

use super::entry::{Choice, IndexedRule};
use crate::robots::pattern::Texts;

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
    use super::super::{Index, IndexedRule};
    use crate::robots::index::shadow::Shadow;
    use crate::robots::parse;
    use crate::robots::pattern::PatternPool;

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
