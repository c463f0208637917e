//! What changes for whom, by the rules alone.

use crate::record::printable;
use crate::robots::{Robots, RuleGroup};
use serde::Serialize;
use std::collections::BTreeMap;

/// A change that some crawlers share; field names are public API.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct RuleChange {
    /// The product tokens, or `*` for every crawler without a group of its own.
    pub(super) tokens: Vec<String>,
    /// The token of the group that applies to them before and after; null where none does.
    pub(super) old_group: Option<String>,
    pub(super) new_group: Option<String>,
    pub(super) added: Vec<RuleLine>,
    pub(super) removed: Vec<RuleLine>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct RuleLine {
    pub(super) line: u32,
    pub(super) rule: String,
}

/// Everything that comes or goes, for `*` and for every token that either file names. A rule is the same when
/// kind and pattern are, wherever it stands.
pub(super) fn changed(old: &Robots, new: &Robots) -> Vec<RuleChange> {
    let mut tokens: Vec<String> = vec!["*".to_owned()];
    for token in old.tokens().chain(new.tokens()) {
        if !tokens.iter().any(|known| known.eq_ignore_ascii_case(token)) {
            tokens.push(token.to_owned());
        }
    }
    let mut found: Vec<RuleChange> = Vec::new();
    for change in tokens.iter().filter_map(|token| of_token(old, new, token)) {
        let same = |known: &&mut RuleChange| {
            (&known.added, &known.removed, &known.new_group)
                == (&change.added, &change.removed, &change.new_group)
                && known.tokens != ["*"]
        };
        match found.iter_mut().find(same) {
            Some(known) => known.tokens.extend(change.tokens),
            None => found.push(change),
        }
    }
    found
}

/// The rules of a group by what they say. What is said twice is said once.
type SaidRules = BTreeMap<(&'static str, Vec<u8>), RuleLine>;

/// What changes for one crawler; `None` where nothing does.
fn of_token(old: &Robots, new: &Robots, token: &str) -> Option<RuleChange> {
    let name: &[&str] = if token == "*" { &[] } else { &[token] };
    let (before, after) = (old.group(name, true), new.group(name, true));
    let (said, now) = (rules(before.as_ref()), rules(after.as_ref()));
    let (removed, added) = (without(&said, &now), without(&now, &said));
    let named = |group: Option<RuleGroup<'_>>| group.map(|group| group.matched().to_owned());
    (!added.is_empty() || !removed.is_empty()).then(|| RuleChange {
        tokens: vec![token.to_owned()],
        old_group: named(before),
        new_group: named(after),
        added,
        removed,
    })
}

/// An empty pattern matches nothing (RFC 9309 §2.2), so a rule without one is as good as none.
fn rules(group: Option<&RuleGroup<'_>>) -> SaidRules {
    let mut said = SaidRules::new();
    for rule in group.into_iter().flat_map(RuleGroup::rules) {
        let line = || RuleLine { line: rule.line, rule: printable(rule.marked) };
        said.entry((rule.kind.as_str(), rule.pattern.to_vec())).or_insert_with(line);
    }
    said
}

/// Those that the `other` file does not say, in the order of their lines.
fn without(rules: &SaidRules, other: &SaidRules) -> Vec<RuleLine> {
    let gone = rules.iter().filter(|(rule, _)| !other.contains_key(*rule));
    let mut lines: Vec<RuleLine> = gone.map(|(_, line)| line.clone()).collect();
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::ParseLimits;

    fn robots(text: &str) -> Robots {
        Robots::parse(text.as_bytes(), &ParseLimits::default()).robots
    }

    fn told(old: &str, new: &str) -> Vec<String> {
        let lines = |sign: &str, lines: &[RuleLine]| {
            let told = lines.iter().map(|line| format!(" {sign}{}:{}", line.line, line.rule));
            told.collect::<Vec<_>>().concat()
        };
        changed(&robots(old), &robots(new))
            .iter()
            .map(|change| {
                format!(
                    "{}{}{}",
                    change.tokens.join(","),
                    lines("+", &change.added),
                    lines("-", &change.removed)
                )
            })
            .collect()
    }

    #[test]
    fn a_group_that_comes_takes_its_crawler_from_everyone() {
        let old = "User-agent: *\nDisallow: /a\n";
        let new = "User-agent: *\nDisallow: /a\nUser-agent: GPTBot\nDisallow: /b\n";
        assert_eq!(told(old, new), ["GPTBot +4:Disallow: /b -2:Disallow: /a"]);
        assert_eq!(told(new, old), ["GPTBot +2:Disallow: /a -4:Disallow: /b"]);
    }

    #[test]
    fn moving_a_rule_changes_nothing() {
        let old = "User-agent: a\nUser-agent: b\nDisallow: /x\nAllow: /y\n";
        let new = "# here\nUser-agent: B\nAllow: /y\nDisallow: /x\nUser-agent: a\nDisallow: /x\nAllow: /y\n";
        assert_eq!(told(old, new), [""; 0]);
    }

    #[test]
    fn crawlers_that_share_a_change_share_a_line() {
        let old = "User-agent: a\nUser-agent: b\nDisallow: /x\n";
        let new = "User-agent: a\nUser-agent: b\nDisallow: /x\nDisallow: /y\n";
        assert_eq!(told(old, new), ["a +4:Disallow: /y", "b +4:Disallow: /y"]);
    }
}
