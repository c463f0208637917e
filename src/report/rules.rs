//! The rules of an element, one row for a rule over the versions of the file that have it.
//!
//! An edit elsewhere in robots.txt makes a new version, and moves a rule to another line. To an operator it is the same
//! rule; what each version contributed stays with the row, because a violation is proved by a version and a line.

use super::entry::{RuleCount, RuleVersion};
use crate::decide::Notice;
use crate::enforce::Action;
use crate::record::{CountedDecision, EventKind, SeenInstants};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// What makes two decisions one row.
type RuleRow<'a> = (EventKind, Action, Option<Notice>, &'a [Box<str>], Option<&'a str>);

fn row(decision: &CountedDecision) -> RuleRow<'_> {
    let CountedDecision { kind, action, notice, group, rule, .. } = decision;
    (*kind, *action, *notice, group, rule.as_deref())
}

/// The rows of what violations, stale requests and variants rest on, the most frequent first.
pub(super) fn rules(totals: &HashMap<Arc<CountedDecision>, SeenInstants>) -> Vec<RuleCount> {
    let is_told = |kind| matches!(kind, EventKind::Violation | EventKind::Stale | EventKind::Variant);
    let mut told: Vec<(&Arc<CountedDecision>, SeenInstants)> = totals
        .iter()
        .filter(|(decision, _)| is_told(decision.kind))
        .map(|(decision, met)| (decision, *met))
        .collect();
    // Whichever was met last comes first; beyond that any order will do that is always the same.
    told.sort_by_key(|(decision, met)| {
        (Reverse(met.last), Reverse(met.count), decision.version, decision.line)
    });
    let mut rows: HashMap<RuleRow<'_>, RuleCount> = HashMap::new();
    for (decision, met) in told {
        let version = RuleVersion { version: decision.version, line: decision.line, count: met.count };
        let first = || RuleCount { decision: Arc::clone(decision), count: 0, versions: Vec::new() };
        let known = rows.entry(row(decision)).or_insert_with(first);
        known.count += met.count;
        // Proofs by several methods are one row, too.
        let is_same =
            |other: &&mut RuleVersion| (other.version, other.line) == (version.version, version.line);
        match known.versions.iter_mut().find(is_same) {
            Some(same) => same.count += version.count,
            None => known.versions.push(version),
        }
    }
    let mut rules: Vec<RuleCount> = rows.into_values().collect();
    rules.sort_by(|one, two| {
        let order = |rule: &RuleCount| (Reverse(rule.count), rule.decision.version, rule.decision.line);
        let ways = |rule: &RuleCount| {
            let CountedDecision { kind, action, notice, .. } = &*rule.decision;
            (action.as_str(), notice.map(Notice::as_str), kind.as_str())
        };
        (order(one), ways(one), &one.decision.group).cmp(&(order(two), ways(two), &two.decision.group))
    });
    rules
}
