//! The answer to one question: may this crawler fetch this target?

use super::{Rule, RuleGroup};

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
