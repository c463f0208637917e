//! A group as a crawler sees it: everything in the file that names one of its tokens. And the answer to one question: may
//! this crawler fetch this target?

use super::delay::CrawlDelayLine;
use super::line::RecordName;
use super::matcher::ComparableTarget;
use super::parse::ParsedRecord;
use super::preference::Preference;
use super::rule::RuleKind;
use super::{ROBOTS_TXT, Robots, Rule, index, symbol, usage};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// The rules and records that apply to one product token, combined from every place in the file
/// that names it (RFC 9309 section 2.2.1).
#[derive(Clone, Copy, Debug)]
pub struct RuleGroup<'r> {
    pub(super) robots: &'r Robots,
    number: u32,
    /// The name that selected it; none for `*`.
    name: Option<u32>,
    /// The part of the file in which the deciding rule stands.
    block: Option<u32>,
}

impl<'r> RuleGroup<'r> {
    pub(super) const fn new(robots: &'r Robots, number: u32, name: Option<u32>) -> Self {
        Self { robots, number, name, block: None }
    }

    /// A number that is the same for the same rules of the same file, from 0; fit as a cache key. Names of one group may
    /// have a `Crawl-delay` each.
    pub const fn id(&self) -> u32 {
        self.number
    }

    /// The token that selected the group, in the spelling of its first mention, or `*`.
    pub fn matched(&self) -> &'r str {
        self.name.map_or("*", |name| self.robots.naming.text(&self.robots.source, name))
    }

    /// The user-agent values of the group, as written, in order, each once.
    ///
    /// Taken from a [`Judgement`] with a rule, these are the values above that rule; otherwise those
    /// of every part of the file that the group combines.
    pub fn tokens(&self) -> Vec<&'r str> {
        let robots = self.robots;
        if let Some(block) = self.block {
            let agents = robots.file.agents_of(block).iter().filter(|agent| !agent.is_again);
            return agents.map(|agent| super::readable(agent.value(&robots.source))).collect();
        }
        let mut seen = HashSet::new();
        let all = robots.naming.blocks(self.number).iter().flat_map(|block| robots.values(*block));
        all.filter(|value| seen.insert(*value)).collect()
    }

    /// Whether the group lets `target` (path and query as sent) be fetched.
    ///
    /// The same as [`Robots::judge`] for a crawler of this group; `/robots.txt` is always allowed.
    pub fn judge(&self, target: &[u8]) -> Judgement<'r> {
        if target == ROBOTS_TXT {
            return Judgement::allowed(JudgementReason::RobotsTxt, Some(*self));
        }
        let robots = self.robots;
        let blocks = robots.naming.blocks(self.number);
        let sets = blocks.iter().filter_map(|block| robots.sets.get(*block as usize));
        let found = symbol::with_symbols(target, |bytes| {
            index::search(sets, robots.texts(), &ComparableTarget::new(bytes))
        });
        let Some(record) = found.and_then(|at| robots.file.rules.get(at as usize)) else {
            return Judgement::allowed(JudgementReason::NoRule, Some(*self));
        };
        let group = Some(Self { block: Some(record.block), ..*self });
        let rule = Some(record.view(&robots.source));
        Judgement { allow: record.kind == RuleKind::Allow, reason: JudgementReason::Rule, group, rule }
    }

    /// The rules of the group, in the order of the file.
    pub fn rules(&self) -> impl Iterator<Item = Rule<'r>> + use<'r> {
        let robots = self.robots;
        let records = robots.naming.blocks(self.number).iter().flat_map(|block| robots.file.rules_of(*block));
        records.map(|record| record.view(&robots.source))
    }

    /// The first `Crawl-delay` below the name that selected the group, in seconds. Not part of RFC 9309.
    pub fn crawl_delay(&self) -> Option<f64> {
        self.crawl_delay_line().map(|line| line.seconds)
    }

    /// The same, and where it stands.
    pub fn crawl_delay_line(&self) -> Option<CrawlDelayLine<'r>> {
        self.robots.delays.of(self.name, &self.robots.source)
    }

    /// The `Content-Usage` preference that the group states for `target`: that of the most specific path, and of equal
    /// ones the most restrictive. What may not be fetched has none.
    pub fn content_usage(&self, target: &[u8]) -> Option<Preference<'r>> {
        let blocks = self.robots.naming.blocks(self.number);
        let find = |bytes: &[u8]| usage::find(self.robots, blocks, bytes);
        let found = symbol::with_symbols(target, find)?;
        self.judge(target).allow.then_some(found)
    }

    /// The records of a name in the group.
    pub(super) fn extras(&self, name: RecordName) -> impl Iterator<Item = &'r ParsedRecord> + use<'r> {
        let blocks = self.robots.naming.blocks(self.number);
        let here = move |extra: &&ParsedRecord| {
            extra.block.is_some_and(|block| blocks.binary_search(&block).is_ok())
        };
        self.robots.extras(name).filter(here)
    }
}

/// By what tells the groups of one file apart, and the parts of one group.
impl Hash for RuleGroup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number, self.block).hash(state);
    }
}

/// Why a target is allowed or disallowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum JudgementReason {
    /// A rule decided (RFC 9309 section 2.2.2).
    Rule,
    /// The group has no rule that matches: allowed (section 2.2.2).
    NoRule,
    /// No group applies: allowed (section 2.2.1).
    NoGroup,
    /// `/robots.txt` is implicitly allowed (section 2.2.2).
    RobotsTxt,
}

impl JudgementReason {
    /// `rule`, `no-rule`, `no-group` or `robots-txt`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A decision and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Judgement<'r> {
    /// Whether the target may be fetched.
    pub allow: bool,
    /// Why.
    pub reason: JudgementReason,
    /// The group that applies. Where a rule decided, its [`RuleGroup::tokens`] are those of the part of
    /// the file in which the rule stands, so that they agree with the rule's line.
    pub group: Option<RuleGroup<'r>>,
    /// The rule that decided, when the reason is [`JudgementReason::Rule`].
    pub rule: Option<Rule<'r>>,
}

impl<'r> Judgement<'r> {
    /// No rule decides.
    pub(super) const fn allowed(reason: JudgementReason, group: Option<RuleGroup<'r>>) -> Self {
        Self { allow: true, reason, group, rule: None }
    }
}
